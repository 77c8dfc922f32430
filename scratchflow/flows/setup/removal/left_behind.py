"""What `setup --remove` and `profiles remove` do not touch, and how to remove each: the user's data is the user's."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from scratchflow.config.settings import LOCAL, Settings
from scratchflow.flows.setup.removal.in_use import (
    InUse,
    jobs_left,
    only_after,
    profiles_named,
    still_used,
    unless_used,
    users_of,
)
from scratchflow.flows.setup.removal.left_at_former_scratch import copies_at_former_scratch
from scratchflow.flows.setup.removal.left_here import (
    completion_left,
    foreign_alias_left,
    left_here,
    program_left,
    settings_left,
    ssh_backup_left,
)
from scratchflow.flows.setup.removal.left_in_store import (
    number_of,
    snapshots_left,
    unseen_snapshots,
)
from scratchflow.flows.setup.removal.left_on_scratch import copies_left, on_other_scratches
from scratchflow.flows.setup.removal.removal_command import has_other_name, removal_command
from scratchflow.flows.setup.removal.scope import Scope
from scratchflow.flows.setup.removal.traces import Traces, WorkspaceTrace
from scratchflow.model.profile import Profile
from scratchflow.model.results.setup import LeftBehind

# What goes from our directory on the cluster together with the agent.
_GOES_WITH_AGENT = {
    "agent",
    "tmux",
    "ssh",
    "stores",
    "job-scratch",
    "current",
    "cut-off",
    "servers",
}
_OUR_DIRECTORY = "~/.local/share/scratchflow"
_STATE_DIRECTORY = "~/.local/state/scratchflow"
_UNISON = "~/.unison"
_NOTHING = InUse()


def left_behind(
    settings: Settings,
    traces: Traces | None,
    others: Mapping[str, Profile],
    *,
    all_profiles: bool = False,
    in_use: InUse = _NOTHING,
    synced: Collection[str] = (),
    strangers: Sequence[str] = (),
) -> list[LeftBehind]:
    """Jobs that go on, the profile, every workspace's snapshots, copies on scratch, notes and cache.

    `traces` is what the cluster said; None when it could not be asked. `others` are the other
    profiles of the file: what is theirs is named as that, and without a command that removes it unless all
    profiles go. No command that removes what a job of `in_use` needs is shown without that job. `synced` are
    the profiles that `[sync]` names, `strangers` those of other files that are in use on this machine.
    """
    scope = Scope(settings, others, in_use, all_profiles, synced)
    found = list(jobs_left(in_use, settings.name, scope.login, others))
    found += _profiles(scope)
    if scope.profile.scheduler == "slurm":
        found += unseen_snapshots(scope) if traces is None else _on_cluster(scope, traces)
    users = list(scope.staying)
    # Where this machine is the login host itself, what goes with the agent goes here.
    is_here = scope.login == LOCAL
    goes = _GOES_WITH_AGENT if is_here else set()
    first = unless_used(strangers) if strangers else ""
    first += only_after([], in_use.numbers) if is_here else ""
    found += [*ssh_backup_left(settings), *foreign_alias_left(settings)]
    found += [*left_here(goes, first, users), *completion_left(users)]
    if users:
        return found
    return [*found, *settings_left(settings, others), program_left(Path(sys.prefix))]


def left_of_profile(
    settings: Settings, traces: Traces | None, others: Mapping[str, Profile]
) -> Iterator[str]:
    """What `profiles remove` does not touch: where it is and how to remove it, unless another profile has it too.

    `traces` is None when nobody looked. Where no store was made, there is no workspace either.
    """
    profile = settings.profile
    where = f" on `{profile.login}`" if profile.login != LOCAL else ""
    path = f"{profile.store.rstrip('/')}/{profile.workspace}"
    trace = _own_trace(profile, traces)
    is_unseen = traces is None or traces.could_not_look(profile.store, profile.workspace)
    if trace is None and not is_unseen and not has_other_name(profile.store):
        return
    # The copy comes first: without its snapshots no later `clear` on that node knows what it is.
    yield _copy_left(profile, others)
    number = "its snapshots, if there are any," if trace is None else number_of(trace)
    if names := users_of(path, profile.login, others):
        yield f"{number} in {path}{where}: it is also that of {profiles_named(names)}"
    else:
        command = f"`{removal_command(profile.login, path)}`"
        after = ", after the copies on nodes" if profile.scheduler == "slurm" else ""
        yield f"{number} in {path}{where}; {command} removes {_them(trace)} for good{after}"


def _copy_left(profile: Profile, others: Mapping[str, Profile]) -> str:
    """The workspace itself."""
    workspace = f"{profile.scratch.rstrip('/')}/{profile.workspace}"
    command = f"`{removal_command(LOCAL, workspace)}`"
    nodes = " of the nodes that held it" if profile.scheduler == "slurm" else ""
    there = f"{command} in a job there removes it" if nodes else f"{command} removes it"
    if nodes:
        there += (
            ", before its snapshots are removed:"
            " `clear` keeps a node with a copy whose snapshots are gone"
        )
    names = users_of(workspace, profile.login, others)
    theirs = f": it is also that of {profiles_named(names)}" if names else f"; {there}"
    return f"the workspace, in {workspace}{nodes}{theirs}"


def _own_trace(profile: Profile, traces: Traces | None) -> WorkspaceTrace | None:
    """What was found in the profile's own place of the store."""
    own = (profile.store, profile.workspace)
    found = traces.workspaces if traces else ()
    return next((trace for trace in found if (trace.store, trace.name) == own), None)


