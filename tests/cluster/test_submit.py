"""`submit` as people type it: what runs is what was seen, and what it made is in the store, however it ends."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until

WORK = "/scratch/alice/work"
# Waits for a file that the test makes, after it has made something itself.
WAITS = "mkdir -p outputs; echo half > outputs/made; touch {mark}; until [ -e {go} ]; do sleep 0.1; done; echo all > outputs/made"


@pytest.fixture(scope="module")
def held(ready: Laptop, minicluster: Minicluster) -> Iterator[Laptop]:
    """A laptop with a workspace on node-1."""
    ready.data("up", "--node", "1")
    yield ready
    minicluster.free_nodes("alice")


class Job:
    """One submitted job, and what lies of it in the store."""

    def __init__(self, cluster: Minicluster, data: dict[str, Any]) -> None:
        self.cluster, self.number, self.id = cluster, str(data["number"]), data["job"]
        self.path: Path = cluster.shared(data["directory"])

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.path / "job.json").read_bytes())
        return found

    def task(self, number: int = 0) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.path / f"tasks/{number}.json").read_bytes())
        except FileNotFoundError:
            return {"phase": "none"}
        return found

    def ended(self) -> dict[str, Any]:
        retry_until(lambda: self.task()["phase"] == "ended", f"{self.path} ends")
        return self.task()

    def printed(self, kind: str = "out") -> str:
        return (self.path / f"logs/0.{kind}").read_text()

    def collected(self, name: str) -> str:
        return (self.path / "outputs/0" / name).read_text()

    def state(self) -> str:
        argv = ["squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={self.number}"]
        return self.cluster.exec("login", *argv).stdout.strip()


def submit(laptop: Laptop, *words: str) -> Job:
    last = last_line(laptop, "--time", "5m", *words)
    assert last["type"] == "summary", last
    return Job(laptop.cluster, last["data"])


def last_line(laptop: Laptop, *words: str) -> dict[str, Any]:
    """How `submit` ended; `--json` has to stand before the command."""
    done = laptop.run("submit", "--json", *words)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["exit_code"] == done.returncode
    return found


def on_node(laptop: Laptop, script: str) -> None:
    assert laptop.run("run", "--", "sh", "-c", script).returncode == 0


def marks(cluster: Minicluster, name: str) -> tuple[str, str]:
    """Two files that job and test tell each other something by."""
    both = (f"/fsx/alice/{name}-mark", f"/fsx/alice/{name}-go")
    cluster.exec("login", "rm", "-f", *both)
    return both


def test_a_job_runs_what_was_seen_when_it_was_submitted(
    held: Laptop, minicluster: Minicluster
) -> None:
    _, go = marks(minicluster, "seen")
    on_node(
        held, "mkdir -p outputs; echo before > outputs/old; echo seen > code; git init -q . || :"
    )
    script = f"until [ -e {go} ]; do sleep 0.1; done; cat code; pwd; mkdir -p outputs; echo new > outputs/new; echo odd >&2; exit 3"
    job = submit(held, "--tag", "first", "--", "sh", "-c", script)
    on_node(held, "rm code")
    minicluster.exec("login", "touch", go)
    task = job.ended()
    assert (task["code"], task["error"], task["collected_paths"]) == (3, "", ["outputs/new"])
    assert job.printed().splitlines()[0] == "seen"
    assert job.printed().splitlines()[1].startswith("/scratch/alice/jobs/")
    assert "odd\n" in job.printed("err")
    assert job.collected("outputs/new") == "new\n"
    retry_until(lambda: job.state() == "FAILED", "Slurm has the command's exit code")
    directory = task["directory"]
    assert minicluster.exec(task["node"], "test", "-e", directory, check=False).returncode == 1
    record = job.record()
    assert (record["number"], record["tags"]) == (int(job.number), ["first"])


def test_words_and_variables_reach_the_command_as_they_are(held: Laptop) -> None:
    words = ["a b", "$HOME", "*", "'\"`", "new\nline", "", "--x=1"]
    job = submit(held, "--", "printf", "%s|", *words)
    job.ended()
    assert job.printed() == "".join(f"{word}|" for word in words)
    job = submit(held, "--", "env")
    job.ended()
    variables = dict(line.partition("=")[::2] for line in job.printed().splitlines())
    assert variables["PYTHONUNBUFFERED"] == "1"
    assert variables["SLURM_JOB_ID"] == job.number
    assert "LC_ALL" not in variables
    assert "SLURM_TIME_FORMAT" not in variables


@pytest.mark.parametrize("how", ["scancel", pytest.param("time limit", marks=pytest.mark.slow)])
def test_outputs_are_saved_when_a_job_is_ended_from_outside(
    held: Laptop, minicluster: Minicluster, how: str
) -> None:
    mark, go = marks(minicluster, how.replace(" ", "-"))
    limit = ["--time", "1"] if how == "time limit" else []
    job = submit(held, *limit, "--", "sh", "-c", WAITS.format(mark=mark, go=go))
    retry_until(minicluster.shared(mark).exists, "it runs")
    if how == "scancel":
        minicluster.login("scancel", job.number)
    retry_until(lambda: job.task()["phase"] == "ended", "it has ended", deadline_s=200)
    assert (job.task()["ended_by"], job.collected("outputs/made")) == ("SIGTERM", "half\n")
    state = "CANCELLED" if how == "scancel" else "TIMEOUT"
    retry_until(lambda: job.state() == state, f"Slurm says {state}")
    left = ["ls", "-A", "/scratch/alice/jobs"]
    retry_until(
        lambda: minicluster.exec(job.task()["node"], *left).stdout == "", "its copy is removed"
    )


def test_a_batch_script_keeps_its_own_lines(held: Laptop, minicluster: Minicluster) -> None:
    lines = "#!/bin/bash\n#SBATCH --job-name=mine\n#SBATCH --comment=kept\n#SBATCH --output=/nowhere\necho $1 $BASH_VERSION\n"
    on_node(held, f"printf %s {shlex.quote(lines)} > job.sh")
    job = submit(held, "job.sh", "word")
    job.ended()
    assert job.printed().startswith("word 5")
    assert job.record()["name"] == "mine"
    shown = minicluster.exec("login", "scontrol", "show", "job", job.number).stdout
    assert "Comment=kept" in shown


def test_without_a_node_the_newest_snapshot_is_used_and_named(held: Laptop) -> None:
    newest = held.data("backup")["snapshot"]
    held.data("clear")
    try:
        done = held.run("submit", "--time", "5m", "--", "true")
        assert done.returncode == 0
        assert f"from the newest snapshot: {newest[-6:]}" in done.stdout + done.stderr
    finally:
        held.data("up", "--node", "1")


def test_a_refusal_leaves_no_record(held: Laptop, minicluster: Minicluster) -> None:
    jobs = minicluster.shared("/fsx/alice/store/work/jobs")
    before = sorted(path.name for path in jobs.iterdir())
    last = last_line(held, "--partition", "nowhere", "--", "true")
    assert (last["code"], last["exit_code"]) == ("job.refused", 22)
    assert sorted(path.name for path in jobs.iterdir()) == before


def test_a_dry_run_submits_nothing(held: Laptop, minicluster: Minicluster) -> None:
    numbers = ["squeue", "--noheader", "--states=all", "--format=%i"]
    before = minicluster.exec("login", *numbers).stdout
    last = last_line(held, "--dry-run", "--", "true")
    assert last["data"]["command"][0] == "sbatch"
    refused = last_line(held, "--dry-run", "--partition", "nowhere", "--", "true")
    assert (refused["code"], refused["exit_code"]) == ("job.refused", 22)
    assert minicluster.exec("login", *numbers).stdout == before
