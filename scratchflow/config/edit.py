"""Changing keys of the user's file and nothing else: comments, order and spacing stay."""

from __future__ import annotations

import difflib
import fcntl
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from scratchflow.config.check import check_config, refuse_unsafe_text
from scratchflow.config.file import read_text, require_replaceable, utf8_text, write_text
from scratchflow.config.keys import (
    is_known,
    is_of_sync,
    require_known,
    sync_key_parts,
    typed_value,
)
from scratchflow.config.settings import require_profile
from scratchflow.config.toml import parse_document
from scratchflow.model.errors.config import ConfigBadValue, ConfigUnwritable
from scratchflow.model.profile import Config, Profile

if TYPE_CHECKING:
    import tomlkit

ORIGIN = "what you typed"

Removals = Sequence[Sequence[str]]
"""Keys and tables to take out, each as its parts from the top of the file down."""


class Edit(msgspec.Struct, frozen=True):
    """A change to the file: its text before and after."""

    before: str
    after: str

    def diff(self, path: Path) -> str:
        """The change as people read it; empty when there is none."""
        name = utf8_text(path)
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), name, name, lineterm=""
        )
        return "\n".join(lines)


def full_key(key: str, profile: Callable[[], str], origin: str = ORIGIN) -> str:
    """The key from the top of the file down: a bare one belongs to the profile in force."""
    if key == "default_profile" or key.startswith("profiles.") or is_of_sync(key):
        return key
    require_known(key, origin)
    return f"profiles.{profile()}.{key}"


def plan_edits(path: Path, assignments: Mapping[str, str], removals: Removals = ()) -> Edit:
    """The file's text with the keys set and removed; refused when the result would not load."""
    import tomlkit

    before = read_text(path, required=False) or ""
    parse_document(before, str(path))
    refuse_unsafe_text(assignments, ORIGIN)
    values = {key: _value(key, text) for key, text in assignments.items()}
    try:
        after = _with_values(before, values, removals, str(path))
    except (tomlkit.exceptions.TOMLKitError, RecursionError) as error:
        # The editor takes less than the reader does, nesting above all.
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigUnwritable(path=path, reason=problem) from None
    config = check_config(parse_document(after, str(path)), ORIGIN)
    if assignments.get("default_profile"):  # empty: none
        require_profile(config.default_profile, config.profiles)
    _require_own_aliases(config, assignments)
    if any(is_of_sync(key) for key in assignments):
        for name in (*config.sync.profiles, *config.sync.programs):
            require_profile(name, config.profiles)
    return Edit(before=before, after=after)


def _require_own_aliases(config: Config, assignments: Mapping[str, str]) -> None:
    """Refuses an alias that is a login host: nobody would get there any more, nor past it to a node.

    Only of what is set now: a file that has one has to stay open to its correction.
    """
    for key in assignments:
        section, name, *rest = [*key_parts(key), "", ""]
        if section != "profiles" or rest[0] not in {"alias", "login"}:
            continue
        alias = config.profiles[name].alias
        others = (config.profiles[name], *config.profiles.values())
        its = next((one.login for one in others if alias.lower() == one.login_name), None)
        if its is None or config.profiles[name].scheduler != "slurm":
            continue
        problem = (
            f"`{alias}` is the login host `{its}` itself, and `ssh {alias}` would not lead there any"
            f" more; another name, like `{Profile().alias}_{name}`, leads to the node"
        )
        raise ConfigBadValue(key=f"profiles.{name}.alias", origin=ORIGIN, problem=problem)


def _with_values(text: str, values: Mapping[str, Any], removals: Removals, origin: str) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    for key, value in values.items():
        _assign(document, key_parts(key), value, origin)
    for parts in removals:
        _remove(document, parts)
    return _with_blank_lines(text, tomlkit.dumps(document))


