"""`backup`, once it is parsed: who is asked, and what is said of what was saved."""

from __future__ import annotations

import io
import signal
import sys
from typing import Any

import msgspec
import pytest

from scratchflow.cli import backup_call as module
from scratchflow.cli import questions
from scratchflow.cli.backup_call import backup_call, shown
from scratchflow.config.settings import Asked
from scratchflow.dispatch import cluster
from scratchflow.dispatch.cluster import Caller
from scratchflow.model.errors.base import EndedBySignal
from scratchflow.model.errors.by_code import error_from_agent
from scratchflow.model.errors.workspace import ShrinkGuard
from scratchflow.model.requests import Backup
from scratchflow.model.results.backup import BackupTaken
from scratchflow.process.interrupted import Interrupted

WHO = Caller(asked=Asked(), environment={}, may_ask=True)
SAVED = BackupTaken(
    kind="unchanged",
    snapshot="20261115T103000Z-570643",
    parent=None,
    files=0,
    bytes=0,
    changed_files=0,
    changed_bytes=0,
    stored_bytes=0,
    duration_s=0.0,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[Backup]:
    """What is asked of the node: it refuses as long as nobody agreed."""
    found: list[Backup] = []

    def at_workspace(_: str, request: Backup, *__: Any, **___: Any) -> BackupTaken:
        found.append(request)
        if not request.allow_shrink:
            raise error_from_agent(
                "backup.shrink_guard", "it shrank", "go on", retryable=False, exit_code=36
            )
        return SAVED

    monkeypatch.setattr(cluster, "at_workspace", at_workspace)
    return found


@pytest.mark.parametrize("agrees", [True, False])
def test_a_person_is_asked_before_a_shrunken_workspace_is_saved(
    agrees: bool, asked_for: list[Backup], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(questions, "confirmed", lambda *_: agrees)
    call = backup_call(WHO, Backup(message="now"))
    if agrees:
        assert call.flow(lambda _: None) is SAVED
        assert [(one.message, one.allow_shrink) for one in asked_for] == [
            ("now", False),
            ("now", True),
        ]
    else:
        with pytest.raises(ShrinkGuard):
            call.flow(lambda _: None)
        assert len(asked_for) == 1


@pytest.mark.usefixtures("asked_for")
@pytest.mark.parametrize("why", ["no terminal", "json", "dry run"])
def test_nobody_else_is(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO() if why == "no terminal" else Terminal())
    monkeypatch.setattr(module, "_agrees", lambda *_: pytest.fail("a question"))
    who = Caller(asked=Asked(), environment={}, may_ask=why != "json")
    with pytest.raises(ShrinkGuard):
        backup_call(who, Backup(dry_run=why == "dry run")).flow(lambda _: None)


def test_an_unchanged_workspace_is_told_so() -> None:
    (line,) = shown(msgspec.structs.replace(SAVED, path="/s/work"))
    assert line.startswith("nothing changed in `/s/work` since snapshot 570643")


def test_an_end_in_the_middle_says_that_a_complete_snapshot_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cut(*_: Any, **__: Any) -> BackupTaken:
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(cluster, "at_workspace", cut)
    with pytest.raises(EndedBySignal) as caught:
        backup_call(WHO, Backup()).flow(lambda _: None)
    assert str(caught.value).startswith("Cancelled. A snapshot that was complete by then stays")
    with pytest.raises(Interrupted):  # which has nothing to leave behind
        backup_call(WHO, Backup(dry_run=True)).flow(lambda _: None)
