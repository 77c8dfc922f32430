"""`create --from` and `--to laptop:`: files on their way between a laptop, the node and the store."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until
from tests.odd_tree import DIGEST, make_odd_tree, tree_digest

WORK = "/scratch/alice/work"
STORE = "/fsx/alice/store"


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> None:
    """An empty store and empty scratches."""
    minicluster.exec(
        "login", "rm", "-rf", STORE, KNOWN_STORES, "/fsx/alice/project", "/fsx/alice/repo"
    )
    for node in minicluster.node_states():
        minicluster.exec(node, "rm", "-rf", WORK, "/scratch/alice/.scratchflow")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A directory on the laptop."""
    directory = tmp_path / "project"
    directory.mkdir()
    make_odd_tree(directory, big_bytes=8 << 20)
    yield directory
    shutil.rmtree(directory)


def digest_on(minicluster: Minicluster, host: str, path: str) -> str:
    return minicluster.exec(host, "python3", "-c", DIGEST, path).stdout.strip()


def agents_on(minicluster: Minicluster, host: str) -> str:
    argv = ["pgrep", "-u", "alice", "-f", "run.py agent"]
    return minicluster.exec(host, *argv, check=False).stdout


@pytest.mark.parametrize("transport", ["paramiko", "openssh"])
def test_a_tree_is_the_same_on_the_node_and_back_on_the_laptop(
    laptop: Laptop, minicluster: Minicluster, project: Path, tmp_path: Path, transport: str
) -> None:
    by = ("--set", f"transport={transport}")
    node = laptop.data("allocate")["node"]
    before = tree_digest(project)
    created = laptop.data("create", "--from", f"laptop:{project}", *by)
    assert (created["host"], created["path"], created["left_out"]) == (node, WORK, 0)
    assert digest_on(minicluster, node, WORK) == before
    assert laptop.data("backup")["kind"] == "unchanged"

    back = tmp_path / "back"
    restored = laptop.data("restore", "--to", f"laptop:{back}", *by)
    assert restored["snapshot"] == created["snapshot"]
    assert restored["written_files"] == created["files"]
    assert tree_digest(back / "work") == before
    shutil.rmtree(back)


def test_results_come_home_when_the_node_is_gone(
    laptop: Laptop, project: Path, tmp_path: Path
) -> None:
    laptop.data("allocate")
    laptop.data("create", "--from", f"laptop:{project}")
    laptop.ssh(f"echo result > {WORK}/result; ln {WORK}/result {WORK}/src/again")
    snapshot = laptop.data("backup")[
        "snapshot"
    ]  # an incremental one: its bytes lie in two archives
    laptop.data("clear")

    part = tmp_path / "part"
    laptop.data("restore", "--path", "work/src", "--to", f"laptop:{part}")
    assert (part / "src/again").read_text() == "result\n"
    assert (part / "src/same").read_bytes() == (project / "src/same").read_bytes()
    assert not (part / "result").exists()
    taken = ("restore", "--path", "work/src", "--to", f"laptop:{part}", "--dry-run")
    assert laptop.data(*taken)["mode"] == "nothing"
    (part / "src/again").write_text("edited")
    assert laptop.outcome(*taken)["code"] == "restore.target_differs"
    assert laptop.data(*taken, "--replace")["written_files"] == 1

    file = tmp_path / "all.tar.lz4"
    exported = laptop.data("snapshots", "export", f"laptop:{file}")
    assert (exported["snapshot"], exported["bytes"]) == (snapshot, file.stat().st_size)
    assert laptop.outcome("snapshots", "export", f"laptop:{file}")["code"] == "file.taken"
    done = laptop.run("restore", "--to", f"laptop:{part / 'all'}", "--dry-run")
    assert "would write 15 files" in done.stdout
    assert not (part / "all").exists()


