"""Ctrl-C, `kill -9` and a cut connection in the middle of `allocate`, as they meet a user on the laptop.

`SCRATCHFLOW_INTERRUPTS` says how often (default: few enough for every run of the suite).
"""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until

INTERRUPTS = int(os.environ.get("SCRATCHFLOW_INTERRUPTS", "4"))
WITHDRAWN_WITHIN_S = 5
"""The promise for a request whose asker has gone."""


def our_jobs(minicluster: Minicluster) -> dict[int, str]:
    """The numbers of our open jobs, each with its node; that is empty while it waits."""
    squeue = ["squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING", "--format=%i|%j|%N"]
    lines = minicluster.exec("login", *squeue).stdout.splitlines()
    fields = [line.split("|") for line in lines]
    return {int(number): node for number, name, node in fields if name.startswith("scratchflow:")}


def agents(minicluster: Minicluster) -> str:
    """What alice runs of scratchflow on the login host."""
    found = minicluster.exec("login", "pgrep", "-u", "alice", "-af", "run.py agent", check=False)
    return found.stdout


def interrupt(laptop: Laptop, after_s: float, signum: int, *arguments: str) -> int:
    """Starts it, sends the signal so much later, and waits for its end."""
    with laptop.begin(*arguments) as process:
        time.sleep(after_s)  # the moment itself is what is tested
        process.send_signal(signum)
        process.communicate()
    return process.returncode


def require_truth(laptop: Laptop, minicluster: Minicluster) -> None:
    """No job that `status` does not know, and no alias that leads where we have none."""
    jobs = our_jobs(minicluster)
    seen = laptop.data("status")
    held = seen["allocation"]
    assert ([held["job_id"]] if held else []) == list(jobs), (seen, jobs)
    target = seen["alias"]["target"]
    assert target is None or target in jobs.values(), (seen, jobs)


@pytest.fixture
def one_free_node(laptop: Laptop, minicluster: Minicluster) -> Laptop:
    """Two nodes are taken, so that a request for one of them waits."""
    for node in ("node-2", "node-3"):
        minicluster.allocate(node, "--exclusive")
    return laptop


def test_ctrl_c_at_any_moment_leaves_no_job_that_status_does_not_know(
    one_free_node: Laptop, minicluster: Minicluster
) -> None:
    moments = random.Random(4)  # noqa: S311 - the same moments in every run
    slowest_s = 0.0
    for attempt in range(INTERRUPTS):
        # Every other one has to wait: the interruption meets a request in the queue as well.
        node = "node-2" if attempt % 2 else "node-1"
        exit_code = interrupt(
            one_free_node, moments.uniform(0.2, 1.6), signal.SIGINT, "allocate", "--node", node
        )
        # At the very beginning Python itself ends by the signal.
        assert exit_code in {0, 130, -signal.SIGINT}, attempt
        ended = time.monotonic()
        retry_until(lambda: agents(minicluster) == "", "its agent ends", deadline_s=30)
        slowest_s = max(slowest_s, time.monotonic() - ended)
        require_truth(one_free_node, minicluster)
        if our_jobs(minicluster):
            one_free_node.data("clear", "--no-backup")
    assert slowest_s < WITHDRAWN_WITHIN_S


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_request_that_waits_is_withdrawn_when_its_asker_is_gone(
    one_free_node: Laptop, minicluster: Minicluster, signum: int
) -> None:
    with one_free_node.begin("allocate", "--node", "2", "--json") as process:
        assert process.stdout is not None
        next(line for line in process.stdout if '"state":"pending"' in line)
        assert len(our_jobs(minicluster)) == 1
        assert agents(minicluster) != ""
        process.send_signal(signum)
        process.communicate()
    assert process.returncode in {-signal.SIGKILL, 128 + signum}
    retry_until(
        lambda: our_jobs(minicluster) == {},
        "the request is withdrawn",
        deadline_s=WITHDRAWN_WITHIN_S,
    )
    retry_until(lambda: agents(minicluster) == "", "its agent ends")
    require_truth(one_free_node, minicluster)


def test_a_request_is_withdrawn_when_its_connection_is_killed(
    one_free_node: Laptop, minicluster: Minicluster
) -> None:
    with one_free_node.begin("allocate", "--node", "2", "--json") as process:
        assert process.stdout is not None
        next(line for line in process.stdout if '"state":"pending"' in line)
        minicluster.exec("login", "pkill", "-u", "alice", "sshd")
        _, trace = process.communicate()
    assert process.returncode == 14, trace
    retry_until(
        lambda: our_jobs(minicluster) == {},
        "the request is withdrawn",
        deadline_s=WITHDRAWN_WITHIN_S,
    )
    require_truth(one_free_node, minicluster)
