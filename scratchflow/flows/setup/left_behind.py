"""What `setup --remove` and `profiles remove` do not touch, and how to remove each: the user's data is the user's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from scratchflow.config.file import users_directory
from scratchflow.config.settings import LOCAL, Settings
from scratchflow.flows.setup.in_use import (
    COPIES_OF_JOBS,
    InUse,
    beneath,
    jobs_left,
    only_after,
    profiles_named,
    saved_and_environments,
    still_used,
    unless_used,
    users_of,
)
from scratchflow.flows.setup.traces import Traces, WorkspaceTrace
from scratchflow.model.profile import Profile
from scratchflow.model.results.setup import LeftBehind
from scratchflow.model.text import counted
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.workspace.environment import ENV_NAME
from scratchflow.workspace.lock import has_loop
from scratchflow.workspace.notes import known_workspaces
from scratchflow.workspace.workspace import STATE_NAME, Workspace

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
_PLAIN_PATH = re.compile(r"[\w@%+=:,./~$-]+", re.ASCII)
# What means something between double quotes; the only `$` in a path are those of `$USER` and `$HOME`.
_SPECIAL = re.compile(r'["`\\]')
# Names that only a login shell knows: what was looked for without one may be elsewhere.
_OTHER_NAME = re.compile(r"\$(?!(?:USER|HOME)\b|\{(?:USER|HOME)\})")


_NOTHING = InUse()


def left_behind(
    settings: Settings,
    traces: Traces | None,
    others: Mapping[str, Profile],
    *,
    all_profiles: bool = False,
    in_use: InUse = _NOTHING,
) -> list[LeftBehind]:
    """Jobs that go on, the profile, every workspace's snapshots, copies on scratch, notes and cache.

    `traces` is what the cluster said; None when it could not be asked. `others` are the other
    profiles of the file: what is theirs is named as that, and without a command that removes it unless all
    profiles go. No command that removes what a job of `in_use` needs is shown without that job.
    """
    login = settings.profile.login
    users: Mapping[str, Profile] = {} if all_profiles else others
    found = list(jobs_left(in_use, settings.name, login, others))
    found += _other_hosts(settings, others) if all_profiles else []
    found += _profile(settings)
    found += [_profile_named(name, settings) for name in others if all_profiles]
    if settings.profile.scheduler == "slurm" and traces is None:
        found += _unseen_snapshots(settings, users, in_use)
    elif settings.profile.scheduler == "slurm" and traces is not None:
        found += _snapshots(settings, traces, others, users, in_use)
        found += _copies(settings, traces, others, users, in_use)
        found += _copies_of_jobs(settings, traces, users, in_use)
        found += _on_other_scratches(settings, traces, others, in_use) if all_profiles else []
        found += _notes_there(settings, traces, users, in_use)
    # Where this machine is the login host itself, what goes with the agent goes here.
    goes = _GOES_WITH_AGENT if login == LOCAL else set()
    first = only_after([], in_use.numbers) if login == LOCAL else ""
    here = [*_here(goes, first, list(users)), *_completion(Path.home(), list(users))]
    return [*found, *_ssh_backup(settings), *here]


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
    if trace is None and traces is not None and not _OTHER_NAME.search(profile.store):
        return
    number = "its snapshots, if there are any," if trace is None else _number(trace)
    if names := users_of(path, profile.login, others):
        yield f"{number} in {path}{where}: it is also that of {profiles_named(names)}"
    else:
        command = f"`{removal_command(profile.login, path)}`"
        yield f"{number} in {path}{where}; {command} removes {_them(trace)} for good"
    workspace = f"{profile.scratch.rstrip('/')}/{profile.workspace}"
    command = f"`{removal_command(LOCAL, workspace)}`"
    nodes = " of the nodes that held it" if profile.scheduler == "slurm" else ""
    there = f"{command} in a job there removes it" if nodes else f"{command} removes it"
    names = users_of(workspace, profile.login, others)
    theirs = f": it is also that of {profiles_named(names)}" if names else f"; {there}"
    yield f"the workspace, in {workspace}{nodes}{theirs}"


def _own_trace(profile: Profile, traces: Traces | None) -> WorkspaceTrace | None:
    """What was found in the profile's own place of the store."""
    own = (profile.store, profile.workspace)
    found = traces.workspaces if traces else ()
    return next((trace for trace in found if (trace.store, trace.name) == own), None)


