"""`jobs`, `logs` and `cancel` as people type them, from a laptop, with jobs on a real Slurm."""

from __future__ import annotations

import shlex
from typing import Any

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.test_submit import Job, marks, on_node, submit
from tests.cluster.test_submit import held as held  # noqa: PLC0414 - a fixture


def shown(laptop: Laptop, job: Job) -> dict[str, Any]:
    found: dict[str, Any] = laptop.data("jobs", "show", job.number)["job"]
    return found


def test_output_is_followed_while_it_is_printed_and_ends_with_the_exit_code(
    held: Laptop, minicluster: Minicluster
) -> None:
    _, go = marks(minicluster, "follow")
    script = f"echo first; until [ -e {go} ]; do sleep 0.1; done; echo last; echo bad >&2; exit 5"
    job = submit(held, "--", "sh", "-c", script)
    with held.begin("logs", "-f", job.number) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        # It runs on, so this line cannot have come from anywhere but the running task.
        minicluster.exec("login", "touch", go)
        out, err = process.communicate()
    assert (process.returncode, out) == (5, "last\n")
    assert "bad\n" in err
    again = held.run("logs", job.number)
    assert (again.returncode, again.stdout) == (0, "first\nlast\n")
    assert held.run("logs", "--stderr", job.number).stdout == ""


def test_a_follower_may_leave_and_the_job_goes_on_until_it_is_cancelled(held: Laptop) -> None:
    job = submit(held, "--", "sh", "-c", "echo on; sleep 300")
    with held.begin("logs", "-f", job.number) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        process.terminate()
        process.communicate()
    assert shown(held, job)["state"] == "RUNNING"
    assert held.run("cancel", "--yes", job.number).returncode == 0
    retry_until(lambda: shown(held, job)["state"] == "CANCELLED", "it is cancelled")


def test_a_rerun_has_the_same_code_though_the_workspace_has_changed(held: Laptop) -> None:
    on_node(held, "echo one > code")
    first = submit(held, "--", "sh", "-c", "sha256sum code; exit 3")
    first.ended()
    on_node(held, "echo two > code")
    data = held.data("jobs", "rerun", "--failed", first.number)
    again = Job(held.cluster, data)
    again.ended()
    assert again.printed() == first.printed()
    assert (again.record()["rerun_of"], again.record()["snapshot"]) == (
        first.id,
        first.record()["snapshot"],
    )
    retry_until(lambda: shown(held, again)["state"] == "FAILED", "Slurm says so")
    told = {
        one["what"] for one in held.data("jobs", "diff", first.number, again.number)["differences"]
    }
    assert not {"snapshot", "command", "exit code"} & told


def test_the_code_of_a_job_comes_back(held: Laptop) -> None:
    on_node(held, "echo then > code")
    job = submit(held, "--", "true")
    on_node(held, "echo now > code")
    held.data("jobs", "code", job.number, "--to", f"laptop:{held.home}/job", "--path", "code")
    assert (held.home / "job/code").read_text() == "then\n"


def test_ended_jobs_stay_listed_with_their_exit_code(held: Laptop) -> None:
    job = submit(held, "--tag", "kept", "--", "sh", "-c", "exit 4")
    job.ended()
    retry_until(lambda: shown(held, job)["state"] == "FAILED", "Slurm says so")
    (found,) = held.data("jobs", "list", "--tag", "kept", "--all")["jobs"]
    assert (found["state"], found["tasks"][0]["code"]) == ("FAILED", 4)
    assert held.data("jobs", "list", "--tag", "nobody")["jobs"] == []
    assert "FAILED" in held.run("jobs").stdout


def test_cancel_leaves_the_node_that_is_held(held: Laptop, minicluster: Minicluster) -> None:
    jobs = [submit(held, "--tag", "many", "--", "sleep", "300") for _ in range(2)]
    assert held.run("cancel", "--tag", "many").returncode == 2
    cancelled = held.data("cancel", "--tag", "many", "--yes")["cancelled"]
    assert sorted(cancelled) == sorted(job.number for job in jobs)
    for job in jobs:
        retry_until(lambda job=job: job.state() == "CANCELLED", "it is cancelled")  # type: ignore[misc]
    assert held.data("status")["allocation"]["state"] == "running"
    assert minicluster.jobs() != []


TRAIN = """\
import json, os, sys, time
given = dict(word[2:].split("=") for word in sys.argv[1:])
assert given == {k: str(v) for k, v in json.load(open(os.environ["SCRATCHFLOW_PARAMS"])).items()}
os.makedirs("outputs", exist_ok=True)
open("outputs/" + "-".join(given.values()), "w").write(open("code").read())
sys.exit(given["lr"] == "0.01" and not os.path.exists("/fsx/alice/fixed"))
"""


def test_each_combination_is_a_task_from_the_code_as_it_was(
    held: Laptop, minicluster: Minicluster
) -> None:
    minicluster.exec("login", "rm", "-f", "/fsx/alice/fixed")
    on_node(held, f"echo as it was > code; printf %s {shlex.quote(TRAIN)} > train.py")
    grid = ["--grid", "lr=0.1,0.01", "--zip", "seed=1,2", "--zip", "fold=a,b"]
    job = submit(held, *grid, "--", "python3", "train.py")
    on_node(held, "rm code; echo broken > train.py")
    ended = {0: "COMPLETED", 1: "FAILED", 2: "COMPLETED", 3: "FAILED"}

    def states(one: Job) -> dict[int, str]:
        return {task["task"]: task["state"] for task in shown(held, one)["tasks"]}

    retry_until(lambda: states(job) == ended, "all have ended", deadline_s=120)
    for number, name in enumerate(["1-a-0.1", "1-a-0.01", "2-b-0.1", "2-b-0.01"]):
        assert (job.path / f"outputs/{number}/outputs/{name}").read_text() == "as it was\n"
    minicluster.exec("login", "touch", "/fsx/alice/fixed")
    again = Job(minicluster, held.data("jobs", "rerun", "--failed", job.number))
    well = {1: "COMPLETED", 3: "COMPLETED"}
    retry_until(lambda: states(again) == well, "what failed has run again", deadline_s=120)
    assert (again.path / "outputs/3/outputs/2-b-0.01").read_text() == "as it was\n"


def test_what_was_saved_before_a_node_crashed_is_in_the_store(
    held: Laptop, minicluster: Minicluster
) -> None:
    script = "mkdir -p outputs; echo saved > outputs/a; sleep 300"
    often = ["--set", "backup.every=1s", "--sbatch=--nodelist=node-3", "--sbatch=--no-requeue"]
    job = submit(held, *often, "--", "sh", "-c", script)
    retry_until(lambda: job.task().get("collected_files") == 1, "it was saved")
    minicluster.run("crash", "node-3")
    try:
        assert job.collected("outputs/a") == "saved\n"
        retry_until(
            lambda: shown(held, job)["state"] == "NODE_FAIL", "Slurm has missed it", deadline_s=180
        )
        assert "its node failed" in shown(held, job)["tasks"][0]["why"]
    finally:
        minicluster.run("up")
