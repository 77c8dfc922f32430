"""`sync`: folders of the homes of several profiles are kept equal, in a star around the first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import msgspec

from scratchflow.cluster.unison.command import (
    Homes,
    Rules,
    has_line_break,
    is_in,
    is_left_out,
    is_never_synced,
)
from scratchflow.config.file import config_path
from scratchflow.config.settings import sync_options
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows.sync.conversation import Pair, Person
from scratchflow.flows.sync.failures import AWAY, Failures, all_away
from scratchflow.flows.sync.last import keep_last, last_pairs
from scratchflow.flows.sync.members import (
    Member,
    login_of,
    member,
    require_fit,
    require_somewhere,
    tell_what_is_left_out,
)
from scratchflow.flows.sync.pair import each_once, sync_pair
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.sync import SyncFolderRefused, SyncNotConfigured, SyncPathRefused
from scratchflow.model.events import Emit, Log, Status, Warned
from scratchflow.model.profile import SyncOptions
from scratchflow.model.results.sync import Synced, SyncedPair, SyncRecalled
from scratchflow.model.text import printable
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock
from scratchflow.reach.sync.relay import Relay

_BY_TIME = ("newer", "older")


class SyncWanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says. Without `profiles`, all of the configuration."""

    profiles: Sequence[str] = ()
    paths: Sequence[str] = ()
    prefer: str = ""
    allow_deletions: bool = False
    dry_run: bool = False
    test: bool = False
    more: Sequence[str] = ()

    def later(self, profile: str) -> str:
        """The step that does the same with one profile later. Deletions are asked about again."""
        words = ["scratchflow", "sync", profile]
        words += [f"--path={path}" for path in self.paths]
        words += [f"--prefer={self.prefer}"] if self.prefer else []
        words += ["--dry-run"] if self.dry_run else ["--test"] if self.test else []
        words += ["--", *self.more] if self.more else []
        return (
            f"then `{shlex.join(words)}` {'asks it' if self.dry_run or self.test else 'syncs it'}"
        )


def sync(caller: Caller, emit: Emit, wanted: SyncWanted, person: Person) -> Synced:
    """Syncs every other home with the first; what a later one brought goes to the earlier ones too.

    A profile that cannot be synced is named in the result, and the others are synced. Without the first,
    or when none of the others is left, its error is raised.
    """
    emit = each_once(emit)
    wanted = msgspec.structs.replace(wanted, paths=tuple(map(_without_slash, wanted.paths)))
    options = _options(caller, wanted)
    failures = Failures(wanted.later, emit, only_one=len(options.profiles) == 2)
    with ExitStack() as open_until:
        first, *others = _members(open_until, options, wanted, failures, caller, emit)
        failures.require(some_are_left=bool(others))
        require_somewhere([first, *others], wanted.paths)
        nowhere = tell_what_is_left_out([first, *others], options, emit)
        done: dict[str, SyncedPair] = {}
        late: set[str] = set()
        for other in others:
            with failures.syncing(other.name, other.host, first.is_named_in):
                done[other.name] = _between(first, other, options, wanted, person, caller, emit)
                _keep(done[other.name], first.name, wanted, caller)
                if done[other.name].to_first:
                    late.update(name for name in done if name != other.name)
        failures.require(some_are_left=bool(done))
        if not wanted.dry_run and not wanted.test:
            for other in others:
                if other.name in late:
                    with failures.syncing(other.name, other.host, first.is_named_in):
                        again = _between(first, other, options, wanted, person, caller, emit)
                        done[other.name] = _together(done[other.name], again)
                        # Of paths alone, counts are added to those that are kept.
                        kept = again if wanted.paths else done[other.name]
                        _keep(kept, first.name, wanted, caller)
    failed = failures.shown()
    unequal = {one.name for one in (first, *others) if one.seen.line_breaks}
    unequal.update(one.profile for one in failed)
    return Synced(
        first=first.name,
        folders=options.folders,
        pairs=[
            msgspec.structs.replace(pair, equal=False)
            if nowhere or unequal & {first.name, pair.profile}
            else pair
            for pair in done.values()
        ],
        failed=failed,
        dry_run=wanted.dry_run,
        test=wanted.test,
    )


def _members(
    open_until: ExitStack,
    options: SyncOptions,
    wanted: SyncWanted,
    failures: Failures,
    caller: Caller,
    emit: Emit,
) -> list[Member]:
    """The first profile, and those of the others that can be synced with it."""
    centre, *names = options.profiles
    first = open_until.enter_context(member(centre, options, wanted.paths, caller, emit))
    members = [first]
    for name in names:
        with failures.reaching(name, login_of(name, caller)):
            other = open_until.enter_context(member(name, options, wanted.paths, caller, emit))
            require_fit(first, other)
            members.append(other)
    return members


def recalled(caller: Caller) -> SyncRecalled:
    """What the last sync from this machine left; nobody is asked."""
    options = _options(caller, SyncWanted())
    first, *others = options.profiles
    pairs = last_pairs(_config(caller), first, others)
    return SyncRecalled(first=first, folders=options.folders, pairs=pairs)


def _keep(pair: SyncedPair, first: str, wanted: SyncWanted, caller: Caller) -> None:
    # A plan in which one side wins names no conflict, though nothing is decided yet.
    if not wanted.test and not (wanted.dry_run and wanted.prefer):
        keep_last(_config(caller), first, pair, paths=wanted.paths, dry_run=wanted.dry_run)


def _config(caller: Caller) -> str:
    path, _ = config_path(caller.asked.config, caller.environment)
    return str(path)


