"""Command lines that are understood without the parser: to load typer takes longer than some of these have to do.

Each of them means what the parser makes of it; the tests hold the two side by side. Whatever has to be
looked at twice, wrong lines included, is left to the parser.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scratchflow.cli.call import ASKING, Call, announced_late

if TYPE_CHECKING:
    from scratchflow.dispatch.cluster import Caller
    from scratchflow.model.events import Emit
    from scratchflow.model.results.jobs import JobsListed
    from scratchflow.model.results.status import StatusShown

_SHORT = {"-p": "--profile", "-q": "--quiet", "-v": "--verbose", "-m": "--message"}
_SWITCHES = frozenset({"--json", "--quiet", "--verbose"})
_WITH_VALUE = frozenset({"--profile", "--config"})
_MAY_BE_REPEATED = frozenset({"--path"})


class Typed(msgspec.Struct, frozen=True):
    """A line, taken apart: its options by their long names, each with its values, and the words after the verb."""

    verb: str
    options: dict[str, list[str]]
    words: list[str]

    def value(self, name: str) -> str | None:
        """Of an option that is given once at most."""
        return next(iter(self.options.get(name, ())), None)

    def who(self) -> Caller:
        """Who asks."""
        from scratchflow.config.settings import Asked
        from scratchflow.dispatch.cluster import Caller

        return Caller(
            asked=Asked(config=self.value("--config"), profile=self.value("--profile")),
            environment=os.environ,
            may_ask="--json" not in self.options,
            verbose="--verbose" in self.options,
        )


class Form(msgspec.Struct, frozen=True):
    """What may be typed after a verb, besides the options of all verbs, and what it means."""

    call: Callable[[Typed], Call[Any] | None]
    switches: frozenset[str] = frozenset()
    with_value: frozenset[str] = frozenset()
    most_words: int = 0
    only_word: str = ""
    """The one word that may follow, before options of the verb's own."""


def plain_call(arguments: Sequence[str]) -> Call[Any] | None:
    """What the verb's own module would make of it; None for anything that has to be parsed."""
    typed = taken_apart(arguments)
    return FORMS[typed.verb].call(typed) if typed is not None else None


def taken_apart(arguments: Sequence[str]) -> Typed | None:
    """The line as a verb of `FORMS` takes it; None for anything else."""
    form, verb = Form(call=_status), ""
    options: dict[str, list[str]] = {}
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name = _SHORT.get(word, word)
        if name in _SWITCHES or name in form.switches:
            options[name] = []
        elif name in _WITH_VALUE or name in form.with_value:
            value = next(rest, "")
            is_odd = value.strip("/. ") == "" or value.startswith(
                "-"
            )  # `restore` has words for these
            if is_odd or (name in options and name not in _MAY_BE_REPEATED):
                return None
            options.setdefault(name, []).append(value)
        elif not word or word.startswith("-"):
            return None
        elif verb:
            if form.only_word and (word != form.only_word or form.switches & options.keys()):
                return None
            words.append(word)
        elif word in FORMS:
            verb, form = word, FORMS[word]
        else:
            return None
    return Typed(verb, options, words) if verb and len(words) <= form.most_words else None


def _status(typed: Typed) -> Call[StatusShown]:
    from scratchflow.cli.status_lines import shown

    def run(emit: Emit) -> StatusShown:
        from scratchflow.flows.status import status

        return status(typed.who(), emit)

    is_watched = "--json" not in typed.options
    return announced_late(ASKING, Call("status", run, shown), is_watched=is_watched)


def _jobs(typed: Typed) -> Call[JobsListed]:
    from scratchflow.cli.job_words import listed
    from scratchflow.cli.remote_call import on_login
    from scratchflow.model.requests import ListJobs

    return on_login(typed.who(), "jobs", ListJobs(every="--all" in typed.options), listed)


def _backup(typed: Typed) -> Call[Any]:
    from scratchflow.cli.backup_call import backup_call
    from scratchflow.model.requests import Backup

    message = typed.value("--message") or ""
    return backup_call(typed.who(), Backup(full="--full" in typed.options, message=message))


def _restore(typed: Typed) -> Call[Any] | None:
    from scratchflow.cli.naming import LATEST, zone_for
    from scratchflow.cli.restore_call import restore_call
    from scratchflow.model.requests import Restore
    from scratchflow.model.source import on_laptop

    snapshot = typed.words[0] if typed.words else LATEST
    to = typed.value("--to")
    here = on_laptop(to) if to is not None else None
    if here == "":  # the parser says what is missing
        return None
    request = Restore(
        snapshot=snapshot,
        paths=tuple(typed.options.get("--path", ())),
        to=to if here is None else None,
        zone=zone_for(snapshot),
    )
    return restore_call(typed.who(), request, here)


def _up(typed: Typed) -> Call[Any]:
    from scratchflow.cli.node_wanted import NodeRequest
    from scratchflow.cli.up_call import Start, up_call

    return up_call(typed.who(), NodeRequest(), Start(login="".join(typed.words)))


FORMS = {
    "status": Form(_status),
    "up": Form(_up, most_words=1),
    "backup": Form(_backup, switches=frozenset({"--full"}), with_value=frozenset({"--message"})),
    "restore": Form(_restore, with_value=frozenset({"--path", "--to"}), most_words=1),
    "jobs": Form(_jobs, switches=frozenset({"--all"}), most_words=1, only_word="list"),
}
