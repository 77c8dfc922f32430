"""The script that unpacks an agent: with a bare Python, all or nothing, and nothing outside its place."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from scratchflow.agent.there import unpack

NAME, TAG = "1.0-abc", "cp311-x86_64"
# As little as passes for an agent: it answers with a summary.
RUN = b"import sys\nsys.path.insert(0, __file__ + '/../lib')\nimport part\nprint('\"summary\"')\n"
START = b"echo '\"summary\"'\n"
PART = {"part.py": b"", "deep/er/data": b"x" * 1000}


def packed(files: dict[str, bytes], *, kind: bytes = tarfile.REGTYPE) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(content), "/etc/passwd"
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def words(base: Path, archive: bytes, **changed: str) -> list[str]:
    options = {
        "base": str(base),
        "name": NAME,
        "tag": TAG,
        "python": sys.executable,
        "start-bytes": str(len(START)),
        "run-bytes": str(len(RUN)),
        "archive-bytes": str(len(archive)),
        "sha256": hashlib.sha256(START + RUN + archive).hexdigest(),
    } | changed
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def tell(arguments: list[str], stdin: bytes = b"") -> dict[str, Any]:
    """Runs the script as the laptop does: by a Python without site packages."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", unpack.__file__, "0", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
    )
    line = done.stdout.decode().rpartition(f"{unpack.MARK}\t")[2]
    return {"code": done.returncode, **(json.loads(line) if line else {})}


def put(base: Path, archive: bytes | None = None, **changed: str) -> dict[str, Any]:
    archive = packed(PART) if archive is None else archive
    return tell(words(base, archive, **changed), START + RUN + archive)


def everything(base: Path) -> set[str]:
    return {str(path.relative_to(base)) for path in base.rglob("*") if not path.is_dir()}


def test_what_was_sent_is_there_whole_and_found_again(tmp_path: Path) -> None:
    assert tell([*words(tmp_path, b""), "--check"])["state"] == "absent"
    assert put(tmp_path)["state"] == "installed"
    part = tmp_path / NAME / TAG
    assert (part / "lib/deep/er/data").read_bytes() == PART["deep/er/data"]
    assert (part / "run.py").read_bytes() == RUN
    assert os.readlink(tmp_path / "current") == NAME
    assert tell([*words(tmp_path, b""), "--check"])["state"] == "present"


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/outside", "a//b", "./a"])
def test_no_member_lands_outside(tmp_path: Path, name: str) -> None:
    answer = put(tmp_path / "base", packed({"part.py": b"", name: b"evil"}))
    assert answer["code"] == 1
    assert "unexpected member" in answer["error"]
    assert everything(tmp_path) == set()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_only_plain_files_are_unpacked(tmp_path: Path, kind: bytes) -> None:
    assert "unexpected member" in put(tmp_path, packed({"part.py": b""}, kind=kind))["error"]
    assert everything(tmp_path) == set()


def test_an_agent_that_does_not_run_leaves_the_one_before(tmp_path: Path) -> None:
    put(tmp_path)
    before = everything(tmp_path)
    answer = put(tmp_path, packed({"other.py": b""}), name="2.0-def")
    assert "No module named 'part'" in answer["error"]
    assert everything(tmp_path) == before
    assert os.readlink(tmp_path / "current") == NAME


@pytest.mark.parametrize(("flag", "value"), [("name", "../x"), ("name", ".x"), ("tag", "cp3/../x")])
def test_a_name_that_is_a_path_is_refused(tmp_path: Path, flag: str, value: str) -> None:
    arguments = words(tmp_path / "base", b"", **{flag: value})
    assert tell(arguments, START + RUN) == {"code": 2}
    assert everything(tmp_path) == set()


def test_what_a_dead_process_left_goes_and_what_a_living_one_needs_stays(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as dead:
        pass
    host = unpack._host()
    left = [f".tmp-{host}-{dead.pid}-0a", f"{NAME}/.tmp-{host}-{dead.pid}-0b"]
    stays = [f".tmp-{host}-{os.getpid()}-0c", ".tmp-elsewhere-1-0d", "notes"]
    for name in [*left, *stays]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    put(tmp_path)
    assert not any((tmp_path / name).exists() for name in left)
    assert all((tmp_path / name).exists() for name in stays)


def test_a_place_that_cannot_be_made_is_said_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    answer = put(tmp_path / "file")
    assert answer["error"] == f"{tmp_path}/file/{NAME}: Not a directory"
    assert answer["full"] is False
