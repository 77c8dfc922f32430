"""Which settings the loop of the auto-backup runs with: it gets them once, when it is started."""

from __future__ import annotations

import hashlib

import msgspec

from scratchflow.model.profile import Profile, to_plain

LATER = "an auto-backup that runs already takes it over with the next `scratchflow autobackup on` or `up`"
_SETTINGS = ("scratch", "workspace", "store", "backup")


def settings_digest(profile: Profile) -> str:
    """A digest of the settings that decide what a loop saves and where, to compare two loops.

    Not how often: the heartbeat has that by itself, and `--set backup.every=…` for one start is no mistake.
    """
    plain = to_plain(profile)
    chosen = {name: plain.get(name) for name in _SETTINGS}
    chosen["backup"] = {key: one for key, one in plain["backup"].items() if key != "every"}
    return hashlib.sha256(msgspec.json.encode(chosen, order="sorted")).hexdigest()[:16]


def is_of_loop(key: str) -> bool:
    """Whether a key of the configuration, like `profiles.aws.backup.also`, is one of them."""
    parts = key.split(".")
    return parts[0] == "profiles" and len(parts) > 2 and parts[2] in _SETTINGS