def test_a_directory_that_the_node_sees_and_a_clone_made_there(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    node = laptop.data("allocate")["node"]
    script = (
        "set -e; cd /fsx/alice; mkdir project; cd project; git init -q .; echo one > kept; git add kept;"
        "git -c user.name=a -c user.email=a@b commit -qm one; echo two > kept; echo x > untracked"
    )
    minicluster.login("sh", "-c", script)
    refused = laptop.outcome("create", "--from", "file:///fsx/alice/nothing")
    assert refused["code"] == "create.clone_failed"
    assert "does not appear to be a git repository" in refused["message"]
    assert (
        laptop.outcome("create", "--from", "/fsx/alice/nothing")["code"] == "create.source_unusable"
    )
    assert minicluster.exec(node, "ls", "-A", "/scratch/alice/.scratchflow/work").stdout == ""

    cloned = laptop.data("create", "--from", "file:///fsx/alice/project")
    assert (cloned["source"], cloned["host"]) == ("file:///fsx/alice/project", node)
    assert laptop.ssh(f"cat {WORK}/kept; git -C {WORK} status --short").stdout == "one\n"
    known = laptop.outcome("create", "--from", "/fsx/alice/project")
    assert (known["code"], known["exit_code"]) == ("workspace.known", 35)

    minicluster.exec("login", "rm", "-rf", STORE, KNOWN_STORES)
    minicluster.exec(node, "rm", "-rf", "/scratch/alice/.scratchflow")
    full = laptop.outcome("create", "--from", "/fsx/alice/project")
    assert (full["code"], full["exit_code"]) == ("create.not_empty", 35)
    assert laptop.ssh(f"cat {WORK}/kept").stdout == "one\n"
    minicluster.exec(node, "rm", "-rf", WORK)
    laptop.data("create", "--from", "/fsx/alice/project", "--tracked")
    shown = laptop.ssh(f"ls {WORK}; cat {WORK}/kept; git -C {WORK} status --short").stdout
    assert shown == "kept\ntwo\n M kept\n"


@pytest.mark.parametrize(
    "signum",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        signal.SIGKILL,
        pytest.param(None, marks=pytest.mark.slow),
    ],
)
def test_a_transfer_cut_in_the_middle_leaves_nothing_and_the_next_one_works(
    laptop: Laptop, minicluster: Minicluster, project: Path, signum: signal.Signals | None
) -> None:
    """By Ctrl-C, by a laptop that is gone, or by the end of the job."""
    with (project / "src" / "more").open("wb") as file, open("/dev/urandom", "rb") as chance:
        for _ in range(150):
            file.write(chance.read(1 << 20))
    node = laptop.data("allocate")["node"]
    with laptop.begin("create", "--from", f"laptop:{project}", "--json") as process:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event.get("phase") == "send" and event["bytes_done"] > 20 << 20:
                break
        if signum is None:
            minicluster.exec("login", "scancel", "--user=alice")
        else:
            process.send_signal(signum)
        last = process.stdout.read().splitlines()[-1:]
    assert process.returncode == {signal.SIGINT: 130, signal.SIGKILL: -9, None: 23}[signum]
    if signum != signal.SIGKILL:
        assert json.loads(last[0])["type"] == "error"
    for host in (node, "login"):
        retry_until(lambda host=host: not agents_on(minicluster, host), f"no agent on {host}")  # type: ignore[misc]  # a default binds it
    assert laptop.data("snapshots", "list")["snapshots"] == []
    stored = minicluster.exec(
        "login", "find", STORE, "-name", "*.tar.lz4*", "-o", "-name", ".tmp-*"
    )
    assert stored.stdout == ""
    assert minicluster.exec(node, "ls", "-A", "/scratch/alice").stdout == ".scratchflow\n"
    assert minicluster.exec(node, "ls", "-A", "/scratch/alice/.scratchflow/work").stdout == ""

    node = laptop.data("allocate")["node"]
    laptop.data("create", "--from", f"laptop:{project}")
    assert digest_on(minicluster, node, WORK) == tree_digest(project)


def test_what_the_laptop_lacks_is_told_before_a_node_is_asked(
    laptop: Laptop, tmp_path: Path
) -> None:
    missing = laptop.outcome("create", "--from", f"laptop:{tmp_path / 'nothing'}")
    assert (missing["code"], missing["exit_code"]) == ("create.source_unusable", 2)
    relative = laptop.outcome("create", "--from", "nothing")
    assert "laptop:nothing" in relative["message"]
    (tmp_path / "there").mkdir()
    assert laptop.outcome("create", "--from", f"laptop:{tmp_path}")["code"] == "allocation.missing"


@pytest.mark.slow
def test_what_the_node_has_newer_than_the_snapshot_is_told(
    laptop: Laptop, project: Path, tmp_path: Path
) -> None:
    laptop.data("allocate")
    laptop.data("create", "--from", f"laptop:{project}")
    laptop.ssh(f"echo one > {WORK}/result.csv")
    home = tmp_path / "home"
    take = ("restore", "--path", "result.csv", "--to", f"laptop:{home}")
    refused = laptop.outcome(*take)
    assert (refused["code"], refused["exit_code"]) == ("snapshot.path_unsaved", 30)
    assert "`scratchflow backup` saves it" in refused["hint"]
    laptop.data("backup")
    laptop.data(*take)
    assert (home / "result.csv").read_text() == "one\n"
    laptop.ssh(f"echo twice > {WORK}/result.csv")
    done = laptop.run(*take)
    assert "1 file (`result.csv`) changed on" in done.stderr
    assert (home / "result.csv").read_text() == "one\n"
    laptop.data("backup")
    again = laptop.run(*take)
    assert "changed on" not in again.stderr
    assert (home / "result.csv").read_text() == "twice\n"
    (home / "result.csv").write_text("edited here")
    assert laptop.data(*take, "--replace")["moved_aside"]
    assert (home / "result.csv").read_text() == "twice\n"

    laptop.ssh(f"echo new > {WORK}/src/final.csv")
    for path in ("src", "."):
        part = tmp_path / f"part of {path}"
        done = laptop.run("restore", "--path", path, "--to", f"laptop:{part}")
        assert "1 file (`src/final.csv`) is on `node-" in " ".join(done.stderr.split())
