"""How a snapshot is to be taken."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from scratchflow.model.snapshot import Manifest, Purpose


class SnapshotOptions(msgspec.Struct, frozen=True):
    """How the user wants the snapshot taken."""

    full: bool = False
    allow_shrink: bool = False
    message: str = ""
    purpose: Purpose = "asked"
    # Also when nothing changed: to make a state that was restored the newest one.
    even_unchanged: bool = False
    # Not while a restore is about to read a snapshot that the rules no longer keep.
    prune: bool = True
    # Not when whatever is noted will be wrong in a moment; what is noted already is still true.
    note_unchanged: bool = True
    # Not even when a full one is due: there was no room for it.
    never_full: bool = False
    # A fork: what is saved is a copy that fell behind, or another node's, and never becomes the newest.
    beside: bool = False
    # The job ends, and scratch goes with it: what is missing may have been removed a moment ago. Such a
    # snapshot is taken all the same, as a fork: the one before it stays the newest.
    scratch_goes: bool = False
    # What to save, by name beneath scratch; by default what the profile says.
    roots: Sequence[str] = ()
    # What the restore after it brings, by name beneath scratch: that it is missing now is no news.
    brought: Sequence[str] = ()


def is_wanted_anyway(options: SnapshotOptions, parent: Manifest) -> bool:
    """Whether a snapshot is taken though nothing changed.

    A name that a person gives must not be lost, and what is known as a fork becomes the newest when a person saves it.
    A safety snapshot has what somebody was about to replace: what a person saves, or the last backup, is more than that.
    """
    is_asked = options.purpose == "asked"
    has_name = parent.purpose == "asked" and parent.message == options.message
    gets_name = is_asked and options.message != "" and not has_name
    is_meant = parent.purpose == "safety" and options.purpose in {"asked", "final"}
    return options.even_unchanged or gets_name or is_meant or (is_asked and parent.beside)
