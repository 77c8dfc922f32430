"""`config`: show the settings in force, say where they are, read, change or unset one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.config.edit import Edit, apply_edits, full_key, key_parts, plan_edits
from scratchflow.config.file import config_path, is_there, read_text, utf8_text
from scratchflow.config.keys import is_of_sync, require_known, sync_key_parts
from scratchflow.config.settings import (
    LOCAL,
    PROFILE_VARIABLE,
    Asked,
    Settings,
    default_profile,
    load_settings,
    settings_in,
    sync_options,
)
from scratchflow.config.toml import parse_document
from scratchflow.model.events import Emit, Log
from scratchflow.model.profile import to_plain_with_nulls
from scratchflow.model.results.config import ConfigChanged, ConfigPath, ConfigShown, ConfigValue

_VARIABLES = "environment.variables"


def show(asked: Asked, environment: Mapping[str, str], emit: Emit, *, origin: bool) -> ConfigShown:
    """The profile in force, complete."""
    settings = load_settings(asked, environment)
    if not settings.exists:
        emit(
            Log(
                level="info",
                message="no configuration file yet; using the built-in profile `local`",
            )
        )
    return ConfigShown(
        path=utf8_text(settings.path),
        profile=settings.name,
        profiles=list(settings.profiles),
        values=to_plain_with_nulls(settings.profile),
        origins=_origins(settings) if origin else None,
    )


def _origins(settings: Settings) -> dict[str, str]:
    """By key; the variables have one together as well, of all places that set one of them."""
    found = {key: utf8_text(origin) for key, origin in settings.origins.items()}
    of_variables = [origin for key, origin in found.items() if key.startswith(f"{_VARIABLES}.")]
    return found | ({_VARIABLES: ", ".join(dict.fromkeys(of_variables))} if of_variables else {})


def path(asked: Asked, environment: Mapping[str, str]) -> ConfigPath:
    """Where the configuration file is or would be; works when the file itself is broken."""
    place, _ = config_path(asked.config, environment)
    return ConfigPath(path=utf8_text(place), exists=is_there(place))


def change(
    asked: Asked,
    environment: Mapping[str, str],
    emit: Emit,
    key: str,
    value: str,
    *,
    dry_run: bool,
) -> ConfigChanged:
    """Sets one key in the file, or says what that would change. A profile may be new by it."""
    place, _ = config_path(asked.config, environment)
    whole_key = full_key(key, lambda: _profile_to_change(asked, environment, place))
    edit = (plan_edits if dry_run else apply_edits)(place, {whole_key: value})
    if _is_of_alias(whole_key) and edit.after != edit.before:
        from scratchflow.flows.setup.own_entry import warn_of_new_alias

        warn_of_new_alias(place, key_parts(whole_key)[1], edit, emit)
    return _changed(place, key, whole_key, edit, dry_run=dry_run)


def unset(
    asked: Asked, environment: Mapping[str, str], key: str, *, dry_run: bool
) -> ConfigChanged:
    """Takes one key out of the file, so that its default counts again."""
    place, _ = config_path(asked.config, environment)
    origin = "config unset"
    whole_key = full_key(key, lambda: _profile_to_change(asked, environment, place), origin)
    parts = key_parts(whole_key, origin)
    edit = (plan_edits if dry_run else apply_edits)(place, {}, [parts])
    return _changed(place, key, whole_key, edit, dry_run=dry_run)


def get(asked: Asked, environment: Mapping[str, str], key: str) -> ConfigValue:
    """The value in force, and where it came from."""
    origin = "config get"
    if key == "default_profile":
        name = default_profile(asked, environment)
        place, _ = config_path(asked.config, environment)
        return ConfigValue(
            key=key, value=name or None, origin=utf8_text(place) if name else "default"
        )
    if is_of_sync(key):
        return _sync_value(asked, environment, sync_key_parts(key, origin))
    if key.startswith("profiles."):
        _, name, *rest = key_parts(key, origin)
        asked, key = msgspec.structs.replace(asked, profile=name), ".".join(rest)
    require_known(key, origin)
    settings = load_settings(asked, environment)
    value: Any = to_plain_with_nulls(settings.profile)
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return ConfigValue(key=key, value=value, origin=_origins(settings).get(key, "default"))


def _sync_value(asked: Asked, environment: Mapping[str, str], parts: Sequence[str]) -> ConfigValue:
    """A key of `[sync]`, which belongs to no profile."""
    place, required = config_path(asked.config, environment)
    document = parse_document(read_text(place, required=required) or "", str(place))
    value: Any = {"sync": to_plain_with_nulls(sync_options(asked, environment))}
    written: Any = document
    for part in parts:
        value = value.get(part) if isinstance(value, dict) else None
        written = written.get(part) if isinstance(written, dict) else None
    origin = "default" if written is None else utf8_text(place)
    return ConfigValue(key=".".join(parts), value=value, origin=origin)


def _changed(place: Path, typed: str, key: str, edit: Edit, *, dry_run: bool) -> ConfigChanged:
    from scratchflow.node.autobackup.settings import is_of_loop, takes_effect

    changed = edit.after != edit.before
    # A profile that the key names may be another one than commands use.
    named = key_parts(key)[1] if typed == key and typed.startswith("profiles.") else ""
    return ConfigChanged(
        path=utf8_text(place),
        key=key,
        changed=changed,
        dry_run=dry_run,
        diff=edit.diff(place),
        takes_effect=takes_effect(key, named) if changed and is_of_loop(key) else "",
        stays=_stays(place, key, edit),
        removed_alias=_old_alias(place, key, edit, dry_run=dry_run),
    )


def _old_alias(place: Path, key: str, edit: Edit, *, dry_run: bool) -> str | None:
    """The alias that goes with the change. `up` makes the one that comes."""
    if not _is_of_alias(key) or edit.after == edit.before:
        return None
    from scratchflow.flows.old_alias import take_away_old_alias

    return take_away_old_alias(place, key_parts(key)[1], edit, dry_run=dry_run)


def _is_of_alias(key: str) -> bool:
    """Whether the key of a profile says which file of the alias is ours."""
    parts = key_parts(key)
    return len(parts) == 3 and parts[2] in {"alias", "ssh_config"}


def _stays(place: Path, key: str, edit: Edit) -> list[str]:
    """Where the snapshots of a profile stay whose store or workspace has another name now."""
    parts = key_parts(key)
    if len(parts) != 3 or parts[2] not in {"store", "workspace"}:
        return []
    name = parts[1]
    if name not in parse_document(edit.before, str(place)).get("profiles", {}):
        return []
    old, new = (settings_in(text, place, name).profile for text in (edit.before, edit.after))
    if (old.store, old.workspace) == (new.store, new.workspace):
        return []
    store = f"--set {shlex.quote(f'store={old.store}')}"
    workspace = f"--set {shlex.quote(f'workspace={old.workspace}')}"
    where = workspace if parts[2] == "workspace" else store
    stay = (
        f"snapshots made so far, if any, stay in `{old.store.rstrip('/')}/{old.workspace}`:"
        f" `scratchflow -p {name} {where} snapshots list` lists them"
    )
    if old.workspace != new.workspace:
        return [stay]
    bring = (
        f"to bring them along: `scratchflow {store} {workspace} profiles copy {name} {name}-old`,"
        f" then `scratchflow -p {name}-old snapshots copy --all --to {name}`"
    )
    return [stay, bring]


def _profile_to_change(asked: Asked, environment: Mapping[str, str], place: Path) -> str:
    named = asked.profile or environment.get(PROFILE_VARIABLE)
    if named:
        return named
    return load_settings(asked, environment).name if is_there(place) else LOCAL
