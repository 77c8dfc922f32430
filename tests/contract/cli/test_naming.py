"""Snapshots named as people do, through the real program, in a time zone that is not UTC."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scratchflow.model.ages import short_id
from tests.contract.people import Person
from tests.oracle.clocks import why_no_clock

pytestmark = pytest.mark.skipif(bool(why_no_clock()), reason=why_no_clock())

# 23:40 of the 14th in Berlin, 00:20 of the 15th there, and noon of the 15th.
LATE, EARLY, NOON = "2026-11-14 22:40:00", "2026-11-14 23:20:00", "2026-11-15 11:00:00"
NOW = "2026-11-16 09:30:00"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.fixture
def three(person: Person) -> list[str]:
    return [
        person.saves("late", "-m", "submitted version", at=LATE),
        person.saves("early", at=EARLY),
        person.saves("noon", at=NOON),
    ]


def test_every_command_finds_the_same_snapshot(person: Person, three: list[str]) -> None:
    late, early, noon = three
    names = {
        short_id(early): early,
        "latest~1": early,
        "2026-11-14": late,
        "15 Nov 00:20": early,
        "yesterday": noon,
        "34 hours ago": early,
        '@"submitted version"': late,
    }
    for name, snapshot in names.items():
        assert person.data("snapshots", "show", name, at=NOW)["manifest"]["id"] == snapshot, name
    assert person.data("restore", "2026-11-14", "--dry-run", at=NOW)["snapshot"] == late
    assert person.data("snapshots", "diff", "@submitted", "yesterday", at=NOW)["older"] == late
    assert person.data("snapshots", "keep", "latest~2", at=NOW)["snapshots"] == [late]
    assert person.data("snapshots", "unkeep", "@submitted", at=NOW)["changed"] == [late]
    assert person.data("snapshots", "verify", "15 Nov 00:20", at=NOW)["checked"] == 1
    pruned = person.data("snapshots", "prune", "15 Nov 00:20", "--yes", at=NOW)
    assert pruned["removed"] == [early]


def test_a_restore_by_time_says_which_snapshot_it_took(person: Person, three: list[str]) -> None:
    done = person.run("restore", "2026-11-14", at=NOW)
    assert f"`2026-11-14` is snapshot {short_id(three[0])} (14 Nov 23:40, 34 h ago," in done.stderr
    assert (person.work / "file").read_text() == "late"


def test_a_day_is_one_of_the_zone_where_it_is_typed(person: Person, three: list[str]) -> None:
    person.environment["TZ"] = "EST5"
    assert person.data("snapshots", "show", "2026-11-14", at=NOW)["manifest"]["id"] == three[1]


def test_several_are_listed_and_none_says_what_there_is(person: Person, three: list[str]) -> None:
    refused = person.run("snapshots", "show", "202611", at=NOW)
    assert refused.returncode == 30
    assert "`202611` fits 3 snapshots" in refused.stderr
    assert all(short_id(one) in refused.stderr for one in three)
    refused = person.run("restore", "zzzzzz", "--json", at=NOW)
    last = json.loads(refused.stdout.splitlines()[-1])
    assert (last["code"], last["exit_code"]) == ("snapshot.missing", 30)
    assert '34 h ago, "submitted version"' in last["hint"]
