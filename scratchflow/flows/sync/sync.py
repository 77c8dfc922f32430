"""`sync`: folders of the homes of several profiles are kept equal, in a star around the first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import msgspec

from scratchflow.agent.name import agent_command
from scratchflow.cluster.unison.command import (
    Homes,
    Rules,
    has_line_break,
    is_in,
    is_left_out,
    is_never_synced,
)
from scratchflow.cluster.unison.version import read_version, work_together
from scratchflow.config.file import config_path
from scratchflow.config.settings import load_settings, sync_options
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of, is_login_host
from scratchflow.flows.sync.conversation import Pair, Person
from scratchflow.flows.sync.last import keep_last, last_pairs
from scratchflow.flows.sync.pair import sync_pair
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError, UsageInvalid
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.sync import (
    SyncBusy,
    SyncFolderRefused,
    SyncNotConfigured,
    SyncPathMissing,
    SyncPathRefused,
    SyncSameHome,
    UnisonMismatch,
)
from scratchflow.model.events import Emit, Log, Status, Warned
from scratchflow.model.profile import SyncOptions
from scratchflow.model.requests import SyncCount, SyncLook, SyncNote
from scratchflow.model.results.sync import (
    FilesCounted,
    Synced,
    SyncedPair,
    SyncNoted,
    SyncRecalled,
    SyncSide,
)
from scratchflow.model.text import printable
from scratchflow.process.far_words import quoted
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock
from scratchflow.reach.login import share_login
from scratchflow.reach.sync.frames import WORD
from scratchflow.reach.sync.relay import Relay, Side

HOST_NAME = "UNISONLOCALHOSTNAME"
"""Unison names its archives by it: the profile's name stays the same on every login host of a pool."""
LEFT_OUT = "sync.left_out"
"""Names with a line break, which unison would print as two lines."""
NOWHERE = "sync.no_such_folder"
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


class _Member(msgspec.Struct, frozen=True):
    """A profile of the star: its cluster, and how a far end is started on its login host."""

    name: str
    cluster: Cluster
    argv: Sequence[str]
    host: str
    """What `ssh` calls it."""
    seen: SyncSide

    def count(self, request: SyncCount) -> FilesCounted:
        return self.cluster.on_login("sync count", request, FilesCounted)

    def note(self, other: str, paths: Sequence[str]) -> None:
        """What the next sync with that profile is to read in full."""
        self.cluster.on_login("sync note", SyncNote(other=other, paths=tuple(paths)), SyncNoted)

    @property
    def side(self) -> Side:
        variables = {HOST_NAME: self.name}
        return Side(profile=self.name, host=self.host, argv=self.argv, variables=variables)


def sync(caller: Caller, emit: Emit, wanted: SyncWanted, person: Person) -> Synced:
    """Syncs every other home with the first; what a later one brought goes to the earlier ones too."""
    wanted = msgspec.structs.replace(wanted, paths=tuple(map(_without_slash, wanted.paths)))
    options = _options(caller, wanted)
    with ExitStack() as open_until:
        first, *others = (
            _entered(open_until, name, options, wanted, caller, emit) for name in options.profiles
        )
        for other in others:
            _require_fit(first, other)
        _require_somewhere([first, *others], wanted.paths)
        nowhere = _tell_what_is_left_out([first, *others], options, emit)
        done: dict[str, SyncedPair] = {}
        late: set[str] = set()
        for other in others:
            done[other.name] = _between(first, other, options, wanted, person, caller, emit)
            _keep(done[other.name], first.name, wanted, caller)
            if done[other.name].to_first:
                late.update(name for name in done if name != other.name)
        if not wanted.dry_run and not wanted.test:
            for other in others:
                if other.name in late:
                    again = _between(first, other, options, wanted, person, caller, emit)
                    done[other.name] = _together(done[other.name], again)
                    # Of paths alone, counts are added to those that are kept.
                    kept = again if wanted.paths else done[other.name]
                    _keep(kept, first.name, wanted, caller)
    broken = {member.name for member in (first, *others) if member.seen.line_breaks}
    return Synced(
        first=first.name,
        folders=options.folders,
        pairs=[
            msgspec.structs.replace(pair, equal=False)
            if nowhere or broken & {first.name, pair.profile}
            else pair
            for pair in done.values()
        ],
        dry_run=wanted.dry_run,
        test=wanted.test,
    )


