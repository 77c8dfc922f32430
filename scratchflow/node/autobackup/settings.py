"""Which settings the loop of the auto-backup runs with: it gets them once, when it is started."""

from __future__ import annotations

import msgspec

from scratchflow.disk.name_digest import name_digest
from scratchflow.model.profile import Profile, to_plain
from scratchflow.workspace.path_names import is_of_the_account

_SETTINGS = ("scratch", "workspace", "store", "backup")
# The heartbeat has how often. The mirror is none of the loop's business.
_NOT_OF_LOOP = {"every", "mirror", "rclone"}


def settings_digest(profile: Profile) -> str:
    """A digest of the settings that decide what a loop saves and where, to compare two loops.

    Not how often: the heartbeat has that by itself, and `--set backup.every=…` for one start is no mistake.
    """
    plain = to_plain(profile)
    chosen = {name: plain.get(name) for name in _SETTINGS}
    chosen["backup"] = {key: one for key, one in plain["backup"].items() if key not in _NOT_OF_LOOP}
    return name_digest(msgspec.json.encode(chosen, order="sorted"))


def saves_the_same(profile: Profile, loop: str) -> bool:
    """Whether a loop with this digest saves what one of the profile would: the same directory, as much of it, into the same store.

    A scratch that each job has to itself is another directory in another job.
    """
    return loop == settings_digest(profile) and is_of_the_account(profile.scratch)


def takes_effect(key: str, profile: str = "") -> str:
    """From when on a setting counts that was changed: what makes a loop that runs already use it."""
    if key.endswith(".scratch"):
        return "it counts for the next node, without a cluster at once; a workspace that is there stays where it is"
    named = f"-p {profile} " if profile else ""
    return f"`scratchflow {named}autobackup on` makes a running auto-backup use it"


def is_of_loop(key: str) -> bool:
    """Whether a key of the configuration, like `profiles.aws.backup.also`, is one of them."""
    parts = key.split(".")
    is_of_mirror = parts[3:] in (["mirror"], ["rclone"])
    return parts[0] == "profiles" and len(parts) > 2 and parts[2] in _SETTINGS and not is_of_mirror
