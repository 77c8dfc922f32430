"""For people: progress, warnings and errors on standard error, the result on standard output.

Every word that comes from elsewhere is printed as plain text: never as rich markup, an emoji
code or a terminal escape.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Any, cast

import msgspec

from scratchflow.model.ages import for_people, for_profile
from scratchflow.model.allocation import ENDING
from scratchflow.model.errors.base import ScratchflowError, exit_code_for
from scratchflow.model.events import (
    Answered,
    Asking,
    Checked,
    Event,
    Item,
    Log,
    Progress,
    State,
    Status,
    Warned,
)
from scratchflow.model.results.base import Result
from scratchflow.model.results.by_op import result_of
from scratchflow.model.text import printable, shown_path
from scratchflow.model.units import format_size
from scratchflow.model.wrap import Labelled, Whole, broken
from scratchflow.report.output import STDERR, STDOUT, Remarks, terminal_width, write_stdout

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.progress import Progress as Bars
    from rich.progress import TaskID
    from rich.text import Text


# What these print is all that they do: `--quiet` does not silence them.
ASKED_FOR = frozenset({"help", "version", "config get", "config path"})

_MILESTONE = "usable"
# A step that counts tells more of itself within this, unless it waits or nobody answers.
_SILENT_S = 10

Show = Callable[[Any], Iterable[str]]


def _nothing(_: Any) -> Iterable[str]:
    return ()


class _Picture(msgspec.Struct, frozen=True):
    """What is kept in sight, and when it was true."""

    result: Result
    at_s: float


class Human:
    """Tells a person in a terminal; quiet about progress when nobody watches."""

    def __init__(self, *, quiet: bool, verbose: bool, stderr: Console | None = None) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._warning_codes: set[str] = set()
        self._stderr = stderr
        self._bars: Bars | None = None
        self._phases: dict[str, TaskID] = {}
        self._op = ""
        self._show: Show = _nothing
        self._has_shown_status = False
        self._picture: _Picture | None = None
        self._live: Live | None = None
        self._open_questions = 0

    def begin(self, op: str, show: Show = _nothing) -> None:
        self._op, self._show = op, show

    def emit(self, event: Event) -> None:
        if isinstance(event, Progress):
            self._show_progress(event)
        elif isinstance(event, Warned):
            self._show_warning(event)
        elif isinstance(event, State):
            self._show_state(event)
        elif isinstance(event, Status):
            self._show_status(event)
        elif isinstance(event, Asking):
            self._open_questions += 1
            self.close()
        elif isinstance(event, Answered):
            self._open_questions -= 1
        elif isinstance(event, Checked):
            self._show_check(event)
        elif isinstance(event, Log) and self._wants(event):
            self._say("", printable(event.message))
        elif isinstance(event, Item) and self._verbose:
            path = shown_path(event.path, event.path_b64)
            self._say("", Whole(f"{printable(event.action)} {path}"))

    def _show_warning(self, event: Warned) -> None:
        self._warning_codes.add(event.code)
        if event.code == ENDING and self._live is not None:
            return  # the picture counts down
        path = shown_path(event.path, event.path_b64)
        where = f"`{path}`: " if path else ""
        self._say("warning", f"{where}{printable(event.message)}", "yellow")

    def succeed(self, result: Result, shown: Iterable[str]) -> int:
        self.close()
        if not self._quiet or self._op in ASKED_FOR:
            _print(shown)
        return result.exit_code() or exit_code_for(self._warning_codes)

    def fail(self, error: ScratchflowError) -> int:
        self.close()
        if error.is_choice:
            self._say("", str(error))
            return error.exit_code
        self._say("error", str(error), "bold red")
        self._say("hint", error.shown_hint, "cyan")
        return error.exit_code

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._stop_bars()

    def _stop_bars(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
            self._phases.clear()

    def _wants(self, event: Log) -> bool:
        return self._verbose or (event.level == "info" and not self._quiet)

    def _console(self) -> Console:
        if self._stderr is None:
            from rich.console import Console

            # Remarks: rich would end the process when the reader of its stream is gone.
            stderr = cast("IO[str]", Remarks())
            self._stderr = Console(file=stderr, markup=False, emoji=False, highlight=False)
        return self._stderr

    def _is_watched(self) -> bool:
        """Whether standard error is a terminal. rich is loaded only for one that may be."""
        is_known = self._stderr is not None or os.isatty(STDERR) or "FORCE_COLOR" in os.environ
        return is_known and self._console().is_terminal

    def _say(self, label: str, text: str, style: str = "") -> None:
        from rich.text import Text

        label = f"{label}: " if label else ""
        # While a picture is kept in sight, whatever else is said goes above it.
        console = self._live.console if self._live else self._console()
        width = None if isinstance(text, Whole) else _width_of(console)
        line = Text("\n".join(broken(f"{label}{for_people(text)}", width)))
        line.stylize(style, 0, len(label))
        # soft_wrap: rich breaks nothing, because it would break a command that is to be copied.
        console.print(line, soft_wrap=True)

    def _show_check(self, event: Checked) -> None:
        if event.ok and self._quiet:
            return
        self._stop_bars()
        from rich.text import Text

        from scratchflow.report.checks import check_lines

        for number, line in enumerate(
            check_lines(event.name, event.detail, event.fix, ok=event.ok)
        ):
            shown = Text("\n".join(broken(line, _width_of(self._console()), _indent(line))))
            if number == 0:
                shown.stylize("green" if event.ok else "bold red", 0, 1)
            self._console().print(shown, soft_wrap=True)

    def _show_state(self, event: State) -> None:
        if event.state == "running":
            self.close()  # what was waited for is here
        if self._quiet:
            return
        job = f", job {event.job_id}" if event.job_id is not None else ""
        node = f" on `{printable(event.node)}`" if event.node else ""
        reason = f": {printable(event.reason)}" if event.reason else ""
        start = f"; expected to start at {event.start_estimate}" if event.start_estimate else ""
        self._say("", f"{printable(event.state)}{node}{job}{reason}{start}")

    def _show_status(self, event: Status) -> None:
        """In a terminal one picture that changes; elsewhere one after the other, an empty line between."""
        picture = msgspec.convert(event.data, result_of(self._op))
        self._stop_bars()
        if os.isatty(STDOUT):
            self._keep_in_sight(picture)
            return
        lines = list(self._show(picture))
        _print([*([""] if self._has_shown_status else []), *lines])
        self._has_shown_status = True

    def _keep_in_sight(self, picture: Result) -> None:
        """Drawn anew every second with the time that has passed since; nobody is asked for that."""
        self._picture = _Picture(picture, time.monotonic())
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(markup=False, emoji=False, highlight=False)
            self._live = Live(
                console=console, get_renderable=self._drawn, refresh_per_second=1, transient=False
            )
            self._live.start()
        self._live.refresh()

    def _drawn(self) -> Text:
        from rich.text import Text

        lines: Iterable[str] = ()
        if self._picture is not None:
            passed_s = time.monotonic() - self._picture.at_s
            lines = self._show(self._picture.result.after(passed_s))
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

    def _show_progress(self, event: Progress) -> None:
        if self._quiet or self._open_questions or not self._is_watched():
            return
        if event.phase == _MILESTONE:  # for programs: the files that count most are there
            return
        bars = self._bars or self._start_bars()
        task = self._phases.get(event.phase)
        if task is None:
            for earlier in self._phases.values():  # one bar at a time: what is done is done
                bars.update(earlier, visible=False)
            task = bars.add_task(printable(event.phase), total=None, amounts="", heard_at=0)
            self._phases[event.phase] = task
        total, done = event.bytes_total, event.bytes_done
        if not total and not done:
            total, done = event.files_total, event.files_done
        bars.update(
            task,
            total=total,
            completed=done,
            amounts=_amounts(event),
            heard_at=bars.get_time(),
        )

    def _start_bars(self) -> Bars:
        from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
        from rich.progress import Progress as Bars
        from rich.text import Text

        class Clock(ProgressColumn):
            """Goes on behind a full bar: what was counted is done, the step is not. Of one that counts it says when nothing is heard."""

            def render(self, task: Task) -> Text:
                silent_s = int(task.get_time() - task.fields["heard_at"])
                if task.fields["amounts"] and silent_s >= _SILENT_S:
                    return Text(f"no news for {silent_s} s")
                return Text(str(timedelta(seconds=int(task.elapsed or 0))))

        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[amounts]}", markup=False),
            Clock(),
            console=self._console(),
            transient=True,
        )
        self._bars.start()
        return self._bars


def _width_of(console: Console) -> int | None:
    """Columns of the terminal; None where nothing limits a line. With FORCE_COLOR a pipe is none either."""
    return console.width if console.file.isatty() else None


def _print(lines: Iterable[str]) -> None:
    width = terminal_width()
    text = "".join(f"{line}\n" for one in lines for line in _on_terminal(one, width))
    write_stdout(text.encode("utf-8", "surrogateescape"))


def _on_terminal(line: str, width: int | None) -> list[str]:
    """A line of the result, as lines that the terminal need not break."""
    named = for_profile(line)
    if isinstance(line, Whole):
        return [named]
    return broken(named, width, _indent(line))


def _indent(line: str) -> str:
    """Where a broken line goes on: beneath its first word, behind a mark or an indent of its own."""
    if isinstance(line, Labelled):
        return " " * line.column
    return " " * (len(line) - len(line.lstrip(" ✓✗")))


def _amounts(event: Progress) -> str:
    if event.files_total is None and not event.files_done and not event.bytes_done:
        return ""  # a step whose size nobody knows yet
    files = f"{event.files_done:,}"
    if event.files_total is not None:
        files += f" of {event.files_total:,}"
    size = format_size(event.bytes_done)
    if event.bytes_total is not None:
        size += f" of {format_size(event.bytes_total)}"
    return f"{files} files, {size}"
