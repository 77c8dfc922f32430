"""How `sync` is typed, and what it says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.cli import sync as module
from scratchflow.cli.questions import TerminalAsker
from scratchflow.cli.verbs import parse
from scratchflow.cluster.unison.words import Change
from scratchflow.flows.sync import sync as flow
from scratchflow.flows.sync.sync import SyncWanted
from scratchflow.model.errors.base import Declined, UsageInvalid
from scratchflow.model.results.base import ProfileFailure
from scratchflow.model.results.sync import (
    Conflict,
    LastPair,
    PathProblem,
    PlannedChange,
    Synced,
    SyncedPair,
    SyncRecalled,
)

AWAY = ProfileFailure(
    profile="mila",
    login="m",
    code="connection.lost",
    message="no connection to `m`: timed out",
    hint="check network and VPN; then `scratchflow sync mila` syncs it",
    exit_code=14,
)


def _synced(**pair: Any) -> Synced:
    return Synced(first="uni", folders=["p"], pairs=[SyncedPair(profile="aws", **pair)])


def test_what_stands_after_the_dashes_goes_to_unison(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[SyncWanted] = []

    def sync(_caller: object, _emit: object, wanted: SyncWanted, _person: object) -> Synced:
        seen.append(wanted)
        return _synced()

    monkeypatch.setattr(flow, "sync", sync)
    parse(["sync", "aws", "--dry-run", "--", "-fastcheck", "false"]).flow(lambda _: None)
    assert seen == [SyncWanted(profiles=("aws",), dry_run=True, more=("-fastcheck", "false"))]


@pytest.mark.parametrize(
    "line",
    [
        "sync --interactive --prefer newer",
        "sync --interactive --json",
        "sync --watch --dry-run",
        "sync --watch --every soon",
        "sync -- -batch",
        "sync --last --dry-run",
        "sync --last aws",
        "sync -- -ignore x -ui=graphic",
    ],
)
def test_what_cannot_work_is_refused(line: str) -> None:
    with pytest.raises(UsageInvalid):
        parse(line.split())


def test_paths_are_taken_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[SyncWanted] = []

    def sync(_caller: object, _emit: object, wanted: SyncWanted, _person: object) -> Synced:
        seen.append(wanted)
        return _synced()

    monkeypatch.setattr(flow, "sync", sync)
    parse(["sync", "--path", "p/a", "--path", "p/b", "--prefer", "uni"]).flow(lambda _: None)
    assert seen == [SyncWanted(paths=("p/a", "p/b"), prefer="uni")]


@pytest.mark.parametrize("pair", [{"equal": True}, {"conflicts": ["p/a"]}, {"full_homes": ["uni"]}])
def test_one_that_could_not_be_synced_is_named_and_gives_the_exit_code(pair: Any) -> None:
    done = msgspec.structs.replace(_synced(**pair), failed=[AWAY])
    assert done.exit_code() == 14
    lines = list(module.shown(done))
    assert lines[lines.index("✗ mila (m): no connection to `m`: timed out") + 1] == (
        "  hint: check network and VPN; then `scratchflow sync mila` syncs it"
    )


def test_conflicts_are_named_and_give_the_exit_code() -> None:
    done = _synced(conflicts=["p/a"], to_profile=2000, deleted=1234)
    lines = list(module.shown(done))
    assert done.exit_code() == 41
    assert _synced(conflicts=["p/a"], full_homes=["aws"]).exit_code() == 33
    assert lines[0] == (
        "brought 2,000 to `aws` and 0 to `uni` (changed paths, 1,234 of them deletions)"
    )
    assert "  conflict: p/a" in lines
    assert "--interactive" in lines[-1]


def test_a_conflict_about_permissions_is_told_as_that() -> None:
    done = _synced(conflicts=["p/a", "p/b"], same_contents=["p/b"])
    assert list(module.shown(done))[:2] == [
        "  conflict: p/a",
        "  conflict: p/b (same contents, different permissions)",
    ]


def test_what_failed_and_was_named_by_a_warning_is_not_named_again() -> None:
    done = _synced(failed=[PathProblem(path="p/b", reason="no space")])
    assert done.exit_code() == 103
    (line,) = module.shown(done)
    assert line.endswith("are equal but for what is named above")


def test_equal_homes_are_called_so() -> None:
    assert list(module.shown(_synced(equal=True))) == ["`uni` and `aws` are equal"]


def test_homes_are_not_called_equal_beside_what_was_not_synced() -> None:
    done = _synced(skipped=[PathProblem(path="p/b", reason="Permission denied")])
    assert done.exit_code() == 103
    assert list(module.shown(done)) == ["`uni` and `aws` are equal but for what is named above"]


def test_a_dry_run_lists_what_would_happen() -> None:
    pair = SyncedPair(
        profile="aws",
        to_profile=1,
        plan=[PlannedChange(path="p/x", action="deleted, to aws")],
    )
    done = Synced(first="uni", folders=["p"], pairs=[pair], dry_run=True)
    first, second = module.shown(done)
    assert first.startswith("would bring 1 to `aws`")
    assert second == "  deleted, to aws: p/x"


def test_a_test_says_that_it_works() -> None:
    pair = SyncedPair(profile="aws", version="unison version 2.52.1")
    done = Synced(first="uni", folders=["p"], pairs=[pair], test=True)
    assert list(module.shown(done)) == ["`uni` and `aws` can be synced (unison version 2.52.1)"]


class Answers(TerminalAsker):
    def __init__(self, *answers: str, can_ask: bool = True) -> None:
        super().__init__(lambda _: None, may_ask=True, yes=False)
        self._answers, self._can_ask = iter(answers), can_ask

    @property
    def can_ask(self) -> bool:
        return self._can_ask

    def _read(self, prompt: str) -> str:  # noqa: ARG002 - as the real one
        answer = next(self._answers)
        if answer == "EOF":
            raise Declined(what="x", by_hand="y")
        return answer


def test_nobody_is_asked_where_nobody_sits() -> None:
    person = module._person(Answers(can_ask=False), interactive=False)
    assert (person.allow, person.decide) == (None, None)
    with pytest.raises(Declined):
        module._person(Answers(can_ask=False), interactive=True)


@pytest.mark.parametrize(("answer", "agreed"), [("y", True), ("", False), ("EOF", False)])
def test_deletions_take_a_yes(answer: str, agreed: bool) -> None:
    person = module._person(Answers(answer), interactive=False)
    assert person.decide is None
    assert person.allow is not None
    assert person.allow("aws", 60, 200) is agreed


def test_the_question_about_deletions_is_broken_between_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    asker = Answers("n")
    shown: list[str] = []
    monkeypatch.setattr(asker, "tell", shown.extend)
    person = module._person(asker, interactive=False)
    assert person.allow is not None
    person.allow("aws", 60, 200)
    assert all(len(line) < 80 for line in shown)
    assert "`scratchflow sync -- -ignorearchives`" in " ".join(shown)
    assert any("`scratchflow sync -- -ignorearchives`" in line for line in shown)


@pytest.mark.parametrize(("answer", "winner"), [("f", "first"), ("o", "other"), ("", "neither")])
def test_a_conflict_is_skipped_unless_somebody_decides(answer: str, winner: str) -> None:
    person = module._person(Answers(answer), interactive=True)
    assert person.decide is not None
    change = Change(b"p/\xff", "conflict", "changed", "deleted")
    assert person.decide(change, "uni", "aws") == winner


def test_the_last_sync_is_told_with_its_conflicts() -> None:
    conflict = Conflict(path="p/a", first="changed", other="deleted")
    pairs = [
        LastPair(
            profile="aws", synced_age_s=720, to_profile=3, conflicts=[conflict], conflict_count=5
        ),
        LastPair(profile="mila", left=[PathProblem(path="p/b", reason="no space")]),
    ]
    recalled = SyncRecalled(first="uni", folders=["p"], pairs=pairs)
    assert list(module.last_shown(recalled)) == [
        "`uni` and `aws`: synced 12 min ago (3 to `aws`, 0 to `uni`)",
        "  conflict: p/a (changed on `uni`, deleted on `aws`)",
        "  and 4 more",
        "`uni` and `mila`: not synced from this machine yet",
        "  not synced: p/b: no space",
        "`scratchflow sync --path PATH --prefer PROFILE` decides about one of them",
    ]