def _entered(
    open_until: ExitStack,
    name: str,
    options: SyncOptions,
    wanted: SyncWanted,
    caller: Caller,
    emit: Emit,
) -> _Member:
    """A profile of the star. When one of several others fails, its hint names the command that syncs the rest."""
    try:
        return open_until.enter_context(_member(name, options, wanted.paths, caller, emit))
    except EndedBySignal:
        raise
    except ScratchflowError as error:
        first, *others = options.profiles
        rest = " ".join(one for one in others if one != name)
        if name != first and rest:
            error.add_step(f"nothing was synced: `scratchflow sync {rest}` leaves `{name}` out")
        raise


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
    """Again and again. A lost connection is waited out; whatever needs a decision ends it."""
    while True:
        try:
            done = sync(caller, emit, wanted, Person())
            emit(Status(data=msgspec.to_builtins(done)))
        except (ConnectionLost, SyncBusy) as error:
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
        if reason := _why_unsynced(path, options):
            folders = ", ".join(f"`{folder}`" for folder in options.folders)
            raise SyncPathRefused(folder=path, reason=reason, folders=folders)


def _why_unsynced(path: str, options: SyncOptions) -> str:
    """Why no sync looks at this path; empty when it does."""
    if not is_in(path, options.folders):
        return "it is in none of the `folders`"
    if is_never_synced(path):
        return "it belongs to one home alone"
    names = (text for text in options.leave_out if is_left_out(path, text))
    return next((f"`leave_out` names `{text}`" for text in names), "")


@contextmanager
def _member(
    name: str, options: SyncOptions, paths: Sequence[str], caller: Caller, emit: Emit
) -> Iterator[_Member]:
    """Logs in, and looks at the home."""
    environment = caller.environment
    asked = msgspec.structs.replace(caller.asked, profile=name)
    settings = load_settings(asked, environment)
    with ExitStack() as open_until:
        if is_login_host(settings, environment):
            argv = [sys.executable, "-m", "scratchflow", WORD]
        else:
            login = open_until.enter_context(
                share_login(settings, environment, emit, may_ask=caller.may_ask)
            )
            argv = [*login.argv(terminal=False), quoted(agent_command(WORD))]
        cluster = open_until.enter_context(cluster_of(settings, caller, emit))
        request = SyncLook(
            folders=tuple(options.folders),
            paths=tuple(paths),
            program=options.programs.get(name, ""),
            leave_out=tuple(options.leave_out),
        )
        seen = cluster.on_login("sync look", request, SyncSide)
        emit(Log(level="debug", message=f"`{name}`: {seen.version} on {seen.host}, {seen.home}"))
        yield _Member(name, cluster, argv, settings.profile.login, seen)


def _require_somewhere(members: Sequence[_Member], paths: Sequence[str]) -> None:
    """SyncPathMissing for a path that nobody has: to call it equal would hide a slip of the pen."""
    for path in paths:
        if all(path in one.seen.missing for one in members):
            profiles = ", ".join(f"`{one.name}`" for one in members)
            raise SyncPathMissing(path=path, profiles=profiles)


def _tell_what_is_left_out(members: Sequence[_Member], options: SyncOptions, emit: Emit) -> bool:
    """Names that never sync, and folders that nobody has; whether there are any of these."""
    for member in members:
        if count := member.seen.line_breaks:
            message = f"names with a line break are left out: {count} on `{member.name}`"
            emit(Warned(code=LEFT_OUT, message=message))
    nowhere = [one for one in options.folders if all(one in each.seen.missing for each in members)]
    for folder in nowhere:
        message = f"`{printable(folder)}` of `folders` in `[sync]` is in none of the homes"
        emit(Warned(code=NOWHERE, message=message))
    return bool(nowhere)


def _require_fit(first: _Member, other: _Member) -> None:
    """One home, or two unisons that do not understand each other, are an error before anything begins."""
    if first.seen.home_id == other.seen.home_id:
        raise SyncSameHome(first=first.name, other=other.name, home=first.seen.home)
    ours, theirs = (read_version(member.seen.version) for member in (first, other))
    if ours is None or theirs is None or not work_together(ours, theirs):
        raise UnisonMismatch(
            ours=first.seen.version, first=first.name, theirs=other.seen.version, other=other.name
        )


def _between(
    first: _Member,
    other: _Member,
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
    homes: Homes, first: _Member, other: _Member, options: SyncOptions, wanted: SyncWanted
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
