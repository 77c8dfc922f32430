"""What `restore` says at its end, and when it is cut short."""

from __future__ import annotations

import signal
from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.call import Call, telling_what_an_end_means
from scratchflow.cli.restore_call import (
    _CUT_SHORT,
    _telling_of_this_shell,
    shown_restored,
)
from scratchflow.model.errors.base import EndedBySignal
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import Emit, Event, Log, Progress
from scratchflow.model.results.restore import Restored
from scratchflow.process.interrupted import Interrupted

RESTORED = Restored(
    snapshot="20261115T195140Z-570643",
    mode="full",
    target="/home/a/results",
    files=9,
    bytes=9,
    written_files=1,
    written_bytes=1,
    duration_s=0.1,
    place="/home/a/results/results",
)


def test_what_was_taken_elsewhere_is_named_where_it_is() -> None:
    (line,) = shown_restored(RESTORED)
    assert line.startswith("`/home/a/results/results` from snapshot ")


def test_an_end_in_the_middle_says_what_it_left_and_the_two_ways_on() -> None:
    def cut(_: Emit) -> Restored:
        raise Interrupted(signal.SIGINT)

    call = telling_what_an_end_means(Call("restore", cut, lambda _: ()), _CUT_SHORT)
    with pytest.raises(EndedBySignal) as caught:
        call.flow(lambda _: None)
    assert str(caught.value).startswith("Cancelled. If files were written already")
    assert "`scratchflow restore --abandon`" in str(caught.value)
    assert caught.value.exit_code == 130


@pytest.mark.parametrize("files", [0, 3])
def test_a_connection_that_was_lost_in_the_middle_says_what_may_be_there(files: int) -> None:
    def cut(emit: Emit) -> Restored:
        emit(Progress(phase="restore", files_done=files))
        raise ConnectionLost(host="login", reason="it was closed")

    heard: list[Event] = []
    call = telling_what_an_end_means(Call("restore", cut, lambda _: ()), _CUT_SHORT)
    with pytest.raises(ConnectionLost) as caught:
        call.flow(heard.append)
    assert ("`scratchflow restore --abandon`" in caught.value.shown_hint) == bool(files)
    assert len(heard) == 1


def test_a_shell_in_the_directory_that_was_replaced_is_told_how_to_get_into_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def heard(replaces: bool) -> list[Event]:
        def flow(_: Emit) -> Restored:
            if replaces:
                work.rename(tmp_path / "work.before")
                work.mkdir()
            return RESTORED

        events: list[Event] = []
        _telling_of_this_shell(Call("restore", flow, shown_restored)).flow(events.append)
        return events

    assert heard(replaces=False) == []
    (event,) = heard(replaces=True)
    assert isinstance(event, Log)
    assert "`cd .`" in event.message


def test_a_dry_run_says_which_snapshots_would_be_taken_in_one_line() -> None:
    tried = msgspec.structs.replace(RESTORED, dry_run=True, would_save=True, would_commit=True)
    *_, line = shown_restored(tried)
    assert line.startswith("would first save what is there in a safety snapshot, and add a snap")
    (_,) = shown_restored(msgspec.structs.replace(RESTORED, dry_run=True))
