"""Whether snapshots can be copied from one profile to another, by what the profiles say. No cluster is asked."""

from __future__ import annotations

from scratchflow.config.settings import Settings
from scratchflow.model.errors.transfer import CopyToItself, named_otherwise, same_store


def require_copyable(settings: Settings, other: Settings) -> None:
    """CopyToItself for two profiles with one store, WorkspaceNamedOtherwise for workspaces with two names.

    Another way to the same store is found when both have answered.
    """
    mine, that = settings.profile, other.profile
    if (mine.login, mine.store.rstrip("/")) == (that.login, that.store.rstrip("/")):
        raise to_itself(settings, other)
    if mine.workspace != that.workspace:
        raise named_otherwise(mine.workspace, to=other.name, here=that.workspace)


def to_itself(settings: Settings, other: Settings) -> CopyToItself:
    """The error for two profiles with one store."""
    name, theirs = settings.profile.workspace, other.profile.workspace
    return same_store(settings.name, other.name, name=name, here=theirs)