def _with_blank_lines(before: str, after: str) -> str:
    """A table that was put between two others is followed by a blank line; what was there stays as it was."""
    lines = before.splitlines()
    known = set(itertools.pairwise(lines))
    found: list[str] = []
    for line in after.splitlines(keepends=True):
        last = found[-1].strip() if found else ""
        is_new = found and (found[-1].rstrip("\r\n"), line.rstrip("\r\n")) not in known
        if is_new and last and not last.startswith(("#", "[")) and line.startswith(("#", "[")):
            found.append("\r\n" if line.endswith("\r\n") else "\n")
        found.append(line)
    return "".join(found)


def apply_edits(path: Path, assignments: Mapping[str, str], removals: Removals = ()) -> Edit:
    """Plans and writes the change; two of us at once both get their keys in."""
    require_replaceable(path)
    with _alone_in(path.parent, path):
        edit = plan_edits(path, assignments, removals)
        if edit.after != edit.before:
            write_text(path, edit.after)
    return edit


def remove_if_blank(path: Path) -> bool:
    """Takes away a file in which nothing is left, not even a comment, with its directory if that is empty; whether it did.

    A symlink stays: it leads to a file that the user keeps elsewhere.
    """
    with _alone_in(path.parent, path):
        if path.is_symlink() or (read_text(path, required=False) or "").strip():
            return False
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigUnwritable(path=path, reason=error.strerror) from None
    with suppress(OSError):
        path.parent.rmdir()
    return True


@contextmanager
def _alone_in(directory: Path, path: Path) -> Iterator[None]:
    """Holds off other scratchflows on this machine while the file is read, changed and replaced.

    The lock is on the directory, since the file itself is replaced. It says nothing to other
    programs: an editor that saves at the same moment wins or loses whole, never mixed.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigUnwritable(path=path, reason=error.strerror) from None
    try:
        # On a file system without locks two changes in the same instant are one.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def key_parts(key: str, origin: str = ORIGIN) -> list[str]:
    """`profiles.NAME.KEY` in parts; a profile's name may itself hold dots."""
    if key == "default_profile":
        return [key]
    if is_of_sync(key):
        return sync_key_parts(key, origin)
    words = key.split(".")[1:]
    for length in range(len(words) - 1, 0, -1):
        if is_known(".".join(words[-length:])):
            return ["profiles", ".".join(words[:-length]), *words[-length:]]
    require_known(".".join(words[1:]), origin)
    raise ConfigBadValue(key=key, origin=origin, problem="expected profiles.NAME.KEY")


def _value(key: str, text: str) -> Any:
    if key == "default_profile":
        return text
    if is_of_sync(key):
        sync_key_parts(key, ORIGIN)
        return typed_value(key, text, ORIGIN)
    return typed_value(".".join(key_parts(key)[2:]), text, ORIGIN)


def _assign(document: tomlkit.TOMLDocument, parts: list[str], value: Any, origin: str) -> None:
    table: Any = document
    for depth, part in enumerate(parts[:-1]):
        if part not in table:
            table[part] = _new_table(table, is_top=depth == 0)
        table = table[part]
        if not isinstance(table, dict):
            key = ".".join(parts[: depth + 1])
            raise ConfigBadValue(key=key, origin=origin, problem="expected a table")
    table[parts[-1]] = value


def _remove(document: tomlkit.TOMLDocument, parts: Sequence[str]) -> None:
    """What is not there is left out already."""
    table: Any = document
    for part in parts[:-1]:
        if not isinstance(table, dict) or part not in table:
            return
        table = table[part]
    if isinstance(table, dict) and parts[-1] in table:
        del table[parts[-1]]


def _new_table(parent: Any, *, is_top: bool) -> Any:
    import tomlkit

    if isinstance(parent, tomlkit.items.InlineTable):
        return tomlkit.inline_table()
    # `[profiles]` alone would be a heading with nothing in it.
    return tomlkit.table(is_super_table=is_top)
