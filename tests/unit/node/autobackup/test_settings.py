"""Whether a loop runs with other settings than the profile's of now: those that matter to it."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.model.profile import BackupOptions, Profile, SlurmOptions
from scratchflow.model.units import Duration
from scratchflow.node.autobackup.settings import is_of_loop, settings_digest

PLAIN = Profile()


@pytest.mark.parametrize(
    "changes",
    [
        {"scratch": "/other/$USER"},
        {"workspace": "thesis"},
        {"store": "/other/store"},
        {"backup": BackupOptions(also=["env"])},
        {"backup": BackupOptions(exclude=["*.o"])},
        {"backup": BackupOptions(keep_last=3)},
    ],
)
def test_what_decides_what_is_saved_and_where_is_another_digest(changes: dict[str, object]) -> None:
    changed = msgspec.structs.replace(PLAIN, **changes)
    assert settings_digest(changed) != settings_digest(PLAIN)


@pytest.mark.parametrize(
    "changes",
    [
        {"login": "cluster"},
        {"slurm": SlurmOptions(partition="gpu")},
        {"backup": BackupOptions(every=Duration(60))},
    ],
)
def test_what_the_loop_does_not_use_is_the_same_digest(changes: dict[str, object]) -> None:
    changed = msgspec.structs.replace(PLAIN, **changes)
    assert settings_digest(changed) == settings_digest(PLAIN)


def test_the_same_settings_in_another_order_are_the_same() -> None:
    one = msgspec.structs.replace(PLAIN, backup=BackupOptions(also=["a"], exclude=["b"]))
    other = msgspec.structs.replace(PLAIN, backup=BackupOptions(exclude=["b"], also=["a"]))
    assert settings_digest(one) == settings_digest(other)


def test_keys_are_told_by_their_profile_part() -> None:
    mine = ["profiles.aws.store", "profiles.aws.backup.also", "profiles.scratch.scratch"]
    others = ["profiles.aws.login", "profiles.store", "default_profile", "backup.also", "profiles"]
    assert list(filter(is_of_loop, [*mine, *others])) == mine
