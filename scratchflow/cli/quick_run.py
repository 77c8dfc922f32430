"""`run CMD` over a way that an earlier one has found: no settings are read and no agent is asked.

It imports little, and leaves everything out of the ordinary to the long way.
"""

from __future__ import annotations

import os

from scratchflow.config.warm_run import forget_warm_run, read_warm_run
from scratchflow.process.carried import Outcome, carry
from scratchflow.process.far_words import Way, followed_argv, kill_argv

TYPE_CHECKING = False  # `typing` itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Sequence

    from scratchflow.model.events import Warned

_BY_SIGTERM = 128 + 15
# What a shell exits with that found no such program, or could not start it.
_NOT_RUN = (126, 127)


def quick_run(arguments: Sequence[str]) -> int | None:
    """The command's exit code; None when nothing was started and the long way has to be taken."""
    parsed = parse_plain(arguments)
    # In a job, or where a batch script runs, the long way finds out whose job it is.
    if parsed is None or os.environ.get("SLURMD_NODENAME"):
        return None
    warm = read_warm_run(os.environ)
    if warm is None:
        return None
    cwd, command = parsed
    way = Way(warm.outer, warm.carrier, quotes=warm.quotes)
    directory = os.fsencode(os.path.join(warm.directory, cwd))
    token = os.urandom(16).hex()
    words = [os.fsencode(word) for word in command]
    sourced, current = os.fsencode(warm.sourced), os.fsencode(warm.current)
    try:
        outcome = carry(
            way.argv(followed_argv(token, directory, sourced, words, current=current)),
            token,
            kill=lambda group, name: way.argv(kill_argv(group, name)),
            environment=os.environ,
        )
    except OSError:  # too many words for this system, or no `ssh` any more
        return None
    if outcome.started:
        code = code_of(outcome, warm.node, warm.job_id)
        _say_if_shell_line(command, code)
        return code
    forget_warm_run(os.environ)
    return 128 + outcome.signals[0] if outcome.signals else None


def parse_plain(arguments: Sequence[str]) -> tuple[str, list[str]] | None:
    """The directory and the command of `run [--cwd DIR] [--] CMD…`; None for anything else."""
    words = list(arguments)
    cwd = ""
    if words[:1] != ["run"]:
        return None
    words = words[1:]
    if words[:1] == ["--cwd"] and len(words) > 2 and not words[1].startswith("-"):
        cwd, words = words[1], words[2:]
    if words[:1] == ["--"]:
        words = words[1:]
    elif words[:1] and words[0].startswith("-"):  # another option
        return None
    return (cwd, words) if words else None


def code_of(outcome: Outcome, node: str, job_id: str = "") -> int:
    """What we exit with, after a command that had started; a lost connection, or lost output, is told."""
    if outcome.code is not None and not outcome.unwritten:
        if outcome.code == _BY_SIGTERM:
            _say_if_job_ended(outcome, job_id)
        return outcome.code
    if outcome.signals:
        return 128 + 9 if len(outcome.signals) > 2 else 128 + outcome.signals[-1]
    from scratchflow.flows.run.ended import cut_error, job_end_by_settings
    from scratchflow.model.errors.base import OutputFailed
    from scratchflow.report.human import Human

    human = Human(quiet=False, verbose=False)
    if outcome.unwritten:
        return human.fail(OutputFailed(error=outcome.unwritten))
    return human.fail(cut_error(outcome, node, job_end_by_settings(os.environ, job_id)))


def is_shell_line(command: Sequence[str], code: int) -> bool:
    """Whether one word with spaces was taken for a program's name, which there is none of: a line for a shell."""
    return code in _NOT_RUN and len(command) == 1 and len(command[0].split()) > 1


def shell_line_warning(line: str) -> Warned:
    """How to have a shell read it."""
    from shlex import quote

    from scratchflow.model.events import Warned
    from scratchflow.model.text import printable

    message = f"no shell reads the words of `run`: `scratchflow run -- sh -c {printable(quote(line))}` asks for one"
    return Warned(code="run.no_shell", message=message)


def _say_if_shell_line(command: Sequence[str], code: int) -> None:
    if is_shell_line(command, code):
        from scratchflow.report.human import Human

        Human(quiet=False, verbose=False).emit(shell_line_warning(command[0]))


def _say_if_job_ended(outcome: Outcome, job_id: str) -> None:
    from scratchflow.flows.run.ended import ended_with_job, is_ended_by_others, job_end_by_settings
    from scratchflow.report.human import Human

    if is_ended_by_others(outcome) and (ended := job_end_by_settings(os.environ, job_id)):
        Human(quiet=False, verbose=False).emit(ended_with_job(ended))
