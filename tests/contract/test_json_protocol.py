"""Contract §3 on the real program: one outcome, always last, its exit code the process's."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "schema/events.schema.json").read_text())
PROGRAM = [sys.executable, "-m", "scratchflow"]


@cache
def schema_of(op: str) -> jsonschema.Draft202012Validator:
    """That of the data of a command's summary, or for nothing that of every line.

    It is checked once: it is large, and that takes a hundred times longer than to check a line with it.
    """
    schema = {**SCHEMA["x-results"][op], "$defs": SCHEMA["$defs"]} if op else SCHEMA
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own: no configuration, nothing of the user's is read or written."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def checked(stdout: str, returncode: int) -> list[dict[str, Any]]:
    """The lines, after every invariant of the contract has been checked on them."""
    assert stdout.endswith("\n")
    lines = [json.loads(line) for line in stdout.splitlines()]
    for line in lines:
        schema_of("").validate(line)
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert {line["v"] for line in lines} == {1}
    assert lines[0]["type"] == "hello"
    outcomes = [line for line in lines if line["type"] in {"summary", "error"}]
    assert outcomes == lines[-1:]
    assert lines[-1]["exit_code"] == returncode
    if lines[-1]["type"] == "summary":
        schema_of(lines[-1]["op"]).validate(lines[-1]["data"])
    return lines


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version", "--json"],
        ["--json", "--version"],
        ["--help", "--json"],
        ["config", "--json", "show"],
        ["config", "show", "--json", "--origin"],
        ["--json", "config", "path"],
        ["config", "set", "slurm.gpus", "1", "--json"],
        ["config", "set", "slurm.gpus", "1", "--json", "--dry-run"],
    ],
)
def test_what_works_ends_in_one_summary(environment: dict[str, str], arguments: list[str]) -> None:
    done = run(environment, *arguments)
    assert checked(done.stdout, done.returncode)[-1]["type"] == "summary"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["--json"], "usage.invalid", 2),
        (["nosuchverb", "--json"], "usage.unknown_command", 2),
        (["snapshots", "nosuchverb", "--json"], "usage.unknown_command", 2),
        (["allocate", "--gpus", "abc", "--json"], "usage.invalid", 2),
        (["nodes", "nosuchword", "--json"], "usage.invalid", 2),
        (["config", "--json"], "usage.invalid", 2),
        (["config", "show", "--nosuch", "--json"], "usage.invalid", 2),
        (["config", "set", "--json"], "usage.invalid", 2),
        (["--json", "--profile"], "usage.invalid", 2),
        (["config", "show", "--json", "-p", "nosuch"], "config.no_profile", 10),
        (["config", "show", "--json", "--config", "/"], "config.unreadable", 10),
        (["config", "show", "--json", "--set", "x=1"], "config.unknown_key", 10),
    ],
)
def test_what_fails_ends_in_one_error(
    environment: dict[str, str], arguments: list[str], code: str, exit_code: int
) -> None:
    done = run(environment, *arguments)
    last = checked(done.stdout, done.returncode)[-1]
    assert (last["type"], last["code"], done.returncode) == ("error", code, exit_code)
    assert last["hint"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("flags", [[], ["--json"]])
@pytest.mark.parametrize(
    "arguments",
    [["path"], ["show", "--origin"], ["set", "login", "x", "--dry-run"], ["set", "login", "x"]],
    ids=" ".join,
)
def test_a_configuration_file_may_have_a_name_that_is_not_utf8(
    environment: dict[str, str], tmp_path: Path, arguments: list[str], flags: list[str]
) -> None:
    config = tmp_path / os.fsdecode(b"caf\xe9.toml")
    config.write_text("[profiles.a.slurm]\ngpus = 1\n")
    done = run(environment, "config", *arguments, "--config", str(config), *flags)
    assert done.returncode == 0, done.stderr
    if flags:
        assert checked(done.stdout, 0)[-1]["data"]["path"].endswith("caf\\xe9.toml")
    else:
        assert "caf\\xe9.toml" in done.stdout


@pytest.mark.parametrize(
    "arguments", [["show", "--set", "store=/a\udcff"], ["set", "workspace", "\udcff"]]
)
def test_a_setting_that_is_not_utf8_is_refused(
    environment: dict[str, str], arguments: list[str]
) -> None:
    done = run(environment, "config", *arguments, "--json")
    assert checked(done.stdout, 10)[-1]["code"] == "config.bad_value"


WHOLE_LIFE = [
    (["create"], "create"),
    (["backup", "--dry-run"], "backup"),
    (["backup"], "backup"),
    (["backup", "--verbose", "--full", "-m", "note [/]"], "backup"),
    (["restore"], "restore"),
    (["restore", "--dry-run", "--path", "work"], "restore"),
    (["snapshots", "list"], "snapshots list"),
    (["snapshots", "show", "latest", "work"], "snapshots show"),
    (["snapshots", "cat", "latest", "caf?\n"], "snapshots cat"),
    (["snapshots", "history", "data[/]train].bin"], "snapshots history"),
    (["snapshots", "diff", "latest"], "snapshots diff"),
    (["snapshots", "verify"], "snapshots verify"),
    (["snapshots", "prune", "--dry-run"], "snapshots prune"),
    (["snapshots", "prune"], "snapshots prune"),
    (["snapshots", "keep", "latest", "--dry-run"], "snapshots keep"),
    (["snapshots", "keep", "latest"], "snapshots keep"),
    (["snapshots", "unkeep", "latest"], "snapshots unkeep"),
    (["snapshots", "prune", "latest", "--yes"], "snapshots prune"),
    (["snapshots", "export", "out.tar.lz4"], "snapshots export"),
    (["snapshots", "import", "out.tar.lz4"], "snapshots import"),
]


def test_a_whole_life_on_one_machine_speaks_the_protocol(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for arguments, op in WHOLE_LIFE:
        done = subprocess.run(
            [*PROGRAM, *arguments, "--json"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = checked(done.stdout, done.returncode)
        assert (done.returncode, lines[-1]["op"]) == (0, op), done.stdout
        if arguments == ["create"]:
            work = Path(lines[-1]["data"]["path"])
            (work / "data[").mkdir()
            (work / "data[/]train].bin").write_bytes(b"x" * 5000)
            (work / os.fsdecode(b"caf\xe9\n")).write_bytes(b"y")


def test_a_name_that_is_not_utf8_travels_as_base64(environment: dict[str, str]) -> None:
    work = Path(environment["XDG_DATA_HOME"]) / "scratchflow/scratch/work"
    work.mkdir(parents=True)
    (work / os.fsdecode(b"caf\xe9")).write_bytes(b"y")
    done = run(environment, "backup", "--json", "--verbose")
    items = [line for line in checked(done.stdout, 0) if line["type"] == "item"]
    assert base64.b64encode(b"work/caf\xe9").decode() in [item.get("path_b64") for item in items]


def test_a_skipped_socket_is_a_warning_and_still_exit_0(environment: dict[str, str]) -> None:
    work = Path(environment["XDG_DATA_HOME"]) / "scratchflow/scratch/work"
    work.mkdir(parents=True)
    os.mkfifo(work / "pipe")
    done = run(environment, "backup", "--json")
    lines = checked(done.stdout, done.returncode)
    assert [line["path"] for line in lines if line["type"] == "warning"] == ["work/pipe"]
    assert (done.returncode, lines[-1]["warnings"]) == (0, 1)


def test_people_get_text_on_stderr_and_data_on_stdout(environment: dict[str, str]) -> None:
    done = run(environment, "config", "show", "-p", "nosuch")
    assert done.stdout == ""
    assert done.stderr.startswith('error: there is no profile "nosuch"\nhint: ')
