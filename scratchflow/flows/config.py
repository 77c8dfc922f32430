"""`config`: show the settings in force, say where they are, change one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scratchflow.config.edit import apply_edits, full_key, plan_edits
from scratchflow.config.file import config_path, is_there, utf8_text
from scratchflow.config.settings import LOCAL, PROFILE_VARIABLE, Asked, Settings, load_settings
from scratchflow.model.events import Emit, Log
from scratchflow.model.profile import to_plain_with_nulls
from scratchflow.model.results import ConfigChanged, ConfigPath, ConfigShown
from scratchflow.node.autobackup.settings import LATER, is_of_loop


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
    return {key: utf8_text(origin) for key, origin in settings.origins.items()}


def path(asked: Asked, environment: Mapping[str, str]) -> ConfigPath:
    """Where the configuration file is or would be; works when the file itself is broken."""
    place, _ = config_path(asked.config, environment)
    return ConfigPath(path=utf8_text(place), exists=is_there(place))


def change(
    asked: Asked, environment: Mapping[str, str], key: str, value: str, *, dry_run: bool
) -> ConfigChanged:
    """Sets one key in the file, or says what that would change. A profile may be new by it."""
    place, _ = config_path(asked.config, environment)
    whole_key = full_key(key, lambda: _profile_to_change(asked, environment, place))
    edit = (plan_edits if dry_run else apply_edits)(place, {whole_key: value})
    changed = edit.after != edit.before
    return ConfigChanged(
        path=utf8_text(place),
        key=whole_key,
        changed=changed,
        dry_run=dry_run,
        diff=edit.diff(place),
        takes_effect=LATER if changed and is_of_loop(whole_key) else "",
    )


def _profile_to_change(asked: Asked, environment: Mapping[str, str], place: Path) -> str:
    named = asked.profile or environment.get(PROFILE_VARIABLE)
    if named:
        return named
    return load_settings(asked, environment).name if is_there(place) else LOCAL
