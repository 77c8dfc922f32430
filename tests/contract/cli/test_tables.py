"""What people read on a terminal of 80 columns: short ids, ages, local times, no broken word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scratchflow.model.ages import short_id
from tests.contract.people import PROGRAM, ROOT, Person
from tests.oracle.clocks import why_no_clock
from tests.terminal import SMALL, Terminal

needs_clock = pytest.mark.skipif(bool(why_no_clock()), reason=why_no_clock())

LONG = "everything that the reviewers asked for, and a few things that they did not ask for"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def on_screen(person: Person, *arguments: str, size: tuple[int, int] = SMALL) -> list[str]:
    """The rows of the result; what is said before them goes above."""
    with Terminal([*PROGRAM, *arguments], person.environment, size=size, cwd=ROOT) as terminal:
        assert terminal.end() == 0, terminal.text
        return [row for row in terminal.all_rows if not row.startswith("no configuration file yet")]


@needs_clock
def test_the_list_is_one_line_each_newest_last_and_names_give_way(person: Person) -> None:
    first = person.saves("1", "-m", "first build", at="2025-09-01 10:00:00")
    second = person.saves("2", "-m", LONG)
    person.saves("3")
    person.data("restore", short_id(second))
    rows = on_screen(person, "snapshots", "list")
    assert all(len(row) <= 80 for row in rows)
    assert re.fullmatch(r"4 snapshots, \S+ KiB in the store", rows[4])
    assert rows[5].startswith("[fork]")  # what the mark behind the third one means
    rows = rows[:4]
    assert rows[0] == f'{short_id(first)}  1 Sep 2025            full         1 file  "first build"'
    assert re.match(
        rf'{short_id(second)} +\d\d:\d\d  just now  full         1 file  "everything', rows[1]
    )
    assert '…"' in rows[1]
    assert f"  restored {short_id(second)}" in rows[3]
    wide = on_screen(person, "snapshots", "list", size=(160, 24))
    assert LONG in wide[1]
    assert LONG in person.says("snapshots", "list")


@needs_clock
def test_the_time_in_the_list_can_be_typed(person: Person) -> None:
    early = person.saves("1", at="2026-11-15 10:00:00")
    person.saves("2", at="2026-11-15 10:02:00")
    row = person.says("snapshots", "list", at="2026-11-15 10:02:20").splitlines()[0]
    assert row.split()[:5] == [short_id(early), "11:00", "2", "min", "ago"]
    shown = person.says("snapshots", "show", "11:00", at="2026-11-15 10:02:20")
    assert early in shown


@needs_clock
def test_the_list_says_in_words_why_a_snapshot_stays(person: Person) -> None:
    first = person.saves("1")
    person.work.joinpath("file").write_text("unsaved")
    person.data("restore", first)
    rows = person.says("snapshots", "list").splitlines()
    assert f"  before restoring {short_id(first)}" in rows[1]
    assert not any(word in row for row in rows for word in ("[full", "safety"))
    assert "taken before a restore" in person.says("snapshots", "list", "-v").splitlines()[1]


@needs_clock
def test_verbose_takes_two_lines_where_one_is_too_narrow(person: Person) -> None:
    first = person.saves("1", "-m", LONG, at="2026-11-15 10:00:00")
    rows = on_screen(person, "snapshots", "list", "-v")
    assert re.fullmatch(rf"{first}  2026-11-15 10:00:\d\d UTC  full  1 file  1 B", rows[0])
    assert re.match(r"    \d+ B stored  \S+  \"everything that", rows[1])
    assert all(len(row) <= 80 for row in rows)


@needs_clock
def test_verbose_shows_whole_ids_and_utc(person: Person) -> None:
    first = person.saves("1", at="2026-11-15 10:00:00")
    row, total = person.says("snapshots", "list", "-v").splitlines()
    assert total.startswith("1 snapshot, ")
    assert row.startswith(f"{first}  2026-11-15 10:00:0")
    assert " UTC  full  1 file" in row


def test_a_remark_shows_short_ids_and_verbose_whole_ones(person: Person) -> None:
    first = person.saves("1")
    unchanged = person.says("backup")
    assert re.fullmatch(
        rf"nothing changed in `.*/work` since snapshot {short_id(first)} \(just now\)\n", unchanged
    )
    refused = person.run("snapshots", "prune", "latest", "--yes")
    assert f"`{short_id(first)}` is the last snapshot" in refused.stderr
    refused = person.run("snapshots", "prune", "latest", "--yes", "-v")
    assert f"`{first}` is the last snapshot" in refused.stderr
    assert f"since snapshot {first} (20" in person.says("backup", "-v")
    assert f"from snapshot {first}" in person.says("status", "-v")
    last = person.lines("snapshots", "prune", "latest", "--yes")[-1]
    assert first in last["message"]


def test_on_a_terminal_no_word_and_no_command_is_broken(person: Person) -> None:
    person.saves("1")
    with Terminal([*PROGRAM, "restore", "nonesuch"], person.environment, cwd=ROOT) as terminal:
        assert terminal.end() != 0
        shown = terminal.all_rows
    told = person.run("restore", "nonesuch").stderr.splitlines()
    assert max(map(len, told)) > 80, "nothing to break"
    assert " ".join(shown).split() == " ".join(told).split()
    assert all(row.count("`") % 2 == 0 for row in shown), shown


def test_on_a_terminal_a_command_to_copy_is_left_to_the_terminal(person: Person) -> None:
    printed = person.says("open", "--print").splitlines()
    assert max(map(len, printed)) > 80
    shown = on_screen(person, "open", "--print")
    assert "".join(shown) == "".join(printed)
