"""Which unison a host has, and which two work together."""

from __future__ import annotations

import re

import msgspec

_VERSION = re.compile(r"\bunison version (\d+)\.(\d+)\S*(?: \(ocaml (\d+\.\d+)\S*\))?")
# From here on the two ends agree on what they say, whichever compiler built them.
_AGREES_FROM = (2, 52)


class UnisonVersion(msgspec.Struct, frozen=True):
    """What `unison -version` prints, as far as it matters."""

    text: str
    number: tuple[int, int]
    compiler: str


def read_version(said: str) -> UnisonVersion | None:
    """The version; None for what no unison says."""
    found = _VERSION.search(said)
    if found is None:
        return None
    text = found[0].removeprefix("unison version ")
    return UnisonVersion(text, (int(found[1]), int(found[2])), found[3] or "")


def work_together(one: UnisonVersion, other: UnisonVersion) -> bool:
    """Old ones need the same release, built with the same compiler."""
    if min(one.number, other.number) >= _AGREES_FROM:
        return True
    return one.number == other.number and one.compiler == other.compiler
