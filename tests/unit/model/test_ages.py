"""Ids and times as people read them."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest

from scratchflow.model.ages import (
    Wording,
    age,
    age_at,
    for_people,
    named,
    overrides_are_saved,
    short_id,
    short_ids,
    taken_s,
    time_left,
    wall_time,
)
from scratchflow.model.zone import Zone
from scratchflow.testing.store import EPOCH, make_id

HOUR = 3600
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (12 * 60 + 59, "12 min ago"),
        (99 * 60, "99 min ago"),
        (100 * 60, "1 h ago"),
        (47 * HOUR, "47 h ago"),
        (2 * DAY, "2 days ago"),
        (-30, "just now"),
    ],
)
def test_an_age_has_the_one_unit_that_matters(seconds: int, words: str) -> None:
    assert age(seconds) == words


def test_what_is_long_past_or_still_to_come_is_a_date() -> None:
    now_s = EPOCH.timestamp()
    assert age_at(now_s - 61 * DAY, now_s, Zone()) == "15 Sep 09:30"
    assert age_at(now_s - 400 * DAY, now_s, Zone()) == "11 Oct 2025 09:30"
    assert age_at(now_s + HOUR, now_s, Zone()) == "10:30"
    assert wall_time(now_s - DAY, now_s, Zone(((0, 3600),))) == "14 Nov 10:30"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 s"),
        (42, "42 s"),
        (30 * 60, "30 min"),
        (2 * HOUR, "2 h"),
        (2 * HOUR + 600, "2 h 10 min"),
        (3 * DAY + HOUR, "3 days 1 h"),
    ],
)
def test_what_is_left_has_two_units(seconds: int, words: str) -> None:
    assert time_left(seconds) == words


def test_short_ids_are_short_where_they_tell_snapshots_apart() -> None:
    one, two, three = make_id(0, "aaaaaa"), make_id(1, "aaaaaa"), make_id(2, "bbbbbb")
    assert short_ids([one, two, three]) == {one: one, two: two, three: "bbbbbb"}
    assert short_id("foreign.tar.lz4") == "foreign.tar.lz4"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("in snapshot 20261115T093000Z-abcdef, read back", "in snapshot abcdef, read back"),
        ("`scratchflow restore 20261115T093000Z-abcdef` goes", "`scratchflow restore abcdef` goes"),
        ("it ended with 20261115T093000Z-abcdef.", "it ended with abcdef."),
        ("until 2026-11-15T19:52:13Z, then", "until 20:52, then"),
        ("since 2026-11-14T19:52:13Z", "since 14 Nov 20:52"),
    ],
)
def test_a_remark_is_shown_with_short_ids_and_local_times(text: str, read: str) -> None:
    assert for_people(text, EPOCH.timestamp(), Zone(((0, 3600),))) == read


@pytest.mark.parametrize(
    "name",
    [
        "`20261115T093000Z-abcdef.json`",
        "`20261115T093000Z-abcdef.tar.lz4` is missing",
        "`work/a.before-20261115T093000Z-abcdef`",
        "`work/20261115T093000Z-abcdef`",
        "`work/run-2026-11-15T19:52:13Z.log`",
        "`work/2026-11-15T19:52:13Z`",
        "`2026-11-15T19:52:13Z/log`",
    ],
)
def test_names_of_files_stay_as_they_are(name: str) -> None:
    assert for_people(name) == name


def test_an_id_says_when_its_snapshot_was_taken() -> None:
    assert taken_s(make_id(0)) == datetime(2026, 11, 15, 9, 30, tzinfo=timezone.utc).timestamp()
    assert taken_s("foreign.tar.lz4") is None


def test_commands_in_a_hint_name_the_profile_that_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hint = "`scratchflow clear` first; `scratchflow -p uni up`, `scratchflow profiles list`, `rm x`"
    assert for_people(hint) == hint
    monkeypatch.setattr(Wording, "profile", "gpu")
    assert for_people(hint) == (
        "`scratchflow -p gpu clear` first; `scratchflow -p uni up`, `scratchflow profiles list`, `rm x`"
    )
    second = for_people("`scratchflow --set workspace=p2 restore`")
    assert second == "`scratchflow -p gpu --set workspace=p2 restore`"
    assert for_people(for_people("`scratchflow up --gpus 2`")) == "`scratchflow -p gpu up --gpus 2`"


@pytest.mark.parametrize(
    ("hint", "read"),
    [
        ("`scratchflow restore`", "`scratchflow --config 'my file' --set workspace=p2 restore`"),
        (
            "`scratchflow run -- ls`",
            "`scratchflow --config 'my file' --set workspace=p2 run -- ls`",
        ),
        (
            "`scratchflow --set workspace=p3 create`",
            "`scratchflow --config 'my file' --set workspace=p3 create`",
        ),
        ("`scratchflow config set store X`", "`scratchflow --config 'my file' config set store X`"),
        ("`scratchflow profiles list`", "`scratchflow --config 'my file' profiles list`"),
        ("`scratchflow setup LOGIN`", "`scratchflow --config 'my file' setup LOGIN`"),
        ("`scratchflow sync aws`", "`scratchflow --config 'my file' sync aws`"),
    ],
)
def test_commands_in_a_hint_mean_the_workspace_and_the_file_that_were_given(
    monkeypatch: pytest.MonkeyPatch, hint: str, read: str
) -> None:
    monkeypatch.setattr(Wording, "config", "my file")
    monkeypatch.setattr(Wording, "overrides", ("workspace=p2", "slurm.time=10"))
    assert for_people(hint) == read
    assert for_people(read) == read


def test_a_hint_repeats_no_setting_that_a_profile_has_by_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Wording, "overrides", ("store=/s", "workspace=p2"))
    overrides_are_saved()
    assert for_people("`scratchflow -p small create`") == "`scratchflow -p small create`"


def test_a_value_that_would_break_the_hint_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wording, "overrides", ("workspace=`reboot`",))
    assert for_people("`scratchflow restore`") == "`scratchflow restore`"


def test_no_hint_sets_a_cluster_up_under_the_name_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Wording, "profile", "local")
    assert for_people("`scratchflow setup LOGIN`") == "`scratchflow setup LOGIN`"
    assert for_people("`scratchflow status`") == "`scratchflow -p local status`"
    monkeypatch.setattr(Wording, "profile", "uni")
    assert for_people("`scratchflow setup`") == "`scratchflow -p uni setup`"
    named = "`scratchflow setup uni --name NAME`"
    assert for_people(named) == named


@pytest.mark.parametrize(
    "text",
    [
        "no such snapshot: `2026-11-16T00:00:00Z`",
        "at 2026-11-16T23:59:60Z",
        "at 2026-13-01T00:00:00Z",
    ],
)
def test_what_was_typed_and_what_is_no_time_stays_as_it_is(text: str) -> None:
    assert for_people(text, now_s=0.0) == text


def test_an_id_from_the_future_is_shown_without_an_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: taken_s(make_id(0)) or 0)
    assert named(make_id(400 * 24 * 60, "dddddd")) == "dddddd"
    assert named(make_id(-30, "eeeeee")) == "eeeeee (30 min ago)"
