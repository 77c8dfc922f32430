"""What a removal is about: the profile that goes, those that stay, and what is in use meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.removal.in_use import InUse, users_of
from scratchflow.model.profile import Profile


class Scope(msgspec.Struct, frozen=True):
    """One profile, seen among the others of the configuration file."""

    settings: Settings
    others: Mapping[str, Profile]
    """The other profiles of the file."""
    in_use: InUse = InUse()
    all_profiles: bool = False
    """Whether the others go as well."""
    synced: Collection[str] = ()
    """The profiles that `[sync]` names."""

    @property
    def profile(self) -> Profile:
        """The one that goes."""
        return self.settings.profile

    @property
    def login(self) -> str:
        """Its login host."""
        return self.profile.login

    @property
    def staying(self) -> Mapping[str, Profile]:
        """Those whose data must not be named with a command that removes it."""
        return {} if self.all_profiles else self.others

    def users_of(self, path: str) -> list[str]:
        """The profiles that stay and have it, something in it or something above it."""
        return users_of(path, self.login, self.staying)
