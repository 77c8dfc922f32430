"""`snapshots cat` and `snapshots history` as people type them, on the real program."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

from scratchflow.model.ages import short_id
from tests.contract.people import PROGRAM, Person

ODD = b"\0\r\n\xff\x1b[31m caf\xe9" * 50_000


def cat(person: Person, *arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
    argv = [*PROGRAM, "-q", "snapshots", "cat", *arguments]
    return subprocess.run(argv, env=person.environment, capture_output=True, check=False)


def test_stdout_is_the_file_byte_for_byte_and_nothing_else(tmp_path: Path) -> None:
    person = Person(tmp_path)
    (person.work / "odd.bin").write_bytes(ODD)
    os.link(person.work / "odd.bin", person.work / "linked")
    (person.work / os.fsdecode(b"caf\xe9")).write_bytes(b"not UTF-8")
    saved = person.saves("1")
    for path in ("odd.bin", "work/odd.bin", "linked", str(person.work / "odd.bin")):
        done = cat(person, "latest", path)
        assert (done.stdout, done.stderr, done.returncode) == (ODD, b"", 0)
    assert cat(person, "today", b"caf\xe9").stdout == b"not UTF-8"
    assert cat(person, short_id(saved), "caf?").stdout == b"not UTF-8"
    data = person.data("snapshots", "cat", saved, "odd.bin")
    assert base64.b64decode(data["content_b64"]) == ODD
    refused = cat(person, "latest", ".")
    assert (refused.returncode, refused.stdout) == (30, b"")
    assert b"is a directory in snapshot" in refused.stderr


def test_a_reader_that_has_enough_ends_it_quietly(tmp_path: Path) -> None:
    person = Person(tmp_path)
    (person.work / "odd.bin").write_bytes(ODD * 20)
    person.saves("1")
    line = f"{' '.join(PROGRAM)} -q snapshots cat latest odd.bin | head -c 3"
    done = subprocess.run(
        ["sh", "-c", line], env=person.environment, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (ODD[:3], b"")


def test_the_versions_of_a_file(tmp_path: Path) -> None:
    person = Person(tmp_path)
    first = person.saves("1", at="2026-11-10 10:00:00")
    person.saves("1", "-m", "the same", at="2026-11-10 11:00:00")
    second = person.saves("two", at="2026-11-10 12:00:00")
    (person.work / "file").chmod(0o700)
    third = person.data("backup", at="2026-11-10 13:00:00")["snapshot"]
    (person.work / "file").unlink()
    (person.work / "left").touch()
    fourth = person.data("backup", "--allow-shrink", at="2026-11-10 13:30:00")["snapshot"]
    shown = person.says("snapshots", "history", "file", at="2026-11-10 14:20:00").splitlines()
    ids = [short_id(one) for one in (first, second, third, fourth)]
    assert [line.split()[0] for line in shown[:-1]] == ids
    assert shown[0].endswith("1 B  0644  added")
    assert shown[1].endswith("3 B  0644")
    assert shown[2].endswith("3 B  0700  mode, 0644 before")
    assert shown[3].endswith("deleted")
    assert "4 h ago" in shown[0]
    assert shown[4].startswith("3 versions of `work/file` in ")
