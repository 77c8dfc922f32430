"""`scratchflow sync`: folders of the homes of several clusters, kept equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, caller
from scratchflow.cli.questions import TerminalAsker
from scratchflow.cluster.unison.command import refused_option
from scratchflow.model.ages import age
from scratchflow.model.errors.base import Declined, UsageInvalid
from scratchflow.model.errors.sync import LOST_HOME
from scratchflow.model.events import Emit
from scratchflow.model.results.sync import LastPair, Synced, SyncedPair, SyncRecalled
from scratchflow.model.text import printable
from scratchflow.model.units import Duration

if TYPE_CHECKING:
    from scratchflow.cluster.unison.words import Change
    from scratchflow.flows.sync.conversation import Person, Winner

_MORE = "scratchflow.sync.more"
# The first is what Enter means.
WINNERS: dict[str, Winner] = {"s": "neither", "f": "first", "o": "other"}


class SyncCommand(VerbCommand):
    """What stands after `--` goes to unison."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta[_MORE] = args[place + 1 :]
            args = args[:place]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=SyncCommand)
def sync(
    context: typer.Context,
    profiles: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROFILE", help="Only with these; otherwise all of `[sync]`."),
    ] = None,
    prefer: Annotated[
        str,
        typer.Option(
            "--prefer",
            metavar="PROFILE|newer|older",
            help="Which version wins when both sides changed.",
        ),
    ] = "",
    paths: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="PATH", help="Only this path; repeatable."),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask about each conflict.")
    ] = False,
    allow_deletions: Annotated[
        bool, typer.Option("--allow-deletions", help="Delete many files without a question.")
    ] = False,
    test: Annotated[
        bool,
        typer.Option("--test", help="Only try whether the ends fit together."),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Sync again and again, until Ctrl-C.")
    ] = False,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="How often `--watch` does.")
    ] = "1m",
    last: Annotated[
        bool, typer.Option("--last", help="What the last one left; asks nobody.")
    ] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Any]:
    """Keep folders of your homes on several clusters equal, with unison on the login hosts.
    `[sync]` in the configuration names folders and profiles; each home is synced with the first.
    One that cannot be reached is left out. What changed on both sides stays and is listed (exit code 41).
    What is replaced or deleted is in `~/.unison/backup`. What follows `--` goes to unison.
    """
    if last:
        flags = {
            "--prefer": prefer,
            "--path": paths,
            "--interactive": interactive,
            "--allow-deletions": allow_deletions,
            "--test": test,
            "--watch": watch,
            "--dry-run": dry_run,
            "PROFILE": profiles,
        }
        return _last(context, [name for name, given in flags.items() if given])
    more = tuple(context.meta.get(_MORE, ()))
    who, command = caller(context), context.command_path
    _require_possible(
        command, interactive=interactive, prefer=prefer, watch=watch, may_ask=who.may_ask
    )
    if watch and (dry_run or test):
        problem = "`--watch` goes with neither `--dry-run` nor `--test`"
        raise UsageInvalid(problem=problem, command=command)
    if option := refused_option(more):
        problem = f"`{printable(option)}` cannot be given to unison: scratchflow has it sync, answers its questions, and counts what it deletes"
        raise UsageInvalid(problem=problem, command=command)
    every_s = _seconds(every, command)

    def run(emit: Emit) -> Synced:
        from scratchflow.flows.sync.sync import SyncWanted, keep_syncing
        from scratchflow.flows.sync.sync import sync as flow

        wanted = SyncWanted(
            profiles=tuple(profiles or ()),
            paths=tuple(paths or ()),
            prefer=prefer,
            allow_deletions=allow_deletions,
            dry_run=dry_run,
            test=test,
            more=more,
        )
        if watch:
            return keep_syncing(who, emit, wanted, every_s)
        asker = TerminalAsker(emit, may_ask=who.may_ask, yes=False)
        return flow(who, emit, wanted, _person(asker, interactive=interactive))

    return Call("sync", run, shown, until_interrupted=watch)


def _last(context: typer.Context, given: Sequence[str]) -> Call[SyncRecalled]:
    if given:
        problem = f"`--last` syncs nothing, so it does not go with `{given[0]}`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    who = caller(context)

    def run(_: Emit) -> SyncRecalled:
        from scratchflow.flows.sync.sync import recalled

        return recalled(who)

    return Call("sync --last", run, last_shown)


def _require_possible(
    command: str, *, interactive: bool, prefer: str, watch: bool, may_ask: bool
) -> None:
    if interactive and prefer:
        problem = "`--interactive` and `--prefer` exclude each other"
        raise UsageInvalid(problem=problem, command=command)
    if interactive and (watch or not may_ask):
        problem = "`--interactive` goes with neither `--watch` nor `--json`"
        raise UsageInvalid(problem=problem, command=command)


