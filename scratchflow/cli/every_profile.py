"""What verbs that ask the clusters of all profiles have in common: what excludes it, and how failures are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scratchflow.cli.tables import wrapped
from scratchflow.model.ages import Wording, for_people
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.results.base import OnProfiles
from scratchflow.model.text import printable

if TYPE_CHECKING:
    import typer

    from scratchflow.dispatch.cluster import Caller

INDENT = "  "


def refuse_with_all(context: typer.Context, who: Caller, flags: Mapping[str, bool]) -> None:
    """One profile, and what is done to one, cannot be all of them."""
    given = [flag for flag, is_given in flags.items() if is_given]
    given += ["--profile"] if who.asked.profile else []
    if given:
        problem = f"`{given[0]}` is for one profile, and you asked for all"
        raise UsageInvalid(problem=problem, command=context.command_path)


@contextmanager
def speaking_for(profile: str) -> Iterator[None]:
    """Makes hints in what is said meanwhile name this profile."""
    before, Wording.profile = Wording.profile, profile
    try:
        yield
    finally:
        Wording.profile = before


def unanswered_lines(found: OnProfiles, width: int | None) -> Iterator[str]:
    """The profiles of which nothing is known, and why."""
    for failure in found.failed:
        with speaking_for(failure.profile):
            text = for_people(printable(f"{failure.profile} ({failure.login}): {failure.message}"))
            yield from wrapped("✗ ", text, width)
            if failure.hint:
                yield from wrapped("  hint: ", for_people(printable(failure.hint)), width)