def _them(trace: WorkspaceTrace | None) -> str:
    is_one = trace is not None and trace.snapshots < 2 and not (trace.jobs or trace.within)
    return "it" if is_one else "them"


def _profiles(scope: Scope) -> Iterator[LeftBehind]:
    """The profile itself, if the file has it; where all go, the others, and before them their login hosts."""
    settings = scope.settings
    if scope.all_profiles:
        yield from _other_hosts(scope)
    if settings.exists and settings.origins.get("login") == str(settings.path):
        yield _profile_named(settings.name, settings)
    if scope.all_profiles:
        yield from (_profile_named(name, settings) for name in scope.others)


def _profile_named(name: str, settings: Settings) -> LeftBehind:
    return LeftBehind(
        what=f"the profile `{name}` in {settings.path}",
        how=f"`scratchflow profiles remove {name}`",
    )


def _other_hosts(scope: Scope) -> Iterator[LeftBehind]:
    """Login hosts of other profiles, each once: only this profile's is reached. Named before the profiles go."""
    by_login: dict[str, str] = {}
    for name, profile in scope.others.items():
        by_login.setdefault(profile.login, name)
    for login, name in by_login.items():
        if login not in {scope.login, LOCAL}:
            yield LeftBehind(
                what=f"the agent and our notes on `{login}`, of profile `{name}`",
                how=f"`scratchflow -p {name} setup --remove`, before the profile is removed",
            )


def _on_cluster(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    # In the order in which it can go: without its snapshots no `up` or `clear` knows what a copy is.
    yield from copies_left(scope, traces)
    if scope.all_profiles:
        yield from on_other_scratches(scope, traces)
    yield from copies_at_former_scratch(scope, traces)
    yield from snapshots_left(scope, traces)
    yield from _notes_there(scope, traces)


def _by_sync(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """What `sync` left in the home; other homes are those of other login hosts."""
    of_host = {name for name, profile in scope.others.items() if profile.login == scope.login}
    synced = {scope.settings.name, *of_host}.intersection(scope.synced)
    if not traces.has_unison or not (traces.ran_sync or synced):
        return
    names = sorted(of_host.intersection(scope.staying, synced))
    command = f"`{removal_command(scope.login, _UNISON)}`: gone for good"
    yield LeftBehind(
        what=f"what `sync` left in {_UNISON} on `{scope.login}`: what it knows of the last sync,"
        f" and in {_UNISON}/backup old versions of your files",
        how=still_used(names) if names else f"only if you do not use unison yourself: {command}",
    )


def _notes_there(scope: Scope, traces: Traces) -> Iterator[LeftBehind]:
    """What is of the account, not of one profile: every profile of that login host uses it."""
    login = scope.login
    names = [name for name, profile in scope.staying.items() if profile.login == login]
    rest = [entry for entry in traces.entries if entry not in _GOES_WITH_AGENT]
    yield from _by_sync(scope, traces)
    if traces.has_state and login != LOCAL:
        yield LeftBehind(
            what=f"what commands remember in {_STATE_DIRECTORY} on `{login}`",
            how=still_used(names) if names else f"`{removal_command(login, _STATE_DIRECTORY)}`",
            is_small=not names,
        )
    if rest:
        first = only_after([], scope.in_use.numbers)
        command = f"{first}`{removal_command(login, _OUR_DIRECTORY)}`: gone for good"
        yield LeftBehind(
            what=f"{', '.join(rest)} in {_OUR_DIRECTORY} on `{login}`",
            how=still_used(names) if names else command,
        )
