"""What becomes of a job afterwards: its files come back, it is tried again by hand, its record is removed."""

from __future__ import annotations

import time

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.test_continue import begin_now
from tests.cluster.test_jobs import shown
from tests.cluster.test_submit import WORK, Job, marks, on_node, submit
from tests.cluster.test_submit import held as held  # noqa: PLC0414 - a fixture


def failed(laptop: Laptop) -> Job:
    """A job with two tasks, of which the second fails, and a workspace that has changed since."""
    on_node(laptop, "rm -rf outputs; echo then > code")
    script = 'cat code; test "$0" = good || { echo bad; exit 9; }'
    job = submit(laptop, "--grid", "k=good,bad", "--", "sh", "-c", script, "{k}")
    on_node(laptop, "echo now > code")
    retry_until(lambda: shown(laptop, job)["state"] == "FAILED", "its second task has failed")
    return job


def test_a_failed_task_is_tried_again_on_the_held_node_and_its_files_come_back(
    held: Laptop,
) -> None:
    job = failed(held)
    ready = held.data("jobs", "debug", job.number)
    assert (ready["task"], ready["host"], ready["is_new"]) == (1, "node-1", True)
    assert ready["directory"] == f"/scratch/alice/debug/{job.id}-1/work"
    again = held.run("run", "--", ready["script"])
    assert (again.returncode, again.stdout) == (9, "then\nbad\n")
    # What is mended there stays, and the workspace has no part in it.
    on_node(held, f"echo mended > {ready['directory']}/code; test $(cat {WORK}/code) = now")
    assert not held.data("jobs", "debug", f"{job.number}_1")["is_new"]
    assert held.run("run", "--", ready["script"]).stdout == "mended\nbad\n"

    held.data("restore", "--from-job", job.number, "--to", "/scratch/alice/back")
    on_node(held, "test $(cat /scratch/alice/back/work/code) = then")
    restored = held.data("restore", "--from-job", job.number)
    assert restored["snapshot"] == job.record()["snapshot"]
    on_node(held, f"test $(cat {WORK}/code) = then")


def test_a_record_goes_when_that_is_agreed_to_and_what_was_made_only_with_its_own_word(
    held: Laptop,
) -> None:
    job = submit(held, "--", "sh", "-c", "mkdir -p outputs; echo made > outputs/pruned")
    retry_until(lambda: shown(held, job)["state"] == "COMPLETED", "it is done")
    assert held.run("jobs", "prune", job.number, "--yes").returncode == 2
    foreseen = held.data("jobs", "prune", job.number, "--outputs", "--dry-run")
    assert [one["output_files"] for one in foreseen["removed"]] == [1]
    assert held.run("jobs", "prune", job.number, "--outputs").returncode == 2  # nobody can be asked
    assert job.collected("outputs/pruned") == "made\n"
    held.data("jobs", "prune", job.number, "--outputs", "--yes")
    assert not job.path.exists()
    assert job.id not in [one["job"] for one in held.data("jobs", "list", "--all")["jobs"]]


@pytest.mark.slow
def test_what_is_given_up_on_a_node_goes_with_the_next_job_there_and_does_not_come_back(
    held: Laptop,
) -> None:
    made = (
        "mkdir outputs; echo made | tee outputs/x > outputs/closed; chmod 0 outputs/closed; exit 5"
    )
    there = "--sbatch=--nodelist=node-2"
    job = submit(held, there, "--", "sh", "-c", made)
    assert job.ended()["not_collected"] == ["outputs/closed: Permission denied"]
    copy = f"/scratch/alice/jobs/{job.id}-0"
    refused = held.run("jobs", "prune", job.number, "--yes")
    assert refused.returncode == 2
    assert f"--nodelist=node-2 -- find {copy} -not -perm -u+r" in refused.stderr
    (gone,) = held.data("jobs", "prune", job.number, "--outputs", "--yes")["removed"]
    assert gone["given_up_on"] == ["node-2"]
    job.cluster.exec("node-2", "test", "-e", copy)
    after = submit(held, there, "--", "true")
    assert after.ended()["removed"] == [
        f"what job {job.number} had left on node-2: it was given up by `jobs prune`"
    ]
    assert job.cluster.exec("node-2", "test", "-e", copy, check=False).returncode == 1
    listed = [one["job"] for one in held.data("jobs", "list", "--all")["jobs"]]
    assert (job.id in listed, after.id in listed) == (False, True)


@pytest.mark.slow
def test_every_node_of_a_job_with_several_has_the_files_and_what_each_makes_is_saved(
    held: Laptop,
) -> None:
    on_node(held, "rm -rf outputs; echo then > code")
    script = "cat code; mkdir -p outputs; hostname > outputs/$SLURMD_NODENAME"
    job = submit(held, "--nodes", "2", "--cpus", "1", "--", "sh", "-c", script)
    on_node(held, "echo now > code")
    task = job.ended()
    assert (task["code"], task["error"], task["not_collected"]) == (0, "", [])
    assert job.printed() == "then\nthen\n"
    first, (other,) = task["node"], task["further_nodes"]
    assert job.collected(f"outputs/{first}") == f"{first}\n"
    assert (job.path / f"outputs/0@{other}/outputs/{other}").read_text() == f"{other}\n"
    for node in (first, other):
        retry_until(
            lambda node=node: job.cluster.exec(node, "ls", "/scratch/alice/jobs").stdout == "",  # type: ignore[misc]
            "no copy is left",
        )


# Makes a file that only this run has, and one that every run makes; the sixth run ends.
RUNS = """\
n=${{SLURM_RESTART_COUNT:-0}}; mkdir -p outputs; echo $n | tee outputs/run-$n outputs/each; touch {mark}-$n
[ $n = 5 ] || while :; do sleep 0.1; done"""


