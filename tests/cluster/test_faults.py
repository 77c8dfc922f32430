"""`scancel` by hand, a dead node, a dead login host, a pulled cable: in the middle of every verb that moves work.

`SCRATCHFLOW_FAULTS` says at how many random moments each; `SCRATCHFLOW_FAULTS_SEED` which. By default every verb meets
two of the faults once.
"""

from __future__ import annotations

import os
import random
import subprocess
import time

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until
from tests.cluster.story import WORK, Faults, Story

MOMENTS = int(os.environ.get("SCRATCHFLOW_FAULTS", "0"))
# A crash of the login host takes slurmctld with it here, which may fall once more after that: not every time.
EVERY_TIME = {("backup", "node"), ("hop", "scancel"), ("clear", "scancel")}
AGENT = "run.py agent"
SEED = os.environ.get("SCRATCHFLOW_FAULTS_SEED", "5")
# There is no node, or half a workspace: what the errors' hints say to run first.
NEEDS_UP = {23, 24, 25, 30, 35, 37}


@pytest.fixture
def story(laptop: Laptop, minicluster: Minicluster, request: pytest.FixtureRequest) -> Story:
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "sh", "-c", f"rm -rf {WORK}* /scratch/alice/.scratchflow")
    laptop.data("config", "set", "backup.keep_last", "100000")
    chance = random.Random(f"{request.node.name} {SEED}")  # noqa: S311 - the same in every run
    return Story(laptop, minicluster, chance)


@pytest.mark.parametrize("fault", ["scancel", "node", "login", "link"])
@pytest.mark.parametrize("verb", ["backup", "restore", "hop", "clear"])
def test_a_fault_at_any_moment_loses_nothing(story: Story, verb: str, fault: str) -> None:
    if not MOMENTS and (verb, fault) not in EVERY_TIME:
        pytest.skip("SCRATCHFLOW_FAULTS says how often")
    takes_s = undisturbed_s(story, verb)
    for moment in range(MOMENTS or 1):
        after_s = story.chance.uniform(0.1, takes_s)
        arguments = prepared(story, verb, moment)
        story.notes[:] = [f"{fault} {after_s:.2f} s into {arguments}, moment {moment}"]
        began = time.monotonic()
        process = story.laptop.begin(*arguments, "--json")
        time.sleep(
            max(0.0, began + after_s - time.monotonic())
        )  # the moment itself is what is tested
        if process.poll() is not None:
            story.notes.append("it was done already")
        getattr(Faults(story), fault)()
        story.heal()
        ended = story.ended(process)
        story.notes.append(f"ended {ended['exit_code']} {ended.get('message', '')}")
        story.require_truth()
        again(story, arguments)
        story.require_whole()
        print(f"{time.monotonic() - began:.0f} s", *story.notes, sep=" | ", flush=True)  # noqa: T201


@pytest.mark.slow
def test_a_job_whose_end_slurm_forgot_is_given_back_once_more(story: Story) -> None:
    story.work_on()
    retry_until(lambda: _is_written_down(story.cluster), "slurmctld has saved the job")
    story.cluster.exec("login", "scancel", *story.cluster.jobs())
    story.cluster.run("crash", "login")
    story.heal()
    story.require_truth()
    again(story, ["clear"])
    assert story.cluster.jobs() == []


@pytest.mark.skipif(not MOMENTS, reason="takes two minutes")
def test_an_agent_that_stands_still_for_a_while_is_waited_for(story: Story) -> None:
    node, process = backup_that_stands_still(story)
    time.sleep(120)  # so often in vain, and it would be given up: that is what is tested
    story.cluster.exec(node, "pkill", "-CONT", "-u", "alice", "-f", AGENT)
    assert story.ended(process)["type"] == "summary"


def test_a_node_that_is_back_at_once_keeps_nobody_waiting(story: Story) -> None:
    node, process = backup_that_stands_still(story)
    story.cluster.run("crash", node)
    story.heal()
    ended = story.ended(process)
    assert (ended["type"], ended["exit_code"]) == ("error", 24), ended
    print(ended["message"])  # noqa: T201 - whether Slurm had missed it depends on the moment


def backup_that_stands_still(story: Story) -> tuple[str, subprocess.Popen[str]]:
    """The node, and a backup whose agent there is stopped in its first moments."""
    node: str = story.must("allocate")["node"]
    story.cluster.exec("-u", "alice", node, "mkdir", "-p", WORK)
    story.write(node)
    stop = f"until pkill -STOP -u alice -f '{AGENT}'; do sleep 0.02; done"
    with story.cluster.start("exec", node, "sh", "-c", stop) as stopping:
        process = story.laptop.begin("backup", "--json")
        assert stopping.wait(60) == 0
    return node, process


def _is_written_down(cluster: Minicluster) -> bool:
    """After a crash slurmctld knows only what was in its file; it writes every few seconds."""
    name = cluster.exec("login", "squeue", "--noheader", "--format=%j").stdout.strip()
    look = ["grep", "--quiet", "--text", name, "/var/spool/slurmctld/job_state"]
    return cluster.exec("login", *look, check=False).returncode == 0


def undisturbed_s(story: Story, verb: str) -> float:
    """How long it takes here: the moments are spread over that."""
    arguments = prepared(story, verb, 0)
    began = time.monotonic()
    story.must(*arguments)
    return time.monotonic() - began


def prepared(story: Story, verb: str, moment: int) -> list[str]:
    """The workspace is there with something new in it; what to type."""
    node = story.work_on()
    if verb != "restore":
        return [verb]
    older = story.must("backup")["snapshot"]
    if moment % 2:
        story.empty(node)
        return ["restore"]
    story.write(node)
    return ["restore", older]


def again(story: Story, arguments: list[str]) -> None:
    """Typed again, after what its own error says to run first, it works."""
    ended = story.patient(*arguments)
    if ended["type"] == "error" and ended["exit_code"] in NEEDS_UP:
        story.notes.append(f"again {ended['exit_code']} {ended['message']}")
        story.must("up")
        ended = story.patient(*arguments)
    if ended["type"] != "summary":
        pytest.fail(f"typed again it fails: {ended['code']}: {ended['message']} | {story.notes}")
