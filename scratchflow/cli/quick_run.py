"""`run -- CMD` over a way that an earlier one has found: no settings are read and no agent is asked.

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

_BY_SIGTERM = 128 + 15


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
        return code_of(outcome, warm.node, warm.job_id)
    forget_warm_run(os.environ)
    return 128 + outcome.signals[0] if outcome.signals else None


def parse_plain(arguments: Sequence[str]) -> tuple[str, list[str]] | None:
    """The directory and the command of `run [--cwd DIR] -- CMD…`; None for anything else."""
    words = list(arguments)
    cwd = ""
    if words[:1] != ["run"]:
        return None
    words = words[1:]
    if words[:1] == ["--cwd"] and len(words) > 2:
        cwd, words = words[1], words[2:]
    if words[:1] != ["--"] or len(words) < 2:
        return None
    return cwd, words[1:]


def code_of(outcome: Outcome, node: str, job_id: str = "") -> int:
    """What we exit with, after a command that had started; a lost connection, or lost output, is told."""
    if outcome.code is not None and not outcome.unwritten:
        if outcome.code == _BY_SIGTERM:
            _say_if_job_ended(outcome, job_id)
        return outcome.code
    if outcome.signals:
        return 128 + 9 if len(outcome.signals) > 2 else 128 + outcome.signals[-1]
    from scratchflow.flows.run import cut_error, job_end_by_settings
    from scratchflow.model.errors import OutputFailed
    from scratchflow.report.human import Human

    human = Human(quiet=False, verbose=False)
    if outcome.unwritten:
        return human.fail(OutputFailed(error=outcome.unwritten))
    return human.fail(cut_error(outcome, node, job_end_by_settings(os.environ, job_id)))


def _say_if_job_ended(outcome: Outcome, job_id: str) -> None:
    from scratchflow.flows.run import ended_with_job, is_ended_by_others, job_end_by_settings
    from scratchflow.report.human import Human

    if is_ended_by_others(outcome) and (ended := job_end_by_settings(os.environ, job_id)):
        Human(quiet=False, verbose=False).emit(ended_with_job(ended))
