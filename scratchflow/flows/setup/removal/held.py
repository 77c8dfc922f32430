"""Nodes that are held by profiles that would go: a removal refuses, and its dry run says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scratchflow.flows.setup.removal.in_use import InUse, own_too, who_holds_too
from scratchflow.model.errors.allocation import AllocationHeld, HeldOutOfReach
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.profile import Profile
from scratchflow.model.results.status import AllocationShown, ElsewhereShown
from scratchflow.ssh.config.alias import read_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths


def require_released(
    name: str,
    ours: Sequence[AllocationShown],
    in_use: InUse,
    others: Mapping[str, Profile],
    going: Mapping[str, Profile],
) -> None:
    """AllocationHeld while the profile of that name holds a node, or one of those that go with it."""
    if ours:
        refusal = _refusal(ours[-1], name)
        steps = [*own_too(ours[:-1]), *who_holds_too(in_use.held, others)]
    elif theirs := [job for job in in_use.held if job.profile in going]:
        refusal = _refusal(theirs[0], theirs[0].profile)
        steps = [
            *who_holds_too(theirs[1:], others),
            "without `--all`, what other profiles use stays",
        ]
    else:
        return
    for step in steps:
        refusal.add_step(step)
    raise refusal


def _refusal(job: AllocationShown | ElsewhereShown, profile: str) -> AllocationHeld:
    node = job.node or "a place in the queue"
    return AllocationHeld(job_id=job.job_id, node=node, profile=profile)


def require_parked(going: Mapping[str, Profile], silence: ConnectionLost) -> None:
    """HeldOutOfReach while the alias of one leads to a node: by then the cluster could not be asked."""
    for name, profile in going.items():
        if node := _node_of(name, profile):
            reason = silence.fields.get(
                "reason", str(silence)
            )  # one that an agent told has no fields
            raise HeldOutOfReach(
                node=node, profile=name, login=profile.login, reason=reason
            ) from silence


def kept_for_nodes(going: Mapping[str, Profile]) -> list[str]:
    """For a dry run, which asks nobody: while the alias of a profile leads to a node, the removal refuses."""
    held = {name: node for name, profile in going.items() if (node := _node_of(name, profile))}
    if not held:
        return []
    is_one = len(held) == 1
    nodes = " and ".join(f"`{node}`" for node in held.values())
    clear = " and ".join(f"`scratchflow -p {name} clear`" for name in held)
    state = f"node {nodes} is held" if is_one else f"nodes {nodes} are held"
    gives = "gives it back" if is_one else "give them back"
    return [f"everything for now, because {state}: {clear} {gives}; after that:"]


def _node_of(name: str, profile: Profile) -> str:
    """Where its alias leads; empty when that is nowhere."""
    found = read_alias(SshPaths.of(profile.ssh_config), profile.alias)
    return found.node if isinstance(found, AliasTarget) and found.profile == name else ""