def _them(trace: WorkspaceTrace | None) -> str:
    return "it" if trace is not None and trace.snapshots < 2 and not trace.jobs else "them"


def removal_command(login: str, path: str) -> str:
    """What to type on this machine to remove a directory of the login host, or of this machine itself."""
    # `-f`: without it `rm` asks about each file that is read-only, as git's objects are.
    command = f"rm -rf {_far_word(path)}"
    return command if login == LOCAL else f"ssh {login} {shlex.quote(command)}"


def _far_word(path: str) -> str:
    """One word for a shell of the cluster, which fills in `~` and `$USER` and takes the rest as it is."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    home, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
    escaped = _SPECIAL.sub(r"\\\g<0>", rest)
    return f'{home}"{escaped}"'


def _profile(settings: Settings) -> Iterator[LeftBehind]:
    if settings.exists and settings.origins.get("login") == str(settings.path):
        yield _profile_named(settings.name, settings)


def _profile_named(name: str, settings: Settings) -> LeftBehind:
    return LeftBehind(
        what=f"the profile `{name}` in {settings.path}",
        how=f"`scratchflow profiles remove {name}`",
    )


def _other_hosts(settings: Settings, others: Mapping[str, Profile]) -> Iterator[LeftBehind]:
    """Login hosts of other profiles, each once: only this profile's is reached. Named before the profiles go."""
    by_login: dict[str, str] = {}
    for name, profile in others.items():
        by_login.setdefault(profile.login, name)
    for login, name in by_login.items():
        if login not in {settings.profile.login, LOCAL}:
            yield LeftBehind(
                what=f"the agent and our notes on `{login}`, of profile `{name}`",
                how=f"`scratchflow -p {name} setup --remove`, before the profile is removed",
            )


def _ssh_backup(settings: Settings) -> Iterator[LeftBehind]:
    """The ssh config as it was before we first wrote to it."""
    backup = SshPaths.of(settings.profile.ssh_config).backup
    if backup.is_file():
        yield LeftBehind(
            what=f"{backup}: your ssh config as it was before scratchflow wrote to it",
            how=f"`rm {shlex.quote(str(backup))}`",
        )


def _unseen_snapshots(
    settings: Settings, users: Mapping[str, Profile], in_use: InUse
) -> Iterator[LeftBehind]:
    login = settings.profile.login
    path = beneath(settings.profile.store, settings.profile.workspace)
    names = users_of(path, login, users)
    command = f"{only_after([], in_use.numbers)}`{removal_command(login, path)}`: gone for good"
    yield LeftBehind(
        what=f"the snapshots in {path} on `{login}`", how=still_used(names) if names else command
    )


def _snapshots(
    settings: Settings,
    traces: Traces,
    others: Mapping[str, Profile],
    users: Mapping[str, Profile],
    in_use: InUse,
) -> Iterator[LeftBehind]:
    login = settings.profile.login
    for trace in traces.workspaces:
        names = _users_of_snapshots(trace, settings.profile, users)
        first = _first(trace, login, others, in_use)
        if trace.name != settings.profile.workspace:
            first += unless_used(users_of(trace.store.rstrip("/"), login, users))
        command = f"{first}`{removal_command(login, trace.path)}`: gone for good"
        yield LeftBehind(
            what=f"{_number(trace)} in {trace.path} on `{login}`{_owner(trace, settings, others)}",
            how=still_used(names) if names else command,
        )


