"""The keys a profile knows, and values for them as people type them on a command line."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, get_args, get_origin, get_type_hints

from scratchflow.config.toml import loads
from scratchflow.model.errors.config import ConfigBadValue, ConfigUnknownKey
from scratchflow.model.profile import Profile, Section, SyncOptions
from scratchflow.model.text import closest

_VARIABLES = "environment.variables"
_SYNC = "sync."
_PROGRAMS = "sync.programs"

# What people call a key, and the key. The words stand for the last part of what they type.
OTHER_WORDS = {
    **dict.fromkeys(("interval", "frequency", "period", "minutes", "schedule"), "backup.every"),
    **dict.fromkeys(("ignore", "ignored", "skip", "excludes"), "backup.exclude"),
    **dict.fromkeys(("include", "includes", "extra_dirs", "directories"), "backup.also"),
    **dict.fromkeys(("compression", "compress"), "backup.level"),
    **dict.fromkeys(("keep", "retention", "history"), "backup.keep_last"),
    **dict.fromkeys(("walltime", "time_limit", "timelimit", "duration", "hours"), "slurm.time"),
    **dict.fromkeys(("cpu", "cpus", "cores", "threads", "ncpus"), "slurm.cpus_per_task"),
    **dict.fromkeys(("memory", "ram"), "slurm.mem"),
    **dict.fromkeys(("gpu", "ngpus"), "slurm.gpus"),
    **dict.fromkeys(("queue",), "slurm.partition"),
    **dict.fromkeys(("project",), "slurm.account"),
    **dict.fromkeys(("feature", "features"), "slurm.constraint"),
    **dict.fromkeys(("host", "hostname", "server", "cluster", "login_host"), "login"),
    **dict.fromkeys(("storage", "snapshots", "backup_dir", "destination", "target"), "store"),
    **dict.fromkeys(("session", "tmux"), "tmux_session"),
    **dict.fromkeys(("timeout", "max_wait"), "wait"),
    **dict.fromkeys(("env", "variable"), _VARIABLES),
    **dict.fromkeys(("default", "profile"), "default_profile"),
}


@functools.cache
def profile_keys() -> dict[str, Any]:
    """Every key of a profile in dotted form, with its type."""
    return dict(_keys_of(Profile, ""))


@functools.cache
def sync_keys() -> dict[str, Any]:
    """Every key of `[sync]` in dotted form, with its type."""
    return dict(_keys_of(SyncOptions, _SYNC))


def is_of_sync(key: str) -> bool:
    """Whether the key belongs to `[sync]`, and so to no profile."""
    return key.startswith(_SYNC)


def sync_key_parts(key: str, origin: str) -> list[str]:
    """`sync.KEY` or `sync.programs.NAME` in parts, whatever dots the name holds; refuses a key that does not exist."""
    if key.startswith(f"{_PROGRAMS}.") and key != f"{_PROGRAMS}.":
        return [*_PROGRAMS.split("."), key.removeprefix(f"{_PROGRAMS}.")]
    if key not in sync_keys():
        raise unknown_key(key, origin, sync_keys())
    return key.split(".")


def _keys_of(section: type[Section], prefix: str) -> list[tuple[str, Any]]:
    keys: list[tuple[str, Any]] = []
    for name, kind in get_type_hints(section).items():
        if isinstance(kind, type) and issubclass(kind, Section):
            keys += _keys_of(kind, f"{prefix}{name}.")
        else:
            keys.append((f"{prefix}{name}", kind))
    return keys


def is_known(key: str) -> bool:
    """Whether a profile has this dotted key."""
    return key in profile_keys() or key.startswith(f"{_VARIABLES}.")


def require_known(key: str, origin: str) -> None:
    """Refuses a dotted key that no profile has, with the closest one that exists."""
    if not is_known(key):
        raise unknown_key(key, origin, profile_keys())


def unknown_key(
    key: str, origin: str, known: Iterable[str], *, prefix: str = ""
) -> ConfigUnknownKey:
    """The error for a key that does not exist, with a guess at the one that was meant."""
    guess = _meant(key, list(known))
    suggestion = f'; did you mean "{guess}"?' if guess else ""
    return ConfigUnknownKey(key=f"{prefix}{key}", origin=origin, suggestion=suggestion)


def _meant(key: str, known: list[str]) -> str | None:
    """A key that goes by this word elsewhere, or has it as its last part, or is written much like it."""
    word = key.rpartition(".")[2]
    wanted = OTHER_WORDS.get(word, "")
    # Within a section of the file, keys are known by their last part.
    same = [one for one in known if one in {wanted, wanted.rpartition(".")[2]}]
    same += [one for one in known if one.rpartition(".")[2] == word]
    return same[0] if same else closest(key, known)


def typed_value(key: str, text: str, origin: str) -> Any:
    """The text as a value of the key's type: strings bare, everything else as TOML writes it."""
    known = sync_keys() if is_of_sync(key) else profile_keys()
    kind = known.get(key, str)  # variables and programs are strings
    if not _holds_toml(kind):
        return text
    if get_origin(kind) is list and not text.lstrip().startswith("["):
        return [text]
    try:
        return loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        problem = f"cannot read `{_shortened(text)}`"
        raise ConfigBadValue(key=key, origin=origin, problem=problem) from None


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _holds_toml(kind: Any) -> bool:
    """Whether a value of this type is written other than as a bare string."""
    if get_origin(kind) in {list, dict}:
        return True
    return kind in {int, bool} or any(_holds_toml(part) for part in get_args(kind))
