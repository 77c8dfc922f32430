"""How jobs really end, with accounting and preemption: what Slurm knows reaches the record, and a restart is no new job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.test_jobs import shown
from tests.cluster.test_submit import Job, last_line, marks, submit

# A requeued job waits until the credentials of its earlier run have expired.
SITE = """\
AuthInfo=cred_expire=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=urgent Nodes=ALL PriorityTier=9 DefaultTime=00:05:00 MaxTime=00:10:00 State=UP
"""
EATS = "import time; eaten = b'x' * (600 << 20); time.sleep(200)"
# A fixed amount, however busy the machine is.
BURN = "import time\nwhile time.process_time() < 2: pass"
BURNS = f"python3 -c '{BURN}'; touch {{mark}}; sleep 200"
# Its first run never ends by itself; the second does.
TWICE = (
    "mkdir -p outputs; if [ -e {mark} ]; then echo two | tee outputs/second; exit 0; fi; "
    "echo one | tee outputs/first; touch {mark}; sleep 200"
)

# A cluster of its own with a database.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def minicluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minicluster]:
    """A cluster of its own."""
    place = tmp_path_factory.mktemp("accounting")
    (place / "extra").write_text(SITE)
    settings = {"MC_ACCOUNTING": "1", "MC_NODES": "2", "MC_SLURM_EXTRA": str(place / "extra")}
    cluster = Minicluster(place / "state", settings)
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


@pytest.fixture(scope="module")
def saved(ready: Laptop) -> Laptop:
    """A laptop with a snapshot, and no node."""
    ready.data("up", "--node", "1")
    ready.data("clear")
    return ready


@pytest.fixture(autouse=True)
def free(minicluster: Minicluster) -> Iterator[None]:
    """Nodes without jobs afterwards."""
    yield
    minicluster.exec("login", "scancel", "--user=alice")
    minicluster.run("up")
    retry_until(lambda: set(minicluster.node_states().values()) == {"idle"}, "all nodes are idle")


def task_of(laptop: Laptop, job: Job) -> dict[str, Any]:
    (task,) = shown(laptop, job)["tasks"]
    found: dict[str, Any] = task
    return found


def accounted(
    laptop: Laptop, job: Job, state: str, *, also: str = "state", deadline_s: float = 60
) -> dict[str, Any]:
    """The task, when accounting has said this of its end, with what `also` names: it may come later than the state."""
    found: list[dict[str, Any]] = []

    def is_told() -> bool:
        found.append(task_of(laptop, job))
        task = found[-1]
        return bool(task["state"] == state and task["cpu_s"] is not None and task[also])

    retry_until(is_told, f"it is {state}, as accounting says", deadline_s=deadline_s)
    return found[-1]


def test_a_job_that_eats_more_than_it_asked_for_is_told_how_much(saved: Laptop) -> None:
    job = submit(saved, "--mem", "300M", "--", "python3", "-c", EATS)
    task = accounted(saved, job, "OUT_OF_MEMORY", also="peak_memory_bytes")
    assert task["peak_memory_bytes"] > 300 << 20
    assert task["why"].startswith("it ran out of memory: asked for 300M, used ")
    assert f"`scratchflow jobs rerun {job.number} --mem 1G`" in task["why"]


def test_who_cancelled_it_and_what_it_used_is_told_also_when_the_database_was_away(
    saved: Laptop, minicluster: Minicluster
) -> None:
    mark, _ = marks(minicluster, "burns")
    job = submit(saved, "--", "sh", "-c", BURNS.format(mark=mark))
    retry_until(minicluster.shared(mark).exists, "it has burnt some time")
    minicluster.run("stop", "login", "slurmdbd")
    minicluster.exec("login", "scancel", job.number)
    retry_until(lambda: task_of(saved, job)["state"] == "CANCELLED", "it is cancelled")
    assert task_of(saved, job)["cancelled_by"] == ""
    minicluster.run("up")
    task = accounted(saved, job, "CANCELLED", also="cancelled_by")
    assert (task["cancelled_by"], task["cpu_s"] > 1) == ("root", True)
    assert "it was cancelled by root; " in task["why"]
    assert "s of processor time" in saved.run("jobs", "show", job.number).stdout


def test_a_requeued_job_goes_on_elsewhere_as_the_same_job_with_what_it_had_made(
    saved: Laptop, minicluster: Minicluster
) -> None:
    mark, _ = marks(minicluster, "requeued")
    twice = TWICE.format(mark=mark)
    job = submit(saved, "--tag", "twice", "--sbatch=--nodelist=node-1", "--", "sh", "-c", twice)
    retry_until(minicluster.shared(mark).exists, "it runs")
    with saved.begin("logs", "-f", job.number) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "one\n"
        update = ["scontrol", "update"]
        minicluster.exec("login", *update, "nodename=node-1", "state=drain", "reason=test")
        assert task_of(saved, job)["state"] == "RUNNING"
        minicluster.login("scontrol", "requeue", job.number)
        minicluster.exec("login", *update, f"jobid={job.number}", "reqnodelist=")
        waiting: list[dict[str, Any]] = []

        def waits() -> bool:
            waiting.append(task_of(saved, job))
            return bool(waiting[-1]["state"] == "PENDING")

        retry_until(waits, "it waits")
        # In the same look: it may start before the next.
        assert (waiting[-1]["node"], waiting[-1]["start"]) == ("", None)
        rest, _ = follower.communicate()
    assert (follower.returncode, rest) == (0, "two\n")
    task = accounted(saved, job, "COMPLETED")
    assert (task["restarts"], task["node"], task["collected_files"]) == (1, "node-2", 2)
    assert (job.path / "outputs/0@run-1/outputs/first").read_text() == "one\n"
    assert job.collected("outputs/second") == "two\n"
    (only,) = saved.data("jobs", "list", "--tag", "twice")["jobs"]
    assert str(only["number"]) == job.number


def test_a_preempted_job_is_told_as_such_and_one_that_may_be_requeued_goes_on(
    saved: Laptop, minicluster: Minicluster
) -> None:
    names = {"ends": "--no-requeue", "goes-on": "--requeue"}
    jobs: dict[str, Job] = {}
    for name, requeue in names.items():
        mark, _ = marks(minicluster, name)
        options = ["--sbatch=--exclusive", f"--sbatch={requeue}"]
        jobs[name] = submit(saved, *options, "--", "sh", "-c", TWICE.format(mark=mark))
        retry_until(minicluster.shared(mark).exists, f"{name} runs")
    urgent = ["sbatch", "--partition=urgent", "--nodes=2", "--exclusive", "--wrap=true"]
    minicluster.login(*urgent)
    ended = accounted(saved, jobs["ends"], "PREEMPTED")
    assert "a job of higher priority took its place" in ended["why"]
    assert jobs["ends"].collected("outputs/first") == "one\n"
    gone_on = accounted(saved, jobs["goes-on"], "COMPLETED", deadline_s=120)
    assert (gone_on["restarts"], gone_on["collected_files"]) == (1, 2)


def test_a_time_limit_and_a_lost_node_are_told_as_such(
    saved: Laptop, minicluster: Minicluster
) -> None:
    limited = submit(saved, "--time", "1", "--sbatch=--nodelist=node-1", "--", "sleep", "300")
    options = ["--sbatch=--nodelist=node-2", "--sbatch=--no-requeue"]
    lost = submit(saved, *options, "--", "sleep", "300")
    retry_until(lambda: lost.task()["phase"] == "running", "it runs")
    minicluster.run("crash", "node-2")
    told = accounted(saved, lost, "NODE_FAIL", deadline_s=180)
    assert "its node failed" in told["why"]
    told = accounted(saved, limited, "TIMEOUT", deadline_s=180)
    assert f"`scratchflow jobs rerun {limited.number} --time " in told["why"]


def test_what_only_a_crashed_node_has_is_saved_though_the_job_went_on_elsewhere(
    saved: Laptop, minicluster: Minicluster
) -> None:
    mark, _ = marks(minicluster, "crashed")
    on_second = "--sbatch=--nodelist=node-2"
    job = submit(saved, on_second, "--", "sh", "-c", TWICE.format(mark=mark))
    retry_until(minicluster.shared(mark).exists, "it runs")
    minicluster.run("crash", "node-2")
    let_go = ["scontrol", "update", f"jobid={job.number}", "reqnodelist="]
    retry_until(
        lambda: minicluster.exec("login", *let_go, check=False).returncode == 0,
        "Slurm has missed the node and put the job back",
        deadline_s=120,
    )
    task = accounted(saved, job, "COMPLETED", deadline_s=180)
    assert (task["restarts"], task["node"], task["collected_files"]) == (1, "node-1", 1)
    minicluster.run("up")
    accounted(saved, submit(saved, on_second, "--", "true"), "COMPLETED")
    assert (job.path / "outputs/0@node-2/outputs/first").read_text() == "one\n"
    assert job.collected("outputs/second") == "two\n"
    assert task_of(saved, job)["collected_files"] == 2
    left = minicluster.exec("node-2", "ls", "-A", "/scratch/alice/jobs").stdout
    assert left == ""


def test_where_a_qos_lets_jobs_exceed_the_partition_slurm_decides(
    saved: Laptop, minicluster: Minicluster
) -> None:
    """Every user has the QOS `normal` without asking for it."""
    change = ["sacctmgr", "--immediate", "modify", "qos", "normal", "set"]
    too_long = ["--time", "1:00:00", "--", "true"]
    assert last_line(saved, *too_long)["exit_code"] == 22
    minicluster.exec("login", *change, "Flags=PartitionTimeLimit")
    try:
        assert last_line(saved, *too_long)["type"] == "summary"
    finally:
        minicluster.exec("login", *change, "Flags=-1")
    assert last_line(saved, *too_long)["exit_code"] == 22