def _users_of_snapshots(
    trace: WorkspaceTrace, profile: Profile, users: Mapping[str, Profile]
) -> list[str]:
    """The profiles that stay and have them; in a store that this one does not have, also those of no profile's workspace."""
    names = users_of(trace.path, profile.login, users)
    store = trace.store.rstrip("/")
    if names or store == profile.store.rstrip("/"):
        return names
    return users_of(store, profile.login, users)


def _first(trace: WorkspaceTrace, login: str, others: Mapping[str, Profile], in_use: InUse) -> str:
    """Which jobs must have ended before its snapshots may go.

    Where a profile of another machine saves is not known here, nor which workspace a submitted job is of.
    """
    place = (login, trace.store.rstrip("/"), trace.name)
    saves = [
        job.job_id
        for job in in_use.held
        if job.profile in others and _place(others[job.profile]) == place
    ]
    may_need = [job.job_id for job in in_use.held if job.profile not in others]
    if trace.jobs:  # the record of a job lies there before Slurm has the job
        may_need += [job.job_id for job in in_use.submitted]
    return only_after(saves, may_need)


def _number(trace: WorkspaceTrace) -> str:
    """What lies there, in numbers; what submitted jobs made is in no snapshot."""
    found = counted(trace.snapshots, "snapshot") if trace.snapshots else "a store without snapshots"
    if trace.jobs:
        found += f" and the records and outputs of {counted(trace.jobs, 'job')}"
    return found


def _owner(trace: WorkspaceTrace, settings: Settings, others: Mapping[str, Profile]) -> str:
    """Whose it is by login host, store and workspace; nothing where there is one profile alone."""
    if not others:
        return ""
    place = (settings.profile.login, trace.store.rstrip("/"), trace.name)
    known = {settings.name: settings.profile, **others}
    names = [name for name, profile in known.items() if _place(profile) == place]
    return f", of {profiles_named(names)}" if names else ""


def _place(profile: Profile) -> tuple[str, str, str]:
    """Where its snapshots are."""
    return profile.login, profile.store.rstrip("/"), profile.workspace


def _copies(
    settings: Settings,
    traces: Traces,
    others: Mapping[str, Profile],
    users: Mapping[str, Profile],
    in_use: InUse,
) -> Iterator[LeftBehind]:
    """Which workspace is on which node's scratch, and what is beside it: environments, our notes."""
    profile, login = settings.profile, settings.profile.login
    workspaces = dict(_workspaces_on_scratch(profile, traces, users))
    nodes = sorted({node for trace in _not_theirs(traces, profile, users) for node in trace.nodes})
    going = [other for name, other in others.items() if other.login == login and name not in users]
    beside = dict.fromkeys(_beside((profile, *going), list(workspaces)), nodes) if nodes else {}
    held = {**workspaces, **beside}
    sharing = users_of(profile.scratch.rstrip("/"), login, users)
    theirs = {
        beneath(profile.scratch, trace.name): [
            name for name in _users_of_snapshots(trace, profile, users) if name in sharing
        ]
        for trace in traces.workspaces
        if trace.name != profile.workspace
    }
    used = {
        path: names for path in held if (names := users_of(path, login, users) or theirs.get(path))
    }
    for path, names in used.items():
        what = f"{path} on the scratch of {', '.join(held[path])}"
        yield LeftBehind(what=what, how=still_used(names))
    first = only_after([], [job.job_id for job in in_use.held])
    own = beneath(profile.scratch, profile.workspace)
    nobodys = [path for path in workspaces if sharing and path not in used and path != own]
    for path in nobodys:
        yield LeftBehind(
            what=f"{path} and our notes of it on the scratch of {', '.join(held[path])}",
            how=f"{first}{unless_used(sharing)}{_in_jobs([path, *_notes_on_scratch(profile, [path], users)])}",
        )
    made = beneath(profile.scratch, ENV_NAME)
    if nodes and made not in held and not users_of(made, login, users):
        yield LeftBehind(
            what=f"{made} on the scratch of {', '.join(nodes)}, if `create --env` made an environment there",
            how=f"{first}{unless_used(sharing)}{_in_jobs([made])}",
        )
    ours = [path for path in held if path not in used and path not in nobodys]
    if ours:
        named = "".join(f", {path}" for path in ours if path in beside)
        notes = _notes_on_scratch(profile, [path for path in ours if path in workspaces], users)
        on = sorted({node for path in ours for node in held[path]})
        yield LeftBehind(
            what=f"copies of the workspace{named} and our notes on the scratch of {', '.join(on)}",
            how=f"{first}{_in_jobs([*ours, *notes])}",
        )


