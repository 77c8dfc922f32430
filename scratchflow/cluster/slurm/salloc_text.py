"""What `salloc` says on stderr, and what it means. Its lines come from two threads, in any order."""

from __future__ import annotations

import re

from scratchflow.cluster.slurm.client import Slurm, out_of_reach
from scratchflow.model.errors.allocation import AllocationEnded, AllocationRefused
from scratchflow.model.errors.base import ScratchflowError

_JOB = re.compile(
    r"(?:Granted|Pending) job allocation (\d+)|\bjob (\d+) queued and waiting", re.ASCII
)
_GRANTED = re.compile(r"Granted job allocation (\d+)", re.ASCII)
_WITHDRAWN = ("Job aborted due to signal", "Job has been cancelled")
_PREFIX = re.compile(r"^salloc: (?:error: |fatal: )?")
_FAILED = re.compile(r"^(?:Job submit/allocate failed|Unable to allocate resources): ")
# Progress and advice, no reasons.
_CHATTER = re.compile(
    r"(Pending|Granted|Relinquishing) job allocation|job \d+ (queued|has been allocated)"
    r"|Waiting for resource|Nodes .* ready for job|Try \"salloc --help\"|Usage: salloc|Pane is dead"
)


def job_id_in(said: str) -> int | None:
    """The job's number, as soon as `salloc` knows it."""
    match = _JOB.search(said)
    return int(match[1] or match[2]) if match else None


def was_granted(said: str) -> bool:
    """Whether `salloc` has the allocation, or had it."""
    return _GRANTED.search(said) is not None


def refusal(said: str) -> str:
    """Slurm's own reasons on one line; empty when it gave none."""
    lines = [line.strip() for line in said.splitlines()]
    errors = [line for line in lines if re.match(r"salloc: (error|fatal): ", line)]
    chosen = errors or [line for line in lines if line and not _CHATTER.search(line)]
    reasons = [_FAILED.sub("", _PREFIX.sub("", line)) for line in chosen]
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))


def failure(said: str, slurm: Slurm, profile: str) -> ScratchflowError | None:
    """The error that a `salloc` which failed before the grant means; None when it died in silence."""
    reason = refusal(said)
    if any(words in said for words in _WITHDRAWN):
        return AllocationEnded(
            job_id=job_id_in(said) or "?", reason="it was cancelled while it waited"
        )
    if not reason:
        return None
    if out_of_reach(said):
        return slurm.unreachable(reason)
    return AllocationRefused.of_profile(reason=reason, profile=profile)
