"""`restore -v`: every path that is written or removed, also one whose name is not UTF-8."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from tests.contract.people import Person

ODD = b"work/odd-\xff\xfe"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Two snapshots: in the second `gone` is new, `file` is changed, and an odd name is missing."""
    person = Person(tmp_path)
    odd = os.path.join(os.fsencode(person.work.parent), ODD)
    Path(os.fsdecode(odd)).write_text("odd")
    (person.work / "kept").write_text("kept")
    (person.work / "link").symlink_to("kept")
    person.saves("1")
    os.unlink(odd)
    (person.work / "more").mkdir()
    (person.work / "more/gone").write_text("x")
    person.saves("2")
    return person


def items(lines: list[dict[str, Any]]) -> set[tuple[str, bytes]]:
    found = [line for line in lines if line["type"] == "item" and line["action"] != "stored"]
    names = {
        (
            one["action"],
            one["path"].encode() if "path" in one else base64.b64decode(one["path_b64"]),
        )
        for one in found
    }
    assert len(names) == len(found)
    return names


def test_a_difference_tells_what_is_written_and_removed(person: Person) -> None:
    foretold = items(person.lines("restore", "latest~1", "-v", "--dry-run"))
    assert foretold == {
        ("to write", b"work/file"),
        ("to write", ODD),
        ("to remove", b"work/more/gone"),
    }
    done = person.lines("restore", "latest~1", "-v")
    assert items(done) == {
        ("written", b"work/file"),
        ("written", ODD),
        ("removed", b"work/more/gone"),
    }
    assert done[-1]["data"]["written_files"] == 2
    assert items(person.lines("restore", "-v")) == set()


def test_a_whole_restore_and_a_part_tell_each_file(person: Person, tmp_path: Path) -> None:
    first = ["restore", "latest~1", "-v"]
    everything = {b"work/file", b"work/kept", b"work/link", ODD}
    there = items(person.lines(*first, "--to", str(tmp_path / "out")))
    assert there == {("written", path) for path in everything}
    part = items(person.lines(*first, "--path", "file"))
    assert part == {("written", b"work/file")}
    assert items(person.lines(*first[:-1], "--path", "file")) == set()


def test_people_read_them_as_lines(person: Person) -> None:
    done = person.run("restore", "latest~1", "-v")
    assert "written work/file\n" in done.stderr
    assert "written work/odd-\\xff\\xfe\n" in done.stderr
    assert "removed work/more/gone\n" in done.stderr
