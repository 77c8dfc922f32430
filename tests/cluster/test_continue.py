"""A job that goes on in another run before its time limit, on a real Slurm."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.test_submit import Job, marks, submit
from tests.cluster.test_submit import held as held  # noqa: PLC0414 - a fixture

# Counts its runs in what it makes. The first ones wait until they are told; a run after `{last}` of them ends well.
COUNTS = """\
mkdir -p outputs; n=$(cat outputs/n 2>/dev/null || echo 0); echo run $n
trap 'echo told; echo $((n + 1)) > outputs/n; exit {code}' {signal}
[ $n -lt {last} ] || exit 0
touch {mark}; while :; do sleep 0.1; done"""


def begin_now(cluster: Minicluster, name: str) -> None:
    """Slurm lets a job that was queued again wait for two minutes; its owner may say otherwise.

    Said while Slurm still clears up after the run before, it is forgotten: so it is said until the job begins. And not
    before the batch script of that run has ended: Slurm would take its late end for that of the next run.
    """

    def told(what: str) -> str:
        squeue = ["squeue", "--noheader", "--array", f"--format={what}", f"--jobs={name}"]
        return cluster.exec("login", *squeue).stdout.strip()

    def state() -> str:
        return told("%T")

    def has_ended(node: str) -> bool:
        step = rf"slurmstepd: \[{told('%A')}\."
        return not cluster.exec(node, "pgrep", "--full", step, check=False).stdout

    def has_begun() -> bool:
        cluster.login("scontrol", "update", f"jobid={name}", "StartTime=now", check=False)
        time.sleep(0.5)
        return state() in {"RUNNING", ""}  # it may have ended already

    retry_until(lambda: state() == "PENDING", f"{name} waits")
    retry_until(lambda: all(map(has_ended, cluster.node_states())), "the run before has ended")
    retry_until(has_begun, f"{name} begins")


def phases(job: Job, number: int = 0) -> tuple[Any, ...]:
    task = job.task(number)
    return task["phase"], task.get("continued")


def test_one_task_goes_on_under_its_number_with_its_outputs_and_the_other_is_left_alone(
    held: Laptop, minicluster: Minicluster
) -> None:
    mark, _ = marks(minicluster, "goes-on")
    script = COUNTS.format(code=0, signal="USR2", last=1, mark=f"{mark}-$0")
    minicluster.exec("login", "sh", "-c", f"rm -f {mark}-*")
    asked = ["--continue", "1", "--signal", "USR2@60", "--grid", "k=a,b", "--cpus", "1"]
    job = submit(held, *asked, "--", "sh", "-c", script, "{k}")
    for name in ("a", "b"):
        retry_until(minicluster.shared(f"{mark}-{name}").exists, "both run")
    # What Slurm sends to the batch script before the time limit.
    minicluster.login("scancel", "--batch", "--signal=USR1", f"{job.number}_1")
    retry_until(lambda: phases(job, 1) == ("requeued", 1), "it is queued again")
    assert phases(job, 0) == ("running", 0)
    begin_now(minicluster, f"{job.number}_1")
    retry_until(lambda: phases(job, 1) == ("ended", 1), "it has gone on and ended")
    assert job.task(1)["code"] == 0
    assert job.task(1)["restarts"] == 1
    assert (job.path / "outputs/1/outputs/n").read_text() == "1\n"
    printed = (job.path / "logs/1.out").read_text()
    assert printed.splitlines() == ["run 0", "told", "run 1"]
    assert phases(job, 0) == ("running", 0)
    shown = held.data("jobs", "show", job.number)["job"]
    assert [task["continued"] for task in shown["tasks"]] == [0, 1]
    held.data("cancel", "--yes", job.number)
    retry_until(lambda: phases(job, 0) == ("ended", 0), "the other is cancelled for good")


# Ends by itself a second after SIGTERM, and says so in what it made.
SLOWLY = "mkdir -p outputs; trap 'sleep 1; echo last > outputs/x; exit 0' TERM; touch {mark}; while :; do sleep 0.1; done"


def test_a_command_that_is_told_by_sigterm_ends_by_itself_and_one_that_waits_again_can_be_cancelled(
    held: Laptop, minicluster: Minicluster
) -> None:
    mark, _ = marks(minicluster, "told-by-term")
    asked = ["--continue", "1", "--signal", "TERM@60", "--", "sh", "-c", SLOWLY.format(mark=mark)]
    job = submit(held, *asked)
    retry_until(minicluster.shared(mark).exists, "it runs")
    minicluster.login("scancel", "--batch", "--signal=USR1", job.number)
    retry_until(lambda: phases(job) == ("requeued", 1), "it is queued again")
    assert job.collected("outputs/x") == "last\n"
    held.data("cancel", "--yes", job.number)
    retry_until(lambda: job.state() == "CANCELLED", "it is cancelled for good")
    assert held.data("jobs", "show", job.number)["job"]["state"] == "CANCELLED"


def test_a_command_that_is_cancelled_has_time_to_end_by_itself(
    held: Laptop, minicluster: Minicluster
) -> None:
    mark, _ = marks(minicluster, "cancelled")
    job = submit(held, "--", "sh", "-c", SLOWLY.format(mark=mark))
    retry_until(minicluster.shared(mark).exists, "it runs")
    held.data("cancel", "--yes", job.number)
    assert (job.ended()["ended_by"], job.collected("outputs/x")) == ("SIGTERM", "last\n")


@pytest.mark.slow
def test_slurm_itself_tells_it_before_the_time_limit(
    held: Laptop, minicluster: Minicluster
) -> None:
    mark, _ = marks(minicluster, "limit-near")
    script = COUNTS.format(code=7, signal="USR1", last=2, mark=mark)
    job = submit(
        held, "--time", "2", "--continue", "2", "--signal", "USR1@60", "--", "sh", "-c", script
    )
    for count in (1, 2):
        told = ("requeued", count)
        retry_until(lambda told=told: phases(job) == told, "queued again", deadline_s=240)  # type: ignore[misc]
        begin_now(minicluster, job.number)
    retry_until(lambda: phases(job) == ("ended", 2), "it has ended", deadline_s=60)
    assert (job.task()["code"], job.collected("outputs/n")) == (0, "2\n")
    assert job.printed().splitlines() == ["run 0", "told", "run 1", "told", "run 2"]