@pytest.mark.slow
def test_what_each_of_three_crashes_left_on_a_node_is_saved_though_the_job_was_elsewhere_in_between(
    held: Laptop, minicluster: Minicluster
) -> None:
    mark, _ = marks(minicluster, "three-crashes")
    minicluster.exec("login", "sh", "-c", f"rm -f {mark}-*")
    on_node(held, "rm -rf outputs")
    on_second = "--sbatch=--nodelist=node-2"
    job = submit(held, on_second, "--", "sh", "-c", RUNS.format(mark=mark))

    def wait_for(run: int) -> None:
        retry_until(minicluster.shared(f"{mark}-{run}").exists, f"run {run}")

    def move(node: str) -> None:
        update = ["scontrol", "update", f"jobid={job.number}", f"reqnodelist={node}"]

        def waits_for_it() -> bool:
            return minicluster.login(*update, check=False).returncode == 0

        retry_until(waits_for_it, f"it waits for {node}", deadline_s=120)
        begin_now(minicluster, job.number)

    for run in (0, 2, 4):
        if run > 0:
            minicluster.login("scontrol", "requeue", job.number)
            move("node-2")
        wait_for(run)
        minicluster.run("crash", "node-2")
        minicluster.run("up")
        move("node-3")
        wait_for(run + 1)
        submit(held, on_second, "--", "true").ended()  # another job saves what it finds there
    retry_until(lambda: job.task()["phase"] == "ended", "the last run is over")

    made = {
        (int(file.name.removeprefix("run-")), int(file.with_name("each").read_text()))
        for file in job.path.glob("outputs/*/outputs/run-*")
    }
    assert made == {(run, run) for run in range(6)}  # each in a directory without another's
    assert {"0@node-2", "0@node-2.2", "0@node-2.3"} <= {
        place.name for place in job.path.glob("outputs/*")
    }
    (told,) = held.data("jobs", "show", job.number)["job"]["tasks"]
    assert (told["restarts"], told["collected_files"]) == (5, 12)
    left = minicluster.exec("node-2", "ls", "-A", "/scratch/alice/jobs").stdout
    assert left == ""


# Its first run makes much and waits; its second one ends.
REBOOTED = """\
n=${{SLURM_RESTART_COUNT:-0}}; mkdir -p outputs; echo $n > outputs/run-$n; ln -s /etc outputs/out-$n; touch {mark}-$0-$n
[ $n = 1 ] || {{ for i in $(seq 300); do echo $i > outputs/many-$i; done; while :; do sleep 0.1; done; }}"""


@pytest.mark.slow
def test_all_tasks_of_an_array_run_again_when_their_node_has_rebooted(
    held: Laptop, minicluster: Minicluster
) -> None:
    """They begin at the same moment, and each finds what the others have left."""
    mark, _ = marks(minicluster, "rebooted")
    minicluster.exec("login", "sh", "-c", f"rm -f {mark}-*")
    on_node(held, "rm -rf outputs")
    tasks = ["a", "b", "c", "d"]
    asked = ["--grid", f"k={','.join(tasks)}", "--cpus", "1", "--mem", "100M"]
    script = REBOOTED.format(mark=mark)
    job = submit(held, *asked, "--sbatch=--nodelist=node-2", "--", "sh", "-c", script, "{k}")
    for task in tasks:
        retry_until(minicluster.shared(f"{mark}-{task}-0").exists, f"{task} runs")
    minicluster.run("crash", "node-2")
    minicluster.run("up")
    for number in range(4):
        begin_now(minicluster, f"{job.number}_{number}")
    retry_until(
        lambda: {job.task(number)["phase"] for number in range(4)} == {"ended"},
        "all have run again",
        deadline_s=120,
    )
    for number, told in enumerate(held.data("jobs", "show", job.number)["job"]["tasks"]):
        assert (told["state"], told["code"], told["unsaved_on"]) == ("COMPLETED", 0, [])
        made = {file.name: file for file in job.path.glob(f"outputs/{number}*/outputs/*")}
        assert {"run-0", "run-1", "out-0", "out-1"} <= made.keys()
        assert (told["collected_files"], len(told["links_out"])) == (len(made), 2)


# Makes something while the store is away, and something when it is back.
AWAY = "mkdir -p outputs; touch {mark}; until [ -e {away} ]; do sleep 0.1; done; echo b > outputs/b; until [ -e {go} ]; do sleep 0.1; done; echo c > outputs/c"


@pytest.mark.slow
def test_what_goes_to_a_bare_mount_point_while_the_store_is_away_does_not_count_as_saved(
    held: Laptop, minicluster: Minicluster
) -> None:
    mark, go = marks(minicluster, "store-away")
    away = f"{mark}-away"
    minicluster.exec("login", "rm", "-f", away)
    on_node(held, "rm -rf outputs")
    script = AWAY.format(mark=mark, away=away, go=go)
    held.data("config", "set", "backup.every", "10s")
    try:
        job = submit(held, "--sbatch=--nodelist=node-2", "--", "sh", "-c", script)
    finally:
        held.data("config", "unset", "backup.every")
    retry_until(minicluster.shared(mark).exists, "it runs")
    store = "/fsx/alice/store"
    minicluster.exec("node-2", "mount", "-t", "tmpfs", "-o", "mode=1777", "none", store)
    minicluster.exec("login", "touch", away)
    time.sleep(25)  # it tries to save more than once
    minicluster.exec("node-2", "umount", store)
    minicluster.exec("login", "touch", go)
    task = job.ended()
    assert (task["not_collected"], task["collected_files"]) == ([], 2)
    assert (job.collected("outputs/b"), job.collected("outputs/c")) == ("b\n", "c\n")
