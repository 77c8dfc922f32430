"""The base of all errors, and those that any command can end with: wrong usage, output that fails, a signal, a bug.

One class per failure: the class *is* its stable code, exit code, message and hint. Scripts may
rely on `code` and `exit_code`; wording may change.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import ClassVar

from scratchflow.model.text import printable


class _Field(str):
    """A field as message and hint take it: `{path}` as it is, `{path:sh}` as one word for a shell."""

    __slots__ = ()

    def __format__(self, how: str) -> str:
        if how != "sh":
            return super().__format__(how)
        from shlex import quote  # not for every start

        return quote(self)


class ScratchflowError(Exception):
    """A failure that was foreseen: it has a code, an exit code, and a next step."""

    code: str
    exit_code: int
    message: ClassVar[str]
    hint: ClassVar[str]
    retryable: bool = False
    bug: ClassVar[bool] = False
    # Whether the user ended it here, by Ctrl-C or a no: people are told what that means, and neither an error nor a next step.
    is_choice: bool = False
    _agent_hint: str | None = None

    def __init__(self, **fields: object) -> None:
        # Fields hold foreign text (file names, Slurm's words): escaped once, here.
        self.fields = {name: printable(value) for name, value in fields.items()}
        super().__init__(self._filled_in(self.message))

    @property
    def shown_hint(self) -> str:
        """The next step, with the fields of this failure filled in."""
        if self._agent_hint is not None:
            return self._agent_hint
        return self._filled_in(self.hint)

    def _filled_in(self, text: str) -> str:
        return text.format_map({name: _Field(value) for name, value in self.fields.items()})

    def rephrase(self, change: Callable[[str], str]) -> None:
        """Changes what it says, and the next step: whoever asked knows more than the one who failed."""
        self.args = (change(str(self)),)
        self._agent_hint = change(self.shown_hint)

    def begin_with(self, words: str) -> None:
        """Puts before what it says what it is about."""
        self.args = (f"{words}{self}",)

    def add_step(self, words: str) -> None:
        """One more thing to know, behind the next step."""
        self._agent_hint = f"{self.shown_hint}; {words}"

    @classmethod
    def field_names(cls) -> set[str]:
        """The fields that message and hint need."""
        from string import Formatter  # for the documentation; not for every start

        parsed = [*Formatter().parse(cls.message), *Formatter().parse(cls.hint)]
        return {name for _, name, _, _ in parsed if name}


class InternalBug(ScratchflowError):
    """scratchflow itself failed in a way nobody foresaw."""

    code = "internal.bug"
    exit_code = 1
    message = "internal error: {error}"
    hint = "this is a bug in scratchflow; please report it with {report}"
    bug = True


class OutputFailed(ScratchflowError):
    """Standard output could not be written (full disk, closed descriptor)."""

    code = "output.failed"
    exit_code = 1
    message = "cannot write the output: {error}"
    hint = "free some space, or send the output elsewhere"


class ClockUnusable(ScratchflowError):
    """The machine's clock shows a time that no snapshot, lock or log can carry."""

    code = "clock.unusable"
    exit_code = 10
    message = "this machine's clock shows a year after 2262 or before 1677; nothing was done"
    hint = (
        "`date` shows what it is set to; set it right, or ask your cluster's staff, then try again"
    )


class UsageInvalid(ScratchflowError):
    """The command line was not understood."""

    code = "usage.invalid"
    exit_code = 2
    message = "{problem}"
    hint = "`{command} --help` shows what is possible"


class CommandUnknown(UsageInvalid):
    """There is no such command; a program that asked for one may need a newer scratchflow."""

    code = "usage.unknown_command"


class ParameterInvalid(ScratchflowError):
    """A parameter of an experiment, or a place for one in its command, is not possible."""

    code = "usage.parameter"
    exit_code = 2
    message = "`{given}`: {problem}"
    hint = "nothing was submitted; a value that holds a comma stands in double quotes"


class SpecInvalid(ScratchflowError):
    """The file that describes an experiment cannot be used."""

    code = "usage.spec"
    exit_code = 2
    message = "cannot use the spec `{path}`: {problem}"
    hint = "correct the file and try again; nothing was submitted"


class Declined(ScratchflowError):
    """The user was asked and did not agree, or could not be asked."""

    code = "usage.declined"
    exit_code = 2
    message = "{what} was not confirmed; nothing was changed"
    hint = "run it again with `--yes`, or make the change by hand: {by_hand}"

    @classmethod
    def by_answer(cls) -> Declined:
        """For somebody who was asked and said no."""
        error = cls(what="the change", by_hand="")
        error.args, error._agent_hint = ("nothing was changed",), ""
        error.is_choice = True
        return error


class EndedBySignal(ScratchflowError):
    """A signal ended the command; the exit code is 128 plus its number."""

    code = "signal.ended"
    exit_code = 128
    message = "{ended}{more}"
    hint = "everything can be run again: the next run finishes or undoes what this one began"
    retryable = True

    def __init__(self, signum: int, more: str = "", cancelled: str = "Cancelled.") -> None:
        """`more` is a sentence about what became of what was under way, `cancelled` what Ctrl-C did."""
        name = signal.Signals(signum).name
        # Ctrl-C: the user knows what it was, and that it worked.
        ended = cancelled if signum == signal.SIGINT else f"ended by {name}"
        between = " " if signum == signal.SIGINT else ". "
        super().__init__(ended=ended, more=f"{between}{more}" if more else "")
        self.exit_code = 128 + signum
        self.is_choice = signum == signal.SIGINT


# What a finished command exits with when it has something to say about the files it read.
# A warning code that is not here (a skipped socket, say) leaves the exit code at 0.
WARNING_EXIT_CODES = {
    "files.changed": 101,
    "files.vanished": 102,
    "files.unreadable": 103,
}
MIXED_WARNINGS_EXIT_CODE = 100


def exit_code_for(warning_codes: set[str]) -> int:
    """0, the one code that all warnings share, or 100 when they differ."""
    codes = {WARNING_EXIT_CODES[code] for code in warning_codes if code in WARNING_EXIT_CODES}
    if len(codes) > 1:
        return MIXED_WARNINGS_EXIT_CODE
    return codes.pop() if codes else 0
