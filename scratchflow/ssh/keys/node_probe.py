"""Whether a node's sshd answers, and with which keys: looked at from the login host."""

from __future__ import annotations

import socket
import subprocess

from scratchflow.model.errors.allocation import NodeFailed
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock, looks

ANSWER_S = 30.0
"""How long sshd may take to come up on a node that Slurm calls ready."""

_PORT = 22
_TRY_S = 3.0
_PAUSE_S = 0.25
_SCAN_S = 10.0


def wait_for_sshd(
    node: str,
    *,
    within_s: float = ANSWER_S,
    port: int = _PORT,
    clock: Clock = SYSTEM_CLOCK,
) -> None:
    """Returns when the node greets as an ssh server does; NodeFailed when it never does."""
    reason: str | None = None
    for _ in looks(within_s, _PAUSE_S, clock):
        reason = _refusal(node, port)
        if reason is None:
            return
    raise NodeFailed(node=node, reason=f"its sshd does not answer ({reason})")


def _refusal(node: str, port: int) -> str | None:
    """Why it is not an answering sshd; None when it is."""
    try:
        with socket.create_connection((node, port), timeout=_TRY_S) as connection:
            greeting = connection.recv(256)
    except UnicodeError:  # Python's word for a part of the name that is empty or too long
        return "it is not a host name"
    except OSError as error:
        return (error.strerror or str(error) or "no answer").lower()
    return None if greeting.startswith(b"SSH-") else "it is not an ssh server"


def scan_host_keys(node: str) -> list[str]:
    """The node's host keys, a line each as `ssh-keyscan` prints them; none when it cannot be run.

    The login host and the node are on the cluster's own network: what the laptop learns this way is
    vouched for by the login host, whose key the laptop has verified.
    """
    argv = ["ssh-keyscan", "-T", "5", "-p", str(_PORT), "--", node]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SCAN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
