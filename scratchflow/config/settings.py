"""The settings in force: flag over environment over profile over default, and who said what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.config.check import (
    check_config,
    check_given_profile,
    check_profile,
    refuse_unsafe_text,
)
from scratchflow.config.file import config_path, read_text, users_directory
from scratchflow.config.keys import require_known, typed_value
from scratchflow.config.toml import parse_document
from scratchflow.model.errors.config import ConfigBadValue, ConfigNoProfile, ConfigProfileNeeded
from scratchflow.model.profile import Profile, SyncOptions, to_plain
from scratchflow.model.text import closest

LOCAL = "local"
FLAG = "--set"
"""The origin of a value that was given on the command line, by `--set` or by a flag of its own."""
PROFILE_VARIABLE = "SCRATCHFLOW_PROFILE"

_Table = dict[str, Any]


class Asked(msgspec.Struct, frozen=True):
    """What the command line says about settings."""

    config: str | None = None
    profile: str | None = None
    overrides: Sequence[str] = ()
    slurm: Mapping[str, Any] | None = None
    """A whole `[slurm]` table to use instead of the profile's; overrides lie over it."""


class Settings(msgspec.Struct, frozen=True):
    """One profile, complete, with the origin of each value."""

    path: Path
    exists: bool
    name: str
    profile: Profile
    origins: Mapping[str, str]
    profiles: Sequence[str]


def load_settings(asked: Asked, environment: Mapping[str, str]) -> Settings:
    """Reads the file, picks the profile and lays the flags over it."""
    path, required = config_path(asked.config, environment)
    text = read_text(path, required=required)
    return _settings(text, path, asked, environment)


def default_profile(asked: Asked, environment: Mapping[str, str]) -> str:
    """What the file says is the default; empty when it says nothing."""
    path, required = config_path(asked.config, environment)
    text = read_text(path, required=required) or ""
    return check_config(parse_document(text, str(path)), str(path)).default_profile


def file_profiles(asked: Asked, environment: Mapping[str, str]) -> dict[str, _Table]:
    """The tables of the profiles as the file has them, checked; without defaults."""
    path, required = config_path(asked.config, environment)
    document = parse_document(read_text(path, required=required) or "", str(path))
    check_config(document, str(path))
    tables: dict[str, _Table] = document.get("profiles", {})
    return tables


def sync_options(asked: Asked, environment: Mapping[str, str]) -> SyncOptions:
    """The table `[sync]`, whose profiles all exist."""
    path, required = config_path(asked.config, environment)
    document = parse_document(read_text(path, required=required) or "", str(path))
    config = check_config(document, str(path))
    for name in (*config.sync.profiles, *config.sync.programs):
        require_profile(name, config.profiles)
    return config.sync


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """What the file has beside the profile in use."""

    profiles: int
    syncs: bool
    """Whether `sync` has folders, and two homes at least."""


def configured(asked: Asked, environment: Mapping[str, str]) -> Configured:
    """Read without asking for a profile, so that it works whichever is chosen."""
    path, required = config_path(asked.config, environment)
    document = parse_document(read_text(path, required=required) or "", str(path))
    config = check_config(document, str(path))
    syncs = bool(config.sync.folders) and len(config.sync.profiles) > 1
    return Configured(profiles=len(document.get("profiles", {})), syncs=syncs)


def settings_in(text: str, path: Path, name: str, asked: Asked | None = None) -> Settings:
    """One profile of a text that is not in the file yet, with what `asked` lays over it."""
    asked = msgspec.structs.replace(asked or Asked(), profile=name)
    return _settings(text, path, asked, {})


def _settings(
    text: str | None, path: Path, asked: Asked, environment: Mapping[str, str]
) -> Settings:
    document = parse_document(text, str(path)) if text is not None else {}
    config = check_config(document, str(path))
    tables: dict[str, _Table] = document.get("profiles", {})
    name = _choose(asked, environment, config.default_profile, list(tables), path)
    profile, origins = _layer(name, tables.get(name, {}), asked, str(path))
    known = list(tables) if LOCAL in tables else [*tables, LOCAL]
    return Settings(path, text is not None, name, profile, origins, known)


