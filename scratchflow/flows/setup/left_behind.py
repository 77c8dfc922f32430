"""What `setup --remove` and `profiles remove` do not touch, and how to remove each: the user's data is the user's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from scratchflow.config.file import users_directory
from scratchflow.config.settings import LOCAL, Settings
from scratchflow.flows.setup.traces import Traces, WorkspaceTrace
from scratchflow.model.profile import Profile
from scratchflow.model.results import LeftBehind
from scratchflow.model.text import counted
from scratchflow.workspace.workspace import STATE_NAME

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


def left_behind(
    settings: Settings,
    traces: Traces | None,
    others: Mapping[str, Profile],
    *,
    all_profiles: bool = False,
) -> list[LeftBehind]:
    """The profile, every workspace's snapshots, copies on scratch, notes and cache.

    `traces` is what the cluster said; None when it could not be asked. `others` are the other
    profiles of the file: what is theirs is named as that.
    """
    found = list(_profile(settings))
    found += [_profile_named(name, settings) for name in others if all_profiles]
    if settings.profile.scheduler == "slurm" and traces is None:
        found += _unseen_snapshots(settings)
    elif settings.profile.scheduler == "slurm" and traces is not None:
        found += [*_snapshots(settings, traces, others), *_copies(settings, traces)]
        found += _notes_there(settings, traces)
    # Where this machine is the login host itself, what goes with the agent goes here.
    goes = _GOES_WITH_AGENT if settings.profile.login == LOCAL else set()
    return [*found, *_here(goes), *_completion(Path.home())]


def left_of_profile(settings: Settings, traces: Traces | None) -> Iterator[str]:
    """What `profiles remove` does not touch: where it is and how to remove it.

    `traces` is None when nobody looked. Where no store was made, there is no workspace either.
    """
    profile = settings.profile
    where = f" on `{profile.login}`" if profile.login != LOCAL else ""
    path = f"{profile.store.rstrip('/')}/{profile.workspace}"
    trace = _own_trace(profile, traces)
    if trace is None and traces is not None and not _OTHER_NAME.search(profile.store):
        return
    number = "its snapshots, if there are any," if trace is None else _number(trace)
    yield f"{number} in {path}{where}; `{removal_command(profile.login, path)}` removes {_them(trace)} for good"
    workspace = f"{profile.scratch.rstrip('/')}/{profile.workspace}"
    command = f"`{removal_command(LOCAL, workspace)}`"
    nodes = " of the nodes that held it" if profile.scheduler == "slurm" else ""
    there = f"{command} in a job there removes it" if nodes else f"{command} removes it"
    yield f"the workspace, in {workspace}{nodes}; {there}"


def _own_trace(profile: Profile, traces: Traces | None) -> WorkspaceTrace | None:
    """What was found in the profile's own place of the store."""
    own = (profile.store, profile.workspace)
    found = traces.workspaces if traces else ()
    return next((trace for trace in found if (trace.store, trace.name) == own), None)


def _them(trace: WorkspaceTrace | None) -> str:
    return "it" if trace is not None and trace.snapshots < 2 and not trace.jobs else "them"


def removal_command(login: str, path: str) -> str:
    """What to type on this machine to remove a directory of the login host, or of this machine itself."""
    command = f"rm -r {_far_word(path)}"
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


def _unseen_snapshots(settings: Settings) -> Iterator[LeftBehind]:
    profile = settings.profile
    path = f"{profile.store.rstrip('/')}/{profile.workspace}"
    yield LeftBehind(
        what=f"the snapshots in {path} on `{profile.login}`",
        how=f"`{removal_command(profile.login, path)}`: gone for good",
    )


def _snapshots(
    settings: Settings, traces: Traces, others: Mapping[str, Profile]
) -> Iterator[LeftBehind]:
    login = settings.profile.login
    for trace in traces.workspaces:
        yield LeftBehind(
            what=f"{_number(trace)} in {trace.path} on `{login}`{_owner(trace, settings, others)}",
            how=f"`{removal_command(login, trace.path)}`: gone for good",
        )


def _number(trace: WorkspaceTrace) -> str:
    """What lies there, in numbers; what submitted jobs made is in no snapshot."""
    found = counted(trace.snapshots, "snapshot") if trace.snapshots else "a store without snapshots"
    if trace.jobs:
        found += f" and the records and outputs of {counted(trace.jobs, 'job')}"
    return found


def _owner(trace: WorkspaceTrace, settings: Settings, others: Mapping[str, Profile]) -> str:
    names = [
        name
        for name, profile in others.items()
        if (profile.login, profile.workspace) == (settings.profile.login, trace.name)
    ]
    return f", of profile `{names[0]}`" if names else ""


def _copies(settings: Settings, traces: Traces) -> Iterator[LeftBehind]:
    """Which workspace is on which node's scratch, and our notes beside it."""
    nodes = sorted({node for trace in traces.workspaces for node in trace.nodes})
    if not nodes:
        return
    names = [trace.name for trace in traces.workspaces if trace.nodes]
    scratch = settings.profile.scratch.rstrip("/")
    paths = [f"{scratch}/{name}" for name in dict.fromkeys([*names, STATE_NAME])]
    yield LeftBehind(
        what=f"copies of the workspace and our notes on the scratch of {', '.join(nodes)}",
        how=f"`rm -r {' '.join(map(_far_word, paths))}` in a job on each,"
        " or leave them to the cluster's own clean-up",
    )


def _notes_there(settings: Settings, traces: Traces) -> Iterator[LeftBehind]:
    login = settings.profile.login
    rest = [entry for entry in traces.entries if entry not in _GOES_WITH_AGENT]
    if traces.has_state and login != LOCAL:
        yield LeftBehind(
            what=f"what commands remember in {_STATE_DIRECTORY} on `{login}`",
            how=f"`{removal_command(login, _STATE_DIRECTORY)}`",
        )
    if rest:
        yield LeftBehind(
            what=f"{', '.join(rest)} in {_OUR_DIRECTORY} on `{login}`",
            how=f"`{removal_command(login, _OUR_DIRECTORY)}`: gone for good",
        )


def _here(goes: set[str]) -> Iterator[LeftBehind]:
    """What is on this machine: the profile `local`, what commands remember, the cache."""
    import platformdirs

    data = users_directory("data")
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
            command = f"rm -r {shlex.quote(str(directory))}"
            yield LeftBehind(what=f"{what} in {directory}", how=f"`{command}`{warning}")


def _completion(home: Path) -> Iterator[LeftBehind]:
    """What `--install-completion` wrote, and the line by which the shell finds it."""
    bash = home / ".bash_completions" / "scratchflow.sh"
    if bash.is_file():
        line = f"source '{bash}'"
        yield LeftBehind(
            what=f"bash's completion in {bash}, and the line in {home / '.bashrc'} that reads it",
            how=f"`rm {shlex.quote(str(bash))}`, and delete the line `{line}`",
        )
    others = {
        "zsh": home / ".zfunc" / "_scratchflow",
        "fish": home / ".config" / "fish" / "completions" / "scratchflow.fish",
    }
    for shell, path in others.items():
        if path.is_file():
            yield LeftBehind(
                what=f"{shell}'s completion in {path}", how=f"`rm {shlex.quote(str(path))}`"
            )
