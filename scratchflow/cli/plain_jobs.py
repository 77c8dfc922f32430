"""`jobs` and `jobs list` with plain flags, understood without the parser: to load that takes longer than the answer.

Whatever else is typed, wrong lines included, is left to the parser.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from scratchflow.cli.call import Call
from scratchflow.cli.job_words import listed
from scratchflow.model.events import Emit
from scratchflow.model.requests import ListJobs
from scratchflow.model.results import JobsListed

_SWITCHES = frozenset({"--json", "--quiet", "-q", "--verbose", "-v"})
_WITH_VALUE = {"--profile": "profile", "-p": "profile", "--config": "config"}


class Plain(msgspec.Struct, frozen=True):
    """What was typed."""

    every: bool
    switches: frozenset[str]
    values: dict[str, str]


def plain_jobs(arguments: Sequence[str]) -> Call[JobsListed] | None:
    """The call; None when the parser has to look at it."""
    typed = parse_plain(arguments)
    if typed is None:
        return None

    def run(emit: Emit) -> JobsListed:
        from scratchflow.config.settings import Asked
        from scratchflow.dispatch.cluster import Caller, cluster_of

        who = Caller(
            asked=Asked(config=typed.values.get("config"), profile=typed.values.get("profile")),
            environment=os.environ,
            may_ask="--json" not in typed.switches,
            verbose=bool(typed.switches & {"--verbose", "-v"}),
        )
        with cluster_of(who.settings(), who, emit) as cluster:
            return cluster.on_login("jobs", ListJobs(every=typed.every), JobsListed)

    return Call("jobs", run, listed)


def parse_plain(arguments: Sequence[str]) -> Plain | None:
    """The words of `jobs [list] [--all]` with global options around them; None for anything else."""
    words: list[str] = []
    switches: set[str] = set()
    values: dict[str, str] = {}
    rest = iter(arguments)
    for word in rest:
        if word in _WITH_VALUE:
            value = next(rest, "")
            if not value or value.startswith("-"):
                return None
            values[_WITH_VALUE[word]] = value
        elif word in _SWITCHES:
            switches.add(word)
        else:
            words.append(word)
    every = words[-1:] == ["--all"]
    if (words[:-1] if every else words) not in (["jobs"], ["jobs", "list"]):
        return None
    return Plain(every, frozenset(switches), values)
