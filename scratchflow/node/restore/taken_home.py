"""Which files of a directory came from snapshots or jobs, with a digest of each: one that still has it was not changed here.

In the user's own state directory, because the target is the user's. It may be removed at any time: then files that
differ from the snapshot are named instead of brought up to date.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.config.file import users_directory
from scratchflow.disk.durable import replace_file
from scratchflow.model.errors.config import ConfigBadValue

_MOST_BYTES = 64 << 20
_READ_BYTES = 1 << 20


class _Note(msgspec.Struct, frozen=True):
    directory: str
    digests: dict[str, str]


class TakenHome(msgspec.Struct, frozen=True):
    """What is known of one directory; names are relative to it."""

    directory: Path
    digests: Mapping[str, str]

    @classmethod
    def read(cls, directory: Path) -> TakenHome:
        """Nothing, when nothing can be read."""
        real = Path(os.path.realpath(directory))
        try:
            with _file(real).open("rb") as file:
                note = msgspec.json.decode(file.read(_MOST_BYTES), type=_Note)
        except (OSError, ConfigBadValue, UnicodeError, msgspec.DecodeError):
            return cls(real, {})
        return cls(real, note.digests if note.directory == _text(str(real)) else {})

    def is_unchanged(self, name: str) -> bool:
        """Whether the file is the one that came."""
        known = self.digests.get(_text(name))
        return known is not None and digest_of(self.directory / name) == known

    def unchanged_among(self, names: Iterable[str]) -> dict[str, os.stat_result]:
        """Those of these that are regular files and as they came, each with what it was when it was looked at."""
        found = {}
        for name in names:
            looked = os.lstat(self.directory / name)
            if stat.S_ISREG(looked.st_mode) and self.is_unchanged(name):
                found[name] = looked
        return found

    def with_more(self, digests: Mapping[str, str]) -> TakenHome:
        """The same with what came now."""
        more = {_text(name): digest for name, digest in digests.items() if digest}
        return TakenHome(self.directory, {**self.digests, **more})

    def write(self) -> None:
        """A disk that cannot be written costs the memory only."""
        note = _Note(_text(str(self.directory)), dict(self.digests))
        with suppress(OSError, ConfigBadValue):
            file = _file(self.directory)
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(file, msgspec.json.encode(note), mode=0o600)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content; empty when it may not be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(_READ_BYTES):
                digest.update(piece)
    except OSError:
        return ""
    return digest.hexdigest()


def _file(directory: Path) -> Path:
    name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    return users_directory("state") / "taken" / f"{name}.json"


def _text(name: str) -> str:
    """A name as JSON can hold it, different for different names."""
    return os.fsencode(name).decode("utf-8", "backslashreplace").replace("\0", "")
