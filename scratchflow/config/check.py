"""From plain values to a checked configuration; every complaint names its key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from scratchflow.config.keys import unknown_key
from scratchflow.model.errors.config import ConfigBadValue
from scratchflow.model.profile import NAME_PATTERN, Config, Profile, Section, decode_duration

_S = TypeVar("_S", bound=Section)
_NAMED = re.compile(r"`(\w+)`:? (.*)", re.DOTALL)


def check_config(document: Mapping[str, Any], origin: str) -> Config:
    """The document as a Config."""
    refuse_unsafe_text(document, origin)
    _refuse_unknown(document, Config, "", origin)
    profiles = document.get("profiles", {})
    if not isinstance(profiles, dict):
        raise ConfigBadValue(key="profiles", origin=origin, problem="expected a table")
    # One by one: msgspec's complaints about a dict's values do not name the key.
    checked = {name: _named_profile(name, table, origin) for name, table in profiles.items()}
    config = _convert({**document, "profiles": {}}, Config, "", {"": origin})
    return msgspec.structs.replace(config, profiles=checked)


def _named_profile(name: str, table: Any, origin: str) -> Profile:
    if not re.fullmatch(NAME_PATTERN, name):
        problem = "a profile's name has letters, digits, `.`, `_` and `-` only"
        raise ConfigBadValue(key=f"profiles.{name}", origin=origin, problem=problem)
    return check_profile(table, {"": origin}, prefix=f"profiles.{name}.")


def check_profile(table: Any, origins: Mapping[str, str], prefix: str = "") -> Profile:
    """The table as a Profile. `origins` says where a key came from, `""` where all others did."""
    if not isinstance(table, dict):
        key = prefix.rstrip(".")
        raise ConfigBadValue(key=key, origin=origins[""], problem="expected a table")
    _refuse_unknown(table, Profile, prefix, origins[""])
    return _convert(table, Profile, prefix, origins)


def check_given_profile(table: Mapping[str, Any], origin: str) -> Profile:
    """A table that did not come from a file of this machine, as a Profile."""
    refuse_unsafe_text(table, origin)
    return check_profile(table, {"": origin})


def _convert(
    values: Mapping[str, Any], kind: type[_S], prefix: str, origins: Mapping[str, str]
) -> _S:
    try:
        return msgspec.convert(values, kind, dec_hook=decode_duration)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        key = place.rstrip("`").lstrip(".")
        if named := _NAMED.fullmatch(problem):  # a rule of a whole section, about one of its keys
            key, problem = f"{key}.{named[1]}".lstrip("."), named[2]
        origin = origins.get(key, origins[""])
        words = _in_words(problem) + _choices(kind, key)
        raise ConfigBadValue(
            key=f"{prefix}{key}".rstrip("."), origin=origin, problem=words
        ) from None


def _choices(kind: type[Section], key: str) -> str:
    """What follows a complaint about a key that takes a few words only; empty for any other."""
    hint = get_type_hints(kind).get(key)
    words = get_args(hint) if get_origin(hint) is Literal else ()
    return f"; it takes {' or '.join(f'`{word}`' for word in words)}" if words else ""


def _in_words(problem: str) -> str:
    """msgspec's sentence, without its Python words."""
    text = problem[:1].lower() + problem[1:]
    for ours, theirs in {
        "not one of its words:": "invalid enum value",
        "text": "`str`",
        "a whole number": "`int`",
        "true or false": "`bool`",
        "a list": "`array`",
        "a table": "`object`",
    }.items():
        text = text.replace(theirs, ours)
    return text


def _refuse_unknown(
    values: Mapping[str, Any], kind: type[Section], prefix: str, origin: str
) -> None:
    hints = get_type_hints(kind)
    for key, value in values.items():
        if key not in hints:
            raise unknown_key(key, origin, hints, prefix=prefix)
        section = hints[key]
        if isinstance(section, type) and issubclass(section, Section) and isinstance(value, dict):
            _refuse_unknown(value, section, f"{prefix}{key}.", origin)


def refuse_unsafe_text(document: Mapping[str, Any], origin: str) -> None:
    """Refuses what no value needs: a newline could forge a line of an ssh config or a script,

    and text that is not UTF-8 could be written into no file and no JSON.
    """
    try:
        strings = list(_strings_of(document, ""))
    except RecursionError:
        key = ", ".join(document)
        raise ConfigBadValue(key=key, origin=origin, problem="nested too deeply") from None
    for key, text in strings:
        if any(_is_unsafe(character) for character in text):
            problem = (
                "control characters, like newlines, and text that is not UTF-8 are not allowed"
            )
            raise ConfigBadValue(key=key, origin=origin, problem=problem)


def _is_unsafe(character: str) -> bool:
    code = ord(character)
    return code < 32 or code == 127 or 0xD800 <= code <= 0xDFFF  # the last: half of nothing


def _strings_of(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            inner_key = f"{key}.{name}" if key else name
            yield inner_key, name
            yield from _strings_of(inner, inner_key)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings_of(inner, key)