def keep_syncing(
    caller: Caller,
    emit: Emit,
    wanted: SyncWanted,
    every_s: float,
    clock: Clock = SYSTEM_CLOCK,
) -> Synced:
    """Again and again. A lost connection is waited out; whatever needs a decision ends it.

    That goes for one of several profiles, too: the others are synced before.
    """
    while True:
        try:
            done = sync(caller, emit, wanted, Person())
            if not all_away(done.failed):
                return done
            emit(Status(data=msgspec.to_builtins(done)))
        except AWAY as error:
            emit(Warned(code=error.code, message=f"{error}; trying again"))
        clock.sleep(every_s)


def _options(caller: Caller, wanted: SyncWanted) -> SyncOptions:
    """The table of the file, with the profiles of the command line; what is missing is an error."""
    options = sync_options(caller.asked, caller.environment)
    path, _ = config_path(caller.asked.config, caller.environment)
    if len(options.profiles) < 2:
        raise SyncNotConfigured(problem="there are no two profiles", path=path)
    if not options.folders:
        raise SyncNotConfigured(problem="there are no folders", path=path)
    unknown = [name for name in wanted.profiles if name not in options.profiles]
    if unknown:
        raise SyncNotConfigured(problem=f"there is no profile `{unknown[0]}`", path=path)
    deciding = (*_BY_TIME, *options.profiles)
    if wanted.prefer and wanted.prefer not in deciding:
        known = ", ".join(f"`{name}`" for name in deciding)
        problem = f"`--prefer` takes one of {known}, not `{printable(wanted.prefer)}`"
        raise UsageInvalid(problem=problem, command="scratchflow sync")
    for folder in options.folders:
        if is_never_synced(folder):
            raise SyncFolderRefused(folder=folder, reason="it belongs to one home alone")
        for text in options.leave_out:
            if is_left_out(folder, text):
                raise SyncFolderRefused(folder=folder, reason=f"`leave_out` names `{text}`")
    _require_synced(wanted.paths, options)
    first, *others = options.profiles
    chosen = [name for name in others if not wanted.profiles or name in wanted.profiles]
    return msgspec.structs.replace(options, profiles=[first, *(chosen or others)])


def _without_slash(path: str) -> str:
    """As unison takes it: shells complete a directory with a slash at its end."""
    return path.rstrip("/") if path.strip("/") else path


def _require_synced(paths: Sequence[str], options: SyncOptions) -> None:
    """A path that no sync looks at would seem to be equal."""
    for path in paths:
        parts = path.split("/")
        if any(part in {"", ".", ".."} for part in parts) or has_line_break(path):
            problem = f"`--path` takes a path from the home, like `notes/todo.md`, not `{printable(path)}`"
            raise UsageInvalid(problem=problem, command="scratchflow sync")
        if not _is_utf8(path):
            problem = f"`--path` takes no name that is not UTF-8, like `{printable(path)}`; `--interactive` asks about each conflict"
            raise UsageInvalid(problem=problem, command="scratchflow sync")
        if reason := _why_unsynced(path, options):
            folders = ", ".join(f"`{folder}`" for folder in options.folders)
            raise SyncPathRefused(folder=path, reason=reason, folders=folders)


def _is_utf8(path: str) -> bool:
    """Whether it is more than bytes: what the shell was given comes with a stand-in for each other byte."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _why_unsynced(path: str, options: SyncOptions) -> str:
    """Why no sync looks at this path; empty when it does."""
    if not is_in(path, options.folders):
        return "it is in none of the `folders`"
    if is_never_synced(path):
        return "it belongs to one home alone"
    names = (text for text in options.leave_out if is_left_out(path, text))
    return next((f"`leave_out` names `{text}`" for text in names), "")


def _between(
    first: Member,
    other: Member,
    options: SyncOptions,
    wanted: SyncWanted,
    person: Person,
    caller: Caller,
    emit: Emit,
) -> SyncedPair:
    homes = Homes(
        program=first.seen.program,
        home=first.seen.home,
        other=other.name,
        other_home=other.seen.home,
    )
    several = len(options.profiles) > 2
    message = f"syncing `{first.name}` and `{other.name}`"
    emit(Log(level="info" if several else "debug", message=message))
    pair = Pair(
        first=first.name,
        other=other.name,
        homes=homes,
        other_program=other.seen.program,
        rules=_rules(homes, first, other, options, wanted),
        relay=Relay(first.side, other.side, caller.environment),
        count_first=first.count,
        count_other=other.count,
        noted=() if wanted.test else first.seen.again.get(other.name, ()),
        note=partial(first.note, other.name),
        dry_run=wanted.dry_run,
        allow_deletions=wanted.allow_deletions,
    )
    synced = sync_pair(pair, person, emit)
    return msgspec.structs.replace(synced, version=other.seen.version)


def _rules(
    homes: Homes, first: Member, other: Member, options: SyncOptions, wanted: SyncWanted
) -> Rules:
    by_name = {first.name: homes.home, other.name: homes.other_root}
    # The one that is preferred may be neither of these two: then these two are asked about as ever.
    prefer = wanted.prefer if wanted.prefer in _BY_TIME else by_name.get(wanted.prefer, "")
    more = [*wanted.more, *(["-testserver"] if wanted.test else [])]
    return Rules(
        folders=options.folders,
        paths=wanted.paths,
        leave_out=options.leave_out,
        never=sorted({*first.seen.never, *other.seen.never}),
        keep_versions=options.keep_versions,
        prefer=prefer,
        more=more,
    )


def _together(before: SyncedPair, again: SyncedPair) -> SyncedPair:
    """Two rounds as one: counts add up, what is left is what the second left."""
    return msgspec.structs.replace(
        again,
        to_first=before.to_first + again.to_first,
        to_profile=before.to_profile + again.to_profile,
        deleted=before.deleted + again.deleted,
    )
