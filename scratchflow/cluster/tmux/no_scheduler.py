"""`scheduler = "none"`: no cluster; the allocation is the tmux session on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.cluster.tmux.server import Tmux, then_detach
from scratchflow.model.allocation import ThisMachine


def allocation(tmux: Tmux, profile: str, node: str) -> ThisMachine | None:
    """The profile's session as an allocation without a job, a queue or an end; None without one."""
    session = tmux.session(profile)
    if session is None:
        return None
    return ThisMachine(name=session, nodes=(node,))


def allocate(
    tmux: Tmux,
    profile: str,
    session: str,
    node: str,
    shell: Sequence[str],
    *,
    renew_unused: bool = False,
) -> ThisMachine:
    """Starts the session, or a shell in it where the last one has ended."""
    pane = tmux.ensure(profile, session, then_detach(shell), renew_unused=renew_unused)
    return ThisMachine(name=pane.session, nodes=(node,))


def release(tmux: Tmux, profile: str) -> bool:
    """Ends the session and what runs in it; False when there was none."""
    return tmux.kill(profile)