def _on_other_scratches(
    settings: Settings, traces: Traces, others: Mapping[str, Profile], in_use: InUse
) -> Iterator[LeftBehind]:
    """The same for the profiles of this login host that have a scratch of their own, when all profiles go."""
    by_scratch: dict[str, list[Profile]] = {}
    for other in others.values():
        if other.login == settings.profile.login:
            by_scratch.setdefault(other.scratch.rstrip("/"), []).append(other)
    by_scratch.pop(settings.profile.scratch.rstrip("/"), None)
    for profiles in by_scratch.values():
        stores = {profile.store.rstrip("/") for profile in profiles}
        there = tuple(one for one in traces.workspaces if one.store.rstrip("/") in stores)
        theirs = msgspec.structs.replace(settings, profile=profiles[0])
        found = msgspec.structs.replace(traces, workspaces=there)
        yield from _copies(theirs, found, others, {}, in_use)
        yield from _copies_of_jobs(theirs, found, {}, in_use)


def _in_jobs(paths: Sequence[str]) -> str:
    command = f"`rm -rf {' '.join(map(_far_word, paths))}`"
    return f"{command} in a job on each, or leave them to the cluster's own clean-up"


def _workspaces_on_scratch(
    profile: Profile, traces: Traces, users: Mapping[str, Profile]
) -> Iterator[tuple[str, list[str]]]:
    """By path, with their nodes. One of another profile that has another scratch is not there."""
    ours = _not_theirs(traces, profile, users)
    nodes: dict[str, set[str]] = {}
    for trace in traces.workspaces:
        path = beneath(profile.scratch, trace.name)
        if trace.nodes and (trace in ours or users_of(path, profile.login, users)):
            nodes.setdefault(path, set()).update(trace.nodes)
    return ((path, sorted(found)) for path, found in nodes.items())


def _beside(profiles: Sequence[Profile], workspaces: Sequence[str]) -> Iterator[str]:
    """What these profiles have on the first one's scratch beside workspaces; no path that a shell there may read otherwise."""
    scratch = profiles[0].scratch.rstrip("/")
    for path in (path for profile in profiles for path in saved_and_environments(profile)):
        is_within = any(path.startswith(f"{workspace}/") for workspace in workspaces)
        is_plain = ".." not in path.split("/") and not _OTHER_NAME.search(path)
        if path.startswith(f"{scratch}/") and is_plain and not is_within:
            yield path


def _notes_on_scratch(
    profile: Profile, workspaces: Sequence[str], users: Mapping[str, Profile]
) -> list[str]:
    """All of them, or those of these workspaces where another profile has some there."""
    notes = beneath(profile.scratch, STATE_NAME)
    if not users_of(notes, profile.login, users):
        return [notes]
    return [f"{notes}/{path.rpartition('/')[2]}" for path in workspaces]


def _not_theirs(
    traces: Traces, profile: Profile, users: Mapping[str, Profile]
) -> list[WorkspaceTrace]:
    """All but those that are another profile's alone."""
    return [
        trace
        for trace in traces.workspaces
        if trace.name == profile.workspace or not users_of(trace.path, profile.login, users)
    ]