def _seconds(text: str, command: str) -> float:
    try:
        seconds = Duration.parse(text).seconds
    except ValueError as error:
        problem = f"`--every` takes {error}"
        raise UsageInvalid(problem=problem, command=command) from None
    return max(1.0, float(seconds))


def _person(asker: TerminalAsker, *, interactive: bool) -> Person:
    """Who answers: about deletions whoever sits at a terminal, about conflicts only when asked for."""
    from scratchflow.flows.setup.table import wrapped
    from scratchflow.flows.sync.conversation import Person

    if interactive and not asker.can_ask:
        raise Declined(what="the conflicts", by_hand="`--prefer` decides without a question")
    if not asker.can_ask:
        return Person()

    def allow(profile: str, files: int, total: int) -> bool:
        where = printable(profile)
        loss = f"`{where}` would lose {files} of {total} files; {LOST_HOME}."
        asker.tell(wrapped(loss))
        question = "Delete them there, with a copy in `~/.unison/backup`?"
        try:
            return asker.confirm(question, default=False)
        except Declined:
            return False

    def decide(change: Change, first: str, other: str) -> Winner:
        path = printable(change.path.decode("utf-8", "surrogateescape"))
        ours, theirs = f"`{printable(first)}`", f"`{printable(other)}`"
        sides = f"`{path}`: {change.first} on {ours}, {change.other} on {theirs}"
        asker.tell(wrapped(sides))
        question = f"Keep that of {ours} (f), that of {theirs} (o), or both as they are (s)? [s]"
        return WINNERS[asker.letter(question, "".join(WINNERS))]

    return Person(decide=decide if interactive else None, allow=allow)


def shown(synced: Synced) -> Iterator[str]:
    """A line for each pair, and the conflicts. What could not be synced was named by a warning each."""
    first = printable(synced.first)
    for pair in synced.pairs:
        yield from _pair_lines(first, pair, synced)
    for failure in synced.failed:
        where = f"{failure.profile} ({failure.login})"
        yield f"✗ {printable(where)}: {printable(failure.message)}"
        yield f"  hint: {printable(failure.hint)}"
    if any(pair.conflicts for pair in synced.pairs) and not synced.dry_run:
        yield "`scratchflow sync --interactive` asks about each conflict; `--prefer newer` decides for all"


def _pair_lines(first: str, pair: SyncedPair, synced: Synced) -> Iterator[str]:
    other = printable(pair.profile)
    if synced.test:
        yield f"`{first}` and `{other}` can be synced ({printable(pair.version)})"
        return
    verb = "would bring" if synced.dry_run else "brought"
    counts = [f"{pair.to_profile:,} to `{other}`", f"{pair.to_first:,} to `{first}`"]
    changes = " and ".join(counts)
    deletions = f", {pair.deleted:,} of them deletions" if pair.deleted else ""
    if pair.to_first or pair.to_profile:
        yield f"{verb} {changes} (changed paths{deletions})"
    elif pair.equal:
        yield f"`{first}` and `{other}` are equal"
    elif not pair.conflicts:
        yield f"`{first}` and `{other}` are equal but for what is named above"
    for change in pair.plan:
        yield f"  {change.action}: {change.path}"
    same = set(pair.same_contents)
    for path in pair.conflicts:
        remark = " (same contents, different permissions)" if path in same else ""
        yield f"  conflict: {path}{remark}"


def last_shown(recalled: SyncRecalled) -> Iterator[str]:
    """A line for each pair, and what was left as it is."""
    first = printable(recalled.first)
    for pair in recalled.pairs:
        other = printable(pair.profile)
        yield f"`{first}` and `{other}`: {_last_time(first, other, pair)}"
        for conflict in pair.conflicts:
            sides = f"{conflict.first} on `{first}`, {conflict.other} on `{other}`"
            yield f"  conflict: {conflict.path} ({sides})"
        if more := pair.conflict_count - len(pair.conflicts):
            yield f"  and {more} more"
        for problem in pair.left:
            yield f"  not synced: {problem.path}: {problem.reason}"
    if any(pair.conflicts for pair in recalled.pairs):
        yield "`scratchflow sync --path PATH --prefer PROFILE` decides about one of them"


def _last_time(first: str, other: str, pair: LastPair) -> str:
    if pair.synced_age_s is None:
        return "not synced from this machine yet"
    counts = f"{pair.to_profile} to `{other}`, {pair.to_first} to `{first}`"
    return f"synced {age(pair.synced_age_s)} ({counts})"
