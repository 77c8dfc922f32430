"""Slurm's job states in our words."""

from __future__ import annotations

from scratchflow.model.allocation import AllocationState, EndCause

_OPEN_STATES: dict[str, AllocationState] = {
    "PENDING": "pending",
    "REQUEUED": "pending",
    "REQUEUE_FED": "pending",
    "REQUEUE_HOLD": "pending",
    "SPECIAL_EXIT": "pending",
    "RESV_DEL_HOLD": "pending",
    "CONFIGURING": "configuring",
    "POWER_UP_NODE": "configuring",
    "RUNNING": "running",
    "RESIZING": "running",
    "SIGNALING": "running",
    "SUSPENDED": "suspended",
    "STOPPED": "suspended",
    "COMPLETING": "completing",
    "STAGE_OUT": "completing",
}

_CAUSES: dict[str, EndCause] = {
    "CANCELLED": "cancelled",
    "REVOKED": "cancelled",
    "TIMEOUT": "timeout",
    "PREEMPTED": "preempted",
    "NODE_FAIL": "node_fail",
    "OUT_OF_MEMORY": "oom",
    "COMPLETED": "completed",
    "FAILED": "failed",
    "BOOT_FAIL": "boot_fail",
    "LAUNCH_FAILED": "failed",
    "RECONFIG_FAIL": "failed",
    "DEADLINE": "deadline",
}

CAUSE_TEXTS: dict[EndCause, str] = {
    "cancelled": "it was cancelled",
    "timeout": "its time limit was reached",
    "preempted": "a job of higher priority took its place",
    "node_fail": "its node failed",
    "oom": "it ran out of memory",
    "completed": "it was given back",
    "failed": "it failed",
    "boot_fail": "its node did not boot",
    "deadline": "its deadline had passed",
    "forgotten": "Slurm no longer knows it",
}


def base_state(text: str) -> str:
    """The state's one word: `CANCELLED by 20001` is CANCELLED, a cut `OUT_OF_ME+` OUT_OF_MEMORY."""
    word = (text.split() or [""])[0].upper()
    if not word.endswith("+"):
        return word
    start = word.rstrip("+")
    fitting = [known for known in (*_CAUSES, *_OPEN_STATES) if known.startswith(start)]
    return fitting[0] if len(fitting) == 1 else start


def state_of(text: str) -> tuple[AllocationState, EndCause | None]:
    """Our state, and the cause if it is an end; a word nobody knows is `unknown`, never an end."""
    word = base_state(text)
    if word in _CAUSES:
        return "ended", _CAUSES[word]
    return _OPEN_STATES.get(word, "unknown"), None
