"""A cluster whose `srun` is older than `--overlap`: everything that belongs to the node goes over ssh."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until
from tests.cluster.test_run import WORDS, run, way_file

WORK = "/scratch/alice/work"
SRUN = "/usr/local/bin/srun"
# What an `srun` before 20.11 says.
OLD_SRUN = r"""#!/bin/sh
for word; do
    case $word in
        --overlap)
            echo "srun: unrecognized option '--overlap'" >&2
            echo 'Try "srun --help" for more information' >&2
            exit 1 ;;
        --help) /usr/bin/srun --help | grep -v -e --overlap; exit 0 ;;
        --version) echo "slurm 19.05.5"; exit 0 ;;
        --*) ;;
        *) break ;;
    esac
done
exec /usr/bin/srun "$@"
"""


@pytest.fixture(autouse=True)
def old_srun(minicluster: Minicluster) -> Iterator[None]:
    """Ahead of the real one on the login host, and gone with the test."""
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES)
    for node in minicluster.node_states():
        minicluster.exec(node, "rm", "-rf", WORK, "/scratch/alice/.scratchflow")
    plant = f'mkdir -p "$(dirname {SRUN})" && printf %s "$1" > {SRUN} && chmod 755 {SRUN}'
    minicluster.exec("login", "sh", "-c", plant, "sh", OLD_SRUN)
    yield
    minicluster.exec("login", "rm", SRUN)


class Store:
    """What lies on the shared storage; looked at there, which takes no time."""

    def __init__(self, cluster: Minicluster) -> None:
        self.directory = cluster.shared("/fsx/alice/store/work")

    def life(self, node: str) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(
            (self.directory / f"heartbeats/{node}.json").read_text()
        )
        return result

    def newest(self) -> dict[str, Any]:
        manifests = sorted(self.directory.glob("2*.json"))
        result: dict[str, Any] = json.loads(manifests[-1].read_text())
        return result


@pytest.fixture
def store(minicluster: Minicluster) -> Store:
    return Store(minicluster)


def write(laptop: Laptop, name: str) -> None:
    assert laptop.ssh(f"echo {name} > {WORK}/{name}").returncode == 0


def test_the_day_goes_over_ssh_and_doctor_says_so(
    laptop: Laptop, minicluster: Minicluster, store: Store
) -> None:
    got = laptop.data("up", "--set", "backup.every=2s")
    assert (got["workspace"]["action"], got["autobackup"]["enabled"]) == ("created", True)
    life = store.life(got["node"])
    assert (life["job_id"], life["step_id"]) == (got["job_id"], None)
    keys = minicluster.shared("/home/alice/.local/share/scratchflow/ssh")
    assert [file.name for file in keys.glob("*/*/*")] == [f"mini-{got['node']}"]
    checks = {check["name"]: check for check in laptop.data("doctor")["checks"]}
    assert [check for check in checks.values() if not check["ok"]] == []
    result = checks["steps"]["detail"]
    assert ("over ssh" in result, "slurm 19.05.5" in result) == (True, True)

    # Neither tmux nor anything of ours on the login host keeps it alive.
    minicluster.login("tmux", "-L", "scratchflow", "kill-server")
    minicluster.exec("login", "pkill", "-KILL", "--uid", "alice", check=False)
    write(laptop, "later")
    retry_until(lambda: store.newest()["files"] == 1, "a snapshot has the file")
    assert (store.newest()["message"], store.newest()["job_id"]) == ("automatic", got["job_id"])
    assert laptop.data("autobackup", "status")["autobackup"]["enabled"] is True
    assert laptop.data("autobackup", "off")["changed"] is True
    assert store.life(got["node"])["phase"] == "ended"

    write(laptop, "by-hand")
    assert laptop.data("backup")["changed_files"] == 1
    assert laptop.data("autobackup", "on")["changed"] is True
    write(laptop, "last")
    laptop.data("clear")
    assert minicluster.jobs() == []
    assert store.newest()["files"] == 3
    retry_until(lambda: store.life(got["node"])["phase"] == "ended", "it has ended")


@pytest.mark.slow
def test_without_being_told_it_ends_with_its_job_after_a_last_backup(
    laptop: Laptop, minicluster: Minicluster, store: Store
) -> None:
    got = laptop.data("up")
    write(laptop, "unsaved")
    minicluster.exec("login", "scancel", str(got["job_id"]))
    retry_until(lambda: store.life(got["node"])["phase"] == "ended", "it has ended")
    assert (store.newest()["message"], store.newest()["files"]) == ("the job ends", 1)


@pytest.mark.slow
def test_run_goes_over_ssh_and_asks_for_the_job_each_time(laptop: Laptop) -> None:
    job_id = laptop.data("up", "--node", "1")["job_id"]
    script = 'pwd; echo "$SLURM_JOB_ID"; echo err >&2; printf "%s\\0" "$@"; exit 7'
    done = run(laptop, "--", "sh", "-c", script, "sh", *WORDS)
    said = "".join(f"{word}\0" for word in WORDS)
    assert (done.returncode, done.stderr) == (7, b"err\n")
    assert done.stdout.decode() == f"{WORK}\n{job_id}\n{said}"
    assert not way_file(laptop).exists()