def _copies_of_jobs(
    settings: Settings, traces: Traces, users: Mapping[str, Profile], in_use: InUse
) -> Iterator[LeftBehind]:
    """A job removes its copy when it ends; one whose node fails cannot, and `jobs debug` does not. Only nodes know."""
    if not any(trace.jobs for trace in traces.workspaces):
        return
    paths = [beneath(settings.profile.scratch, name) for name in COPIES_OF_JOBS]
    login = settings.profile.login
    names = dict.fromkeys(name for path in paths for name in users_of(path, login, users))
    first = only_after([], [job.job_id for job in in_use.submitted])
    command = f"{first}`rm -rf {' '.join(map(_far_word, paths))}` in a job there, or leave them to the cluster's own clean-up"
    yield LeftBehind(
        what="copies of jobs, if any: of `jobs debug`, and of jobs whose node failed, on the scratch of those nodes",
        how=still_used(list(names)) if names else command,
    )


def _notes_there(
    settings: Settings, traces: Traces, users: Mapping[str, Profile], in_use: InUse
) -> Iterator[LeftBehind]:
    """What is of the account, not of one profile: every profile of that login host uses it."""
    login = settings.profile.login
    names = [name for name, profile in users.items() if profile.login == login]
    rest = [entry for entry in traces.entries if entry not in _GOES_WITH_AGENT]
    if traces.has_state and login != LOCAL:
        yield LeftBehind(
            what=f"what commands remember in {_STATE_DIRECTORY} on `{login}`",
            how=still_used(names) if names else f"`{removal_command(login, _STATE_DIRECTORY)}`",
        )
    if rest:
        first = only_after([], in_use.numbers)
        command = f"{first}`{removal_command(login, _OUR_DIRECTORY)}`: gone for good"
        yield LeftBehind(
            what=f"{', '.join(rest)} in {_OUR_DIRECTORY} on `{login}`",
            how=still_used(names) if names else command,
        )


def _here(goes: set[str], first: str, users: Sequence[str]) -> Iterator[LeftBehind]:
    """What is on this machine: the profile `local`, what commands remember, the cache."""
    import platformdirs

    data = users_directory("data")
    if any(has_loop(Workspace(data / "scratch", one)) for one in _workspaces_in(data / "scratch")):
        yield LeftBehind(
            what=f"the auto-backup of profile `{LOCAL}`, which runs on this machine, and its tmux session",
            how=f"`scratchflow -p {LOCAL} clear`: after a last backup",
        )
    has_work = (data / "scratch").is_dir() or (data / "store").is_dir()
    holds = f"the workspace and the snapshots of profile `{LOCAL}`" if has_work else "notes"
    cache = Path(platformdirs.user_cache_path("scratchflow", appauthor=False))
    places = {
        data: (holds, ": gone for good" if has_work else ""),
        users_directory("state"): ("what commands remember, and crash reports,", ""),
        cache: ("the cache", ""),
    }
    for directory, (what, warning) in places.items():
        if directory.is_dir() and not {entry.name for entry in directory.iterdir()} <= goes:
            command = f"{first}`rm -rf {shlex.quote(str(directory))}`{warning}"
            names = [LOCAL] if directory == data and has_work else users
            how = still_used(names, users[0]) if users else command
            yield LeftBehind(what=f"{what} in {directory}", how=how)


def _workspaces_in(scratch: Path) -> list[str]:
    try:
        return known_workspaces(scratch)
    except OSError:
        return []


def _completion(home: Path, users: Sequence[str]) -> Iterator[LeftBehind]:
    """What `--install-completion` wrote, and the line by which the shell finds it."""
    bash = home / ".bash_completions" / "scratchflow.sh"
    if bash.is_file():
        command = f"`rm {shlex.quote(str(bash))}`, and delete the line `source '{bash}'`"
        yield LeftBehind(
            what=f"bash's completion in {bash}, and the line in {home / '.bashrc'} that reads it",
            how=still_used(users) if users else command,
        )
    others = {
        "zsh": home / ".zfunc" / "_scratchflow",
        "fish": home / ".config" / "fish" / "completions" / "scratchflow.fish",
    }
    for shell, path in others.items():
        if path.is_file():
            how = still_used(users) if users else f"`rm {shlex.quote(str(path))}`"
            yield LeftBehind(what=f"{shell}'s completion in {path}", how=how)
