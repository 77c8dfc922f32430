"""Other people's words lead to commands."""

from __future__ import annotations

import pytest

from scratchflow.cli.other_words import (
    OTHER_WORDS,
    OTHER_WORDS_OF_JOBS,
    OTHER_WORDS_OF_PROFILES,
    OTHER_WORDS_OF_SNAPSHOTS,
    meant_after_snapshots,
    meant_by_snapshot,
)
from scratchflow.cli.verbs import VERBS
from tests.unit.cli.test_help import COMMANDS


def test_other_words_lead_to_commands_and_hide_none() -> None:
    assert not OTHER_WORDS.keys() & VERBS.keys()
    for command in OTHER_WORDS.values():
        assert command.partition("--")[0].removesuffix("ID").strip() in COMMANDS


def test_other_words_after_jobs_lead_to_commands_and_hide_none() -> None:
    own = {words.removeprefix("jobs ") for words in COMMANDS if words.startswith("jobs ")}
    assert not OTHER_WORDS_OF_JOBS.keys() & own
    for command in OTHER_WORDS_OF_JOBS.values():
        assert command.partition(" -")[0] in COMMANDS


def test_other_words_after_profiles_lead_to_commands_and_hide_none() -> None:
    own = {words.removeprefix("profiles ") for words in COMMANDS if words.startswith("profiles ")}
    assert not OTHER_WORDS_OF_PROFILES.keys() & own
    assert {command.partition(" ")[0] for command in OTHER_WORDS_OF_PROFILES.values()} <= own


def test_other_words_after_snapshots_lead_to_commands_and_hide_none() -> None:
    own = {words.removeprefix("snapshots ") for words in COMMANDS if words.startswith("snapshots ")}
    assert not OTHER_WORDS_OF_SNAPSHOTS.keys() & own
    for command in OTHER_WORDS_OF_SNAPSHOTS.values():
        assert command.partition(" -")[0] in COMMANDS


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("rm 570643", "snapshots prune 570643"),
        ("delete -y 570643 latest~2", "snapshots prune 570643 latest~2"),
        ("ls", "snapshots list"),
        ("ls -v", "snapshots list"),
        ("rollback 570643", "restore 570643"),
        ("take now", "backup"),
        ("570643", "snapshots show 570643"),
        ("latest~1", "snapshots show latest~1"),
        ("xyzzy", ""),
    ],
)
def test_after_snapshots_the_named_ones_come_along(line: str, meant: str) -> None:
    assert meant_after_snapshots(line.split()) == meant


@pytest.mark.parametrize(
    ("rest", "meant"),
    [
        ("", "backup"),
        ("-m first", "backup"),
        ("list", "snapshots list"),
        ("xyzzy", "snapshots"),
        ("show latest", "snapshots show latest"),
        ("rm 570643", "snapshots prune 570643"),
        ("570643", "snapshots show 570643"),
    ],
)
def test_snapshot_with_a_word_after_it_means_snapshots(rest: str, meant: str) -> None:
    assert meant_by_snapshot(rest.split()) == meant
