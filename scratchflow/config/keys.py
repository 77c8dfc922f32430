"""The keys a profile knows, and values for them as people type them on a command line."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, get_args, get_origin, get_type_hints

from scratchflow.config.toml import loads
from scratchflow.model.errors import ConfigBadValue, ConfigUnknownKey
from scratchflow.model.profile import Profile, Section
from scratchflow.model.text import closest

_VARIABLES = "environment.variables"


@functools.cache
def profile_keys() -> dict[str, Any]:
    """Every key of a profile in dotted form, with its type."""
    return dict(_keys_of(Profile, ""))


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
    guess = closest(key, known)
    suggestion = f'; did you mean "{guess}"?' if guess else ""
    return ConfigUnknownKey(key=f"{prefix}{key}", origin=origin, suggestion=suggestion)


def typed_value(key: str, text: str, origin: str) -> Any:
    """The text as a value of the key's type: strings bare, everything else as TOML writes it."""
    kind = profile_keys().get(key, str)  # variables are strings
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
