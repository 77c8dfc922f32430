"""Start-up stays short because nothing heavy is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What only files of 8 MiB and more need.
LARGE_FILES = {
    "pyfastcdc",
    "scratchflow.archive.files.chunker",
    "scratchflow.archive.write.windows",
    "scratchflow.archive.write.large_files",
}
HEAVY = {"paramiko", "libtmux", "lz4", "pydantic", "cryptography", "yaml"}
TELL_IMPORTS = (
    "import atexit, sys\n"
    "atexit.register(lambda: print('IMPORTED', *sys.modules, file=sys.stderr))\n"
    "from scratchflow.cli.main import main\n"
    "main()"
)


def imported(*arguments: str, stdin: IO[bytes] | None = None) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", TELL_IMPORTS, *arguments],
        cwd=ROOT,
        stdin=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.rpartition("IMPORTED")[2].split())


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--version", "--json"], ["--help"], ["config", "path"]],
    ids=" ".join,
)
def test_light_commands_import_nothing_heavy(arguments: list[str]) -> None:
    assert imported(*arguments) & {*HEAVY, *LARGE_FILES} == set()


def test_the_version_needs_no_typer_and_no_rich() -> None:
    assert imported("--version") & {"typer", "rich", "msgspec"} == set()
    assert imported("--version", "--json") & {"typer", "rich"} == set()


def test_backup_needs_no_ssh_and_no_tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "scratchflow/scratch/work").mkdir(parents=True)
    found = imported("backup", "--quiet")
    assert found & {"paramiko", "libtmux", "pydantic", "rich"} == set()
    assert "lz4" in found


def test_only_a_backup_with_a_large_file_loads_what_cuts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    work = tmp_path / "scratchflow/scratch/work"
    work.mkdir(parents=True)
    (work / "small").write_bytes(bytes(1 << 20))
    assert imported("backup", "--quiet") & LARGE_FILES == set()
    (work / "large").write_bytes(bytes(8 << 20))
    assert imported("backup", "--quiet") & LARGE_FILES == LARGE_FILES
    (work / "small").write_bytes(b"changed")
    assert imported("backup", "--quiet") & LARGE_FILES == set()


def test_status_alone_needs_no_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    spared = {*HEAVY, *LARGE_FILES, "typer", "rich", "typing_extensions", "inspect"}
    assert imported("status") & spared == set()


def test_help_needs_no_verb() -> None:
    assert "scratchflow.cli.config" not in imported("--help")


LOADED = (
    "import importlib, sys\n"
    "from scratchflow.dispatch.operations import ON_LOGIN, ON_NODE, function_of\n"
    "for word in sys.argv[1:]:\n"
    "    served = ON_LOGIN.get(word) or ON_NODE.get(word)\n"
    "    function_of(served) if served else importlib.import_module(word)\n"
    "print(*sys.modules)"
)
# What brings an agent to a host, and what only paramiko, tmux or an archive needs.
DELIVERY = {"tarfile", "email.parser", "gzip", "scratchflow.agent.delivery.install"}
FOREIGN = {"paramiko", "libtmux", "lz4", "difflib"}


@pytest.mark.parametrize(
    ("words", "spared"),
    [
        (
            ["look"],
            {"_hashlib", "tempfile", "scratchflow.reach.node", "scratchflow.ssh.transport.base"},
        ),
        (
            ["jobs", "scratchflow.cli.job_words"],
            {
                *{"tempfile", "shlex", "base64", "calendar"},
                "scratchflow.cluster.slurm.jobs",
                "scratchflow.cluster.slurm.reasons",
                "scratchflow.cluster.slurm.batch.accounting",
            },
        ),
        (["make ready"], {"_hashlib", "tempfile", "scratchflow.ssh.keys.known_hosts"}),
        (
            ["settle"],
            {"_hashlib", "subprocess", "scratchflow.archive.scan.scan", "scratchflow.ssh"},
        ),
        (
            ["scratchflow.flows.status", "scratchflow.reach.login"],
            {"_hashlib", "logging", "tempfile"},
        ),
        (["scratchflow.flows.up", "scratchflow.flows.setup.which"], {"scratchflow.login.host"}),
    ],
    ids=["status on the login host", "jobs there", "up there", "up on the node", "status", "up"],
)
def test_what_people_wait_for_loads_what_it_needs(words: list[str], spared: set[str]) -> None:
    argv = [sys.executable, "-c", LOADED, *words]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & {*DELIVERY, *FOREIGN, *spared} == set()
