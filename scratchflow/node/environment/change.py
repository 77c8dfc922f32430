"""What the layers change in an environment: variables to set, and variables to remove.

The change is kept, and not the environment: what Slurm and ssh tell each process stays that process's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import msgspec

# Every process has its own; a shell sets them without being asked to.
_PER_PROCESS = {"_", "SHLVL", "PWD", "OLDPWD"}
OWN_PREFIX = "__scratchflow_"
_OWN = (OWN_PREFIX, f"BASH_FUNC_{OWN_PREFIX}")


class Change(msgspec.Struct, frozen=True):
    """From one environment to another. Bytes that are not UTF-8 are surrogate escapes."""

    values: dict[str, str] = {}
    removed: tuple[str, ...] = ()

    def applied_to(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment after the change."""
        kept = {name: value for name, value in base.items() if name not in self.removed}
        return {**kept, **self.values}

    def without(self, names: Set[str]) -> Change:
        """The same, with these variables left as they were."""
        values = {name: value for name, value in self.values.items() if name not in names}
        return Change(values, tuple(name for name in self.removed if name not in names))


NO_CHANGE = Change()


def change_between(before: Mapping[str, str], after: Mapping[str, str]) -> Change:
    """What made one environment the other, without what shells change by themselves."""
    values = {
        name: value for name, value in after.items() if before.get(name) != value and _is_kept(name)
    }
    removed = tuple(name for name in before if name not in after and _is_kept(name))
    return Change(values, removed)


def _is_kept(name: str) -> bool:
    return name not in _PER_PROCESS and not name.startswith(_OWN)


def parse_dump(content: bytes) -> dict[str, str]:
    """An environment as `env -0` prints it."""
    pairs = (entry.partition("=") for entry in _decoded(content))
    return {name: value for name, equals, value in pairs if name and equals}


def to_bytes(change: Change) -> bytes:
    """The change as it is kept in a file: `NAME=value` to set, `NAME` to remove, NUL after each."""
    entries = [*(f"{name}={value}" for name, value in change.values.items()), *change.removed]
    return "".join(f"{entry}\0" for entry in entries).encode("utf-8", "surrogateescape")


def from_bytes(content: bytes) -> Change:
    """What `to_bytes` wrote."""
    entries = [entry for entry in _decoded(content) if entry]
    removed = tuple(entry for entry in entries if "=" not in entry)
    return Change(parse_dump(content), removed)


def _decoded(content: bytes) -> list[str]:
    return content.decode("utf-8", "surrogateescape").split("\0")
