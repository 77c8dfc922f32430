"""Names that a profile must not share with another one, or the two would fight over a directory or an alias."""

from __future__ import annotations

from collections.abc import Iterable

from scratchflow.model.profile import Profile

_LONGEST = 63


def own_names(name: str, profile: Profile, others: Iterable[Profile]) -> dict[str, str]:
    """What to change in the profile of this name, so that it shares nothing; empty when it does not.

    An alias counts for all profiles of this machine. A workspace is a directory on scratch and one in the
    store: those of one cluster must not be the same.
    """
    known = list(others)
    changed = {}
    aliases = {other.alias for other in known if other.scheduler == "slurm"}
    if profile.scheduler == "slurm" and profile.alias in aliases:
        changed["alias"] = free_name(f"{profile.alias}_{name}", aliases)
    workspaces = {other.workspace for other in known if _same_disk(profile, other)}
    if profile.workspace in workspaces:
        changed["workspace"] = free_name(f"{profile.workspace}_{name}", workspaces)
    return changed


def _same_disk(one: Profile, other: Profile) -> bool:
    return one.login == other.login and (one.scratch == other.scratch or one.store == other.store)


def free_name(wanted: str, taken: set[str]) -> str:
    """The name, or with a number behind it while another one has it."""
    name, number = wanted[:_LONGEST], 2
    while name in taken:
        ending = f"_{number}"
        name, number = f"{wanted[: _LONGEST - len(ending)]}{ending}", number + 1
    return name
