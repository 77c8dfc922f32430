"""`config import`: mrunner's contexts become profiles, after one question; what becomes none is told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.config.check import check_given_profile
from scratchflow.config.edit import apply_edits, plan_edits
from scratchflow.config.file import MAX_BYTES, config_path, utf8_text
from scratchflow.config.mrunner import Context, Fate, MrunnerFile, read_mrunner
from scratchflow.config.own_names import own_names
from scratchflow.config.settings import LOCAL, Asked, default_profile, file_profiles, load_settings
from scratchflow.config.yaml_text import parse_yaml
from scratchflow.flows.setup.asking import Asker, require_agreement
from scratchflow.model.errors.config import ImportUnreadable
from scratchflow.model.profile import Profile
from scratchflow.model.results.config import ConfigImported, ImportedContext, ImportedKey

Environment = Mapping[str, str]
Show = Callable[[ConfigImported], Iterable[str]]

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_LONGEST = 63


def import_mrunner(
    asked: Asked,
    environment: Environment,
    source: Path,
    asker: Asker,
    show: Show,
    *,
    dry_run: bool,
) -> ConfigImported:
    """Adds a profile for each Slurm context. Profiles that are there stay as they are."""
    place, _ = config_path(asked.config, environment)
    file = read_mrunner(parse_yaml(_text_of(source), utf8_text(source)), utf8_text(source))
    desk = _Desk(asked, environment)
    contexts = [desk.add(context) for context in file.contexts]
    keys = [*desk.choose_default(file, contexts), *map(_key, file.others)]
    edit = plan_edits(place, desk.assignments)
    result = ConfigImported(
        source=utf8_text(source),
        path=utf8_text(place),
        contexts=contexts,
        keys=keys,
        changed=edit.after != edit.before,
        dry_run=dry_run,
        diff=edit.diff(place),
    )
    if result.changed and not dry_run:
        if asker.can_ask:
            asker.tell(show(result))
        require_agreement(asker, "Add this?", "the import", f"edit `{utf8_text(place)}`")
        apply_edits(place, desk.assignments)
    return result


def _text_of(source: Path) -> str:
    try:
        with source.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise ImportUnreadable(path=utf8_text(source), problem="it is larger than 1 MiB")
        return raw.decode("utf-8")
    except OSError as error:
        problem = error.strerror or str(error)
        raise ImportUnreadable(path=utf8_text(source), problem=problem) from None
    except UnicodeDecodeError:
        raise ImportUnreadable(path=utf8_text(source), problem="it is not UTF-8 text") from None


class _Desk:
    """The profiles that are there, and those that are being added."""

    def __init__(self, asked: Asked, environment: Environment) -> None:
        self.assignments: dict[str, str] = {}
        self._tables = file_profiles(asked, environment)
        self._default = default_profile(asked, environment)
        names = [*self._tables, LOCAL]
        self._profiles = {
            name: load_settings(Asked(config=asked.config, profile=name), environment).profile
            for name in names
        }

    def add(self, context: Context) -> ImportedContext:
        """The context as a profile of its own, or as the one that an earlier import made of it."""
        keys = [_key(fate) for fate in context.fates]
        if context.not_ours:
            return ImportedContext(
                name=context.name,
                profile=None,
                state="not_ours",
                keys=keys,
                reason=context.not_ours,
            )
        name, is_there = self._name(context)
        if is_there:
            return ImportedContext(
                name=context.name, profile=name, state="there_already", keys=keys
            )
        own = self._write(name, context.settings)
        return ImportedContext(name=context.name, profile=name, state="new", keys=keys, own=own)

    def _name(self, context: Context) -> tuple[str, bool]:
        """A name that is free, or that of a profile with all these settings."""
        wanted = _NOT_IN_NAMES.sub("-", context.name).lstrip("._-")[:_LONGEST] or "imported"
        name, number = wanted, 2
        while name in self._profiles:
            if _holds(self._tables.get(name, {}), context.settings):
                return name, True
            ending = f"-{number}"
            name, number = f"{wanted[: _LONGEST - len(ending)]}{ending}", number + 1
        return name, False

    def _write(self, name: str, settings: Mapping[str, Any]) -> dict[str, str]:
        profile = _profile(settings)
        own = own_names(name, profile, self._profiles.values())
        self._profiles[name] = msgspec.structs.replace(profile, **own)
        for key, value in {**settings, **own}.items():
            self.assignments[f"profiles.{name}.{key}"] = _as_typed(value)
        return own

    def choose_default(
        self, file: MrunnerFile, contexts: Iterable[ImportedContext]
    ) -> list[ImportedKey]:
        """The context in use becomes the default, unless commands have a profile to use already."""
        profiles = {one.name: one.profile for one in contexts if one.profile}
        # A profile that is alone is used without being the default; it is not alone any more.
        kept = self._default or (next(iter(self._tables)) if len(self._tables) == 1 else "")
        chosen = kept or profiles.get(file.current) or next(iter(profiles.values()), "")
        if self.assignments and chosen != self._default:
            self.assignments["default_profile"] = chosen
        if not file.current:
            return []
        taken = not kept and bool(self.assignments) and file.current in profiles
        return [
            ImportedKey(
                key="current_context",
                value=file.current,
                taken=taken,
                settings={"default_profile": chosen} if taken else {},
                reason="" if taken else _why_no_default(kept, file.current, profiles),
            )
        ]


def _why_no_default(kept: str, current: str, profiles: Mapping[str, str]) -> str:
    if kept:
        return f"the default stays `{kept}`"
    if current not in profiles:
        return f"the context `{current}` became no profile"
    return "nothing is added"


def _key(fate: Fate) -> ImportedKey:
    return ImportedKey(
        key=fate.key,
        value=fate.value,
        taken=fate.is_taken,
        settings=fate.settings,
        reason=fate.reason,
    )


def _nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in settings.items():
        *parents, last = key.split(".")
        inner = table
        for part in parents:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return table


def _profile(settings: Mapping[str, Any]) -> Profile:
    return check_given_profile(_nested(settings), "config import")


def _holds(table: Any, settings: Mapping[str, Any]) -> bool:
    """Whether the table of a profile has all these values."""

    def within(wanted: Any, there: Any) -> bool:
        if not isinstance(wanted, dict):
            return bool(wanted == there)
        return isinstance(there, dict) and all(
            key in there and within(value, there[key]) for key, value in wanted.items()
        )

    return within(_nested(settings), table)


def _as_typed(value: Any) -> str:
    """As `config set` takes it."""
    import tomlkit

    return value if isinstance(value, str) else str(tomlkit.item(value).as_string())