def given_settings(name: str, table: Mapping[str, Any], origin: str) -> Settings:
    """A profile that came from elsewhere, complete: no file of this machine has a say in it."""
    profile = check_given_profile(table, origin)
    origins = dict.fromkeys(_flat(to_plain(profile)), origin)
    return Settings(
        path=Path(os.devnull),
        exists=True,
        name=name,
        profile=profile,
        origins=origins,
        profiles=[name],
    )


def _choose(
    asked: Asked, environment: Mapping[str, str], default: str, names: list[str], path: Path
) -> str:
    wanted = asked.profile or environment.get(PROFILE_VARIABLE) or default
    if wanted:
        require_profile(wanted, names)
        return wanted
    if len(names) > 1:
        raise ConfigProfileNeeded(path=path, known=", ".join(names))
    return names[0] if names else LOCAL


def require_profile(wanted: str, names: Iterable[str]) -> None:
    """Refuses a name that no profile has, with the closest one that exists; `local` always does."""
    known = list(dict.fromkeys([*names, LOCAL]))
    if wanted not in known:
        guess = closest(wanted, known)
        suggestion = f'; did you mean "{guess}"?' if guess else ""
        raise ConfigNoProfile(name=wanted, suggestion=suggestion, known=", ".join(known))


def _layer(name: str, table: _Table, asked: Asked, path: str) -> tuple[Profile, dict[str, str]]:
    merged = _merge(_defaults(name), table)
    origins = dict.fromkeys(_flat(merged), "default") | dict.fromkeys(_flat(table), path)
    if asked.slurm is not None:
        merged["slurm"] = dict(asked.slurm)
        origins |= dict.fromkeys(_flat(merged["slurm"], "slurm."), "--last")
    for override in asked.overrides:
        key, value = _parse_override(override)
        merged = _merge(merged, _nested(key, value))
        origins[key] = FLAG
    profile = check_profile(merged, {**origins, "": path})
    return profile, origins


def _defaults(name: str) -> _Table:
    return to_plain(local_profile() if name == LOCAL else Profile())


def local_profile() -> Profile:
    """The built-in profile: no cluster, the node is this machine."""
    data = users_directory("data")
    if "$" in os.fspath(data):
        problem = (
            f"`{data}` holds a `$`, which would begin a name; XDG_DATA_HOME can be another path"
        )
        raise ConfigBadValue(key="scratch", origin="environment", problem=problem)
    table = {
        "login": "local",
        "scheduler": "none",
        "scratch": os.fspath(data / "scratch"),
        "store": os.fspath(data / "store"),
    }
    return check_given_profile(table, "environment")


def checked_overrides(overrides: Sequence[str]) -> dict[str, str]:
    """What `--set` said, key by key, for a profile that is about to be written."""
    checked = {}
    for override in overrides:
        key, _ = _parse_override(override)
        checked[key] = override.partition("=")[2]
    return checked


def _parse_override(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigBadValue(key=text, origin="--set", problem="expected KEY=VALUE")
    require_known(key, "--set")
    typed = typed_value(key, value, "--set")
    refuse_unsafe_text({key: typed}, "--set")
    return key, typed


def _nested(key: str, value: Any) -> _Table:
    for part in reversed(key.split(".")):
        value = {part: value}
    table: _Table = value
    return table


def _merge(below: _Table, above: _Table) -> _Table:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = (
            _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return merged


def _flat(table: _Table, prefix: str = "") -> list[str]:
    keys: list[str] = []
    for key, value in table.items():
        if isinstance(value, dict) and value:
            keys += _flat(value, f"{prefix}{key}.")
        else:
            keys.append(f"{prefix}{key}")
    return keys
