"""What people see: every name as it is, progress in a terminal only, data on standard output."""

from __future__ import annotations

import io
import signal
from typing import Any

import pytest
from rich.console import Console

from scratchflow.model.ages import at
from scratchflow.model.errors.base import ClockUnusable, Declined, EndedBySignal, ScratchflowError
from scratchflow.model.errors.config import ConfigMissing, SetupCancelled
from scratchflow.model.errors.snapshots import RemovalDeclined, SnapshotMissing
from scratchflow.model.events import (
    Answered,
    Asking,
    Checked,
    Item,
    Log,
    Progress,
    State,
    Status,
    Warned,
)
from scratchflow.model.results.base import VersionShown
from scratchflow.report import output
from scratchflow.report.human import Human

RESULT = VersionShown(version="1")


def human(*, terminal: bool = False, **flags: bool) -> tuple[Human, io.StringIO]:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=60, color_system=None)
    return Human(
        quiet=flags.get("quiet", False), verbose=flags.get("verbose", False), stderr=console
    ), text


def test_a_rich_hostile_file_name_is_printed_as_it_is() -> None:
    reporter, text = human()
    reporter.fail(ConfigMissing(path="/w/data[/]train].bin"))
    assert "`/w/data[/]train].bin`" in text.getvalue()


def test_a_clock_that_nobody_can_read_is_told_without_a_look_at_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absurd() -> float:
        raise OverflowError("timestamp too large to convert to C _PyTime_t")

    monkeypatch.setattr("time.time", absurd)
    reporter, text = human()
    assert reporter.fail(ClockUnusable()) == ClockUnusable.exit_code
    assert "error: this machine's clock shows a year after 2262" in text.getvalue()


@pytest.mark.parametrize("name", ["[red]x[/red]", ":smile:", "[link=file:///x]y", "a\\[b]"])
def test_markup_and_emoji_codes_are_only_text(name: str) -> None:
    reporter, text = human(terminal=True)
    reporter.emit(Warned(code="x", message=name, path=name))
    assert text.getvalue() == f"warning: `{name}`: {name}\n"


def test_a_terminal_escape_in_a_name_does_not_reach_the_terminal() -> None:
    reporter, text = human(terminal=True)
    reporter.emit(Warned(code="x", message="m", path="\x1b]0;owned\x07"))
    assert "\x1b" not in text.getvalue()
    assert r"\x1b]0;owned\x07" in text.getvalue()


def test_a_long_error_is_not_broken_into_lines() -> None:
    reporter, text = human()
    error: ScratchflowError = SnapshotMissing(wanted="x" * 200, next_step="y" * 200)
    reporter.fail(error)
    assert text.getvalue().count("\n") == 2


def test_what_the_user_chose_is_no_error_and_has_no_next_step() -> None:
    for ended, said in {
        Declined.by_answer(): "nothing was changed\n",
        RemovalDeclined(): "nothing was removed\n",
        SetupCancelled(login="aws"): "nothing was saved\n",
        EndedBySignal(signal.SIGINT): "Cancelled.\n",
    }.items():
        reporter, text = human()
        assert reporter.fail(ended) == ended.exit_code
        assert text.getvalue() == said


def test_progress_is_shown_in_a_terminal_only() -> None:
    for terminal in (True, False):
        reporter, text = human(terminal=terminal)
        reporter.emit(Progress(phase="read [/]", files_done=1, bytes_done=5, bytes_total=10))
        reporter.close()
        assert ("read [/]" in text.getvalue()) == terminal


def test_a_step_of_unknown_size_shows_no_numbers() -> None:
    reporter, text = human(terminal=True)
    reporter.emit(Progress(phase="scan"))
    reporter.close()
    assert "scan" in text.getvalue()
    assert "files" not in text.getvalue()


def test_a_milestone_for_programs_is_no_bar() -> None:
    reporter, text = human(terminal=True)
    reporter.emit(Progress(phase="usable"))
    reporter.close()
    assert text.getvalue() == ""


class Clocked:
    """A reporter in a terminal of 80 columns, whose clock is set by hand."""

    def __init__(self) -> None:
        self.now_s, self.text = 100.0, io.StringIO()
        console = Console(
            file=self.text, force_terminal=True, width=80, get_time=lambda: self.now_s
        )
        self.reporter = Human(quiet=False, verbose=False, stderr=console)

    def hear(self, done: int | None = None) -> None:
        amounts: dict[str, Any] = {} if done is None else {"files_done": done, "files_total": 9}
        self.reporter.emit(Progress(phase="store", **amounts))

    def shown_after(self, seconds: float) -> str:
        """What is drawn so much later."""
        self.now_s += seconds
        assert self.reporter._bars is not None
        before = len(self.text.getvalue())
        self.reporter._bars.refresh()
        return self.text.getvalue()[before:]


def test_the_clock_goes_on_behind_a_full_bar() -> None:
    clocked = Clocked()
    clocked.hear(9)
    clocked.now_s += 20
    clocked.hear(9)
    assert "0:00:20" in clocked.shown_after(0)
    clocked.reporter.close()


