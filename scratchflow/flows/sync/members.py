"""The homes that a sync is about: how each is reached, what is seen there, and which go together."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import msgspec

from scratchflow.agent.name import agent_command
from scratchflow.cluster.unison.version import read_version, work_together
from scratchflow.config.settings import load_settings
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of, is_login_host
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.sync import SyncPathMissing, SyncSameHome, UnisonMismatch
from scratchflow.model.events import Emit, Log, Warned
from scratchflow.model.profile import SyncOptions
from scratchflow.model.requests import SyncCount, SyncLook, SyncNote
from scratchflow.model.results.sync import FilesCounted, SyncNoted, SyncSide
from scratchflow.model.text import printable
from scratchflow.process.far_words import quoted
from scratchflow.reach.login import share_login
from scratchflow.reach.sync.frames import WORD
from scratchflow.reach.sync.relay import Side

HOST_NAME = "UNISONLOCALHOSTNAME"
"""Unison names its archives by it: the profile's name stays the same on every login host of a pool."""
LEFT_OUT = "sync.left_out"
"""Names with a line break, which unison would print as two lines."""
NOWHERE = "sync.no_such_folder"


class Member(msgspec.Struct, frozen=True):
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

    def is_named_in(self, error: ScratchflowError) -> bool:
        """Whether it is this one that the error is about."""
        fields = error.fields
        return fields.get("host") == printable(self.host) or fields.get("profile") == self.name


def login_of(name: str, caller: Caller) -> str:
    """The login host of a profile of the file."""
    asked = msgspec.structs.replace(caller.asked, profile=name)
    return load_settings(asked, caller.environment).profile.login


@contextmanager
def member(
    name: str, options: SyncOptions, paths: Sequence[str], caller: Caller, emit: Emit
) -> Iterator[Member]:
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
            login.require_answer()
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
        yield Member(name, cluster, argv, settings.profile.login, seen)


def require_somewhere(members: Sequence[Member], paths: Sequence[str]) -> None:
    """SyncPathMissing for a path that nobody has: to call it equal would hide a slip of the pen."""
    for path in paths:
        if all(path in one.seen.missing for one in members):
            profiles = ", ".join(f"`{one.name}`" for one in members)
            raise SyncPathMissing(path=path, profiles=profiles)


def tell_what_is_left_out(members: Sequence[Member], options: SyncOptions, emit: Emit) -> bool:
    """Names that never sync, and folders that nobody has; whether there are any of these."""
    for one in members:
        if count := one.seen.line_breaks:
            message = f"names with a line break are left out: {count} on `{one.name}`"
            emit(Warned(code=LEFT_OUT, message=message))
    nowhere = [one for one in options.folders if all(one in each.seen.missing for each in members)]
    for folder in nowhere:
        homes = "the homes" if len(members) == len(options.profiles) else "the homes that answered"
        message = f"`{printable(folder)}` of `folders` in `[sync]` is in none of {homes}"
        emit(Warned(code=NOWHERE, message=message))
    return bool(nowhere)


def require_fit(first: Member, other: Member) -> None:
    """One home, or two unisons that do not understand each other, are an error before anything begins."""
    if first.seen.home_id == other.seen.home_id:
        raise SyncSameHome(first=first.name, other=other.name, home=first.seen.home)
    ours, theirs = (read_version(one.seen.version) for one in (first, other))
    if ours is None or theirs is None or not work_together(ours, theirs):
        raise UnisonMismatch(
            ours=first.seen.version, first=first.name, theirs=other.seen.version, other=other.name
        )