def test_a_step_of_which_nothing_is_heard_says_so() -> None:
    clocked = Clocked()
    clocked.hear(3)
    assert "0:00:09" in clocked.shown_after(9)
    assert "3 of 9 files, 0 B no news for 12 s" in clocked.shown_after(3)
    clocked.hear(4)
    assert "0:00:12" in clocked.shown_after(0)
    clocked.reporter.close()


def test_a_question_that_is_not_answered_yet_has_its_clock_alone() -> None:
    clocked = Clocked()
    clocked.hear()
    assert "0:00:30" in clocked.shown_after(30)
    clocked.reporter.close()


def test_a_wait_is_told_with_its_reason_and_estimate() -> None:
    reporter, text = human()
    reporter.emit(
        State(
            state="pending",
            previous=None,
            reason="other jobs come first",
            job_id=7,
            start_estimate="2026-01-01T10:00:00Z",
        )
    )
    reporter.emit(State(state="running", previous="pending", job_id=7, node="node-1"))
    assert text.getvalue().splitlines() == [
        f"pending, job 7: other jobs come first; expected to start at {at('2026-01-01T10:00:00Z')}",
        "running on `node-1`, job 7",
    ]


def test_a_wait_that_is_over_leaves_the_terminal_to_others() -> None:
    reporter, text = human(terminal=True)
    reporter.emit(Progress(phase="waiting for a node"))
    reporter.emit(State(state="running", previous="pending"))
    assert text.getvalue().rstrip().endswith("running")
    reporter.emit(Progress(phase="waiting for a node"))
    reporter.close()


def test_each_picture_of_a_watch_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    reporter, _ = human()
    reporter.begin("version", lambda shown: [f"version {shown.version}"])
    reporter.emit(Status(data={"version": "1"}))
    reporter.emit(Status(data={"version": "2"}))
    assert capfd.readouterr().out == "version 1\n\nversion 2\n"


def test_quiet_keeps_warnings_and_errors() -> None:
    reporter, text = human(quiet=True)
    reporter.emit(Log(level="info", message="chatter"))
    reporter.emit(State(state="pending", previous=None, reason="chatter"))
    reporter.emit(Warned(code="x", message="mind this"))
    assert text.getvalue() == "warning: mind this\n"


@pytest.mark.parametrize(("op", "printed"), [("backup", ""), ("config get", "the value\n")])
def test_quiet_prints_no_result_unless_that_is_all_the_command_does(
    capfd: pytest.CaptureFixture[str], op: str, printed: str
) -> None:
    reporter, _ = human(quiet=True)
    reporter.begin(op)
    reporter.succeed(RESULT, ["the value"])
    assert capfd.readouterr().out == printed


def test_a_remark_nobody_can_read_is_dropped(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reporter = Human(quiet=False, verbose=True)
    with open("/dev/full", "wb") as full:
        monkeypatch.setattr(output, "STDERR", full.fileno())
        reporter.emit(Warned(code="files.changed", message="m"))
        reporter.emit(Log(level="debug", message="m"))
        assert reporter.succeed(RESULT, ["one"]) == 101
        assert reporter.fail(ConfigMissing(path="x")) == 10
    assert capfd.readouterr().out == "one\n"


def test_the_result_goes_to_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    reporter, text = human()
    assert reporter.succeed(RESULT, ["one", "two"]) == 0
    assert capfd.readouterr().out == "one\ntwo\n"
    assert text.getvalue() == ""


def test_no_bar_runs_while_a_question_is_open() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    human = Human(quiet=False, verbose=False, stderr=console)
    human.emit(Progress(phase="sending the agent"))
    human.emit(Asking())
    before = screen.getvalue()
    human.emit(Progress(phase="sending the agent"))
    human.emit(Asking())  # ssh asks inside a question of ours
    human.emit(Answered())
    human.emit(Progress(phase="sending the agent"))
    assert screen.getvalue() == before
    human.emit(Answered())
    human.emit(Progress(phase="another step"))
    human.close()
    assert "another step" in screen.getvalue()


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_terminal", [True, False])
def test_on_a_terminal_lines_are_broken_at_spaces_but_no_command_is(is_terminal: bool) -> None:
    text = _Screen() if is_terminal else io.StringIO()
    # A pipe is coloured where FORCE_COLOR asks for it, and still nothing is broken in it.
    console = Console(file=text, force_terminal=True, width=40, color_system=None)
    reporter = Human(quiet=False, verbose=True, stderr=console)
    reporter.emit(
        Log(level="info", message="there is none; `scratchflow snapshots list` shows all")
    )
    reporter.emit(
        Checked(
            name="store", ok=False, detail="not there", fix="make it with `mkdir -p /fsx/me/xyz`"
        )
    )
    reporter.emit(Item(action="write", path="a long name with spaces in it, and more of them.txt"))
    assert text.getvalue().splitlines() == [
        *(
            ["there is none;", "`scratchflow snapshots list` shows all"]
            if is_terminal
            else ["there is none; `scratchflow snapshots list` shows all"]
        ),
        "✗ store: not there",
        *(
            ["  fix: make it with", "  `mkdir -p /fsx/me/xyz`"]
            if is_terminal
            else ["  fix: make it with `mkdir -p /fsx/me/xyz`"]
        ),
        "write a long name with spaces in it, and more of them.txt",
    ]
