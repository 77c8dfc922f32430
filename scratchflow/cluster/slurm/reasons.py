"""Why a job waits: Slurm's reasons in plain words, and which of them never go away.

The words are those of `squeue --format=%r` from Slurm 20.02 to 26.05.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Permanence = Literal["clears", "never", "never_alone"]
"""`never_alone`: only the user's own other jobs could make room, so it is for ever if there are none."""


class Reason(NamedTuple):
    """What a reason means, and whether waiting can help."""

    text: str
    permanence: Permanence


_CLEARS = {
    "None": "Slurm has not looked at it yet",
    "Resources": "it is next, and waits for a node to become free",
    "Priority": "other jobs come first",
    "Licenses": "all licences are in use",
    "BeginTime": "its begin time has not come",
    "Dependency": "it waits for another job to end",
    "ReqNodeNotAvail": "the node it asks for is down, drained or reserved",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        "the nodes it needs are down, drained or reserved"
    ),
    "NodeDown": "a node it needs is down",
    "PartitionDown": "the partition takes jobs, but starts none at present",
    "PartitionInactive": "the partition is out of service at present",
    "Reservation": "its reservation has not begun",
    "Prolog": "the node is being prepared",
    "Cleaning": "an earlier run of it is being cleaned up",
    "FrontEndDown": "no front-end node is up",
    "SchedDefer": "Slurm decides at its next look at the queue",
    "ReservationMaxTRESMinutes": "its reservation is used up",
    "MaxPoweredUpNodes": "no more nodes may be powered up at present",
    "MpiPortsBusy": "all ports for MPI are in use",
    "NvidiaImexChannels": "all NVIDIA IMEX channels are in use",
    "BurstBufferResources": "the burst buffer is full",
    "BurstBufferStageIn": "its data is being staged in",
    "JobArrayTaskLimit": "as many tasks of the array run as may",
    "QOSUsageThreshold": "the usage of the QOS is above its threshold",
    "AssociationJobLimit": "the account has as many jobs as it may",
    "AssociationResourceLimit": "the account uses as much as it may",
    "AssociationTimeLimit": "the account has used its time",
    "QOSJobLimit": "the QOS has as many jobs as it may",
    "QOSResourceLimit": "the QOS uses as much as it may",
    "QOSTimeLimit": "the QOS has used its time",
}

_NEVER = {
    "PartitionTimeLimit": "it asks for more time than the partition allows",
    "PartitionNodeLimit": "it asks for more or fewer nodes than the partition allows",
    "PartitionConfig": "it asks for more than the partition allows or has",
    "BadConstraints": "no node can meet its constraints",
    "DependencyNeverSatisfied": "the job it depends on can no longer end as required",
    "InvalidAccount": "the account is not valid",
    "InvalidQOS": "the QOS is not valid",
    "AccountNotAllowed": "the partition does not take this account",
    "AccountingPolicy": "it breaks a rule of the accounting",
    "QOSNotAllowed": "the partition or account may not use this QOS",
    "ReservationDeleted": "its reservation is gone",
    "ReservationInvalid": "its reservation is not valid, and Slurm holds it",
    "DeadLine": "its deadline cannot be met",
    "Deadline": "its deadline cannot be met",
    "JobHeldUser": "it is held; `scontrol release` would let it start",
    "JobHeldAdmin": "the cluster's staff hold it",
    "JobHoldMaxRequeue": "it was put back too often and is held",
    "MaxMemPerLimit": "it asks for more memory than a job may",
    "QOSMinGRES": "it asks for fewer GPUs than the QOS requires",
    "QOSMinCpuNotSatisfied": "it asks for fewer CPUs than the QOS requires",
    "QOSMinMemory": "it asks for less memory than the QOS requires",
    "NodeUndrainFailed": "its nodes could not be put back into service",
    "launch failed requeued held": "it could not be started and is held",
    "job requeued in held state": "it was put back and is held",
}

_KNOWN = {
    **{word: Reason(text, "clears") for word, text in _CLEARS.items()},
    **{word: Reason(text, "never") for word, text in _NEVER.items()},
}

# QOSMaxCpuPerJobLimit, AssocMaxWallDurationPerJobLimit, QOSGrpGRES, AssocGrpCPUMinutesLimit … Slurm has a
# hundred of these, and every release adds some; their names are built from parts.
_LIMIT = re.compile(r"(?P<who>QOS|Assoc)(?P<kind>Grp|Max|Min)(?P<what>\w*?)(?:Limit)?", re.ASCII)
# MaxCpuPerAccount, MaxTRESRunMinsPerUser: limits of a QOS whose names do not say so.
_UNNAMED_LIMIT = re.compile(r"Max\w+Per(Account|User|Job|Node)", re.ASCII)
_OWNERS = {"QOS": "QOS", "Assoc": "account"}
# Only a site with accounts can mean these.
_OF_ACCOUNTING = {
    "InvalidAccount",
    "InvalidQOS",
    "AccountNotAllowed",
    "AccountingPolicy",
    "QOSNotAllowed",
}


def explain(reason: str) -> Reason:
    """The reason's meaning; one that nobody knows may clear."""
    word = reason.strip().strip("()")
    # `ReqNodeNotAvail, UnavailableNodes:node-2`: the detail follows the first comma.
    for key in (word, word.replace("_", " "), word.partition(",")[0].strip()):
        if key in _KNOWN:
            return _KNOWN[key]
    match = _limit_in(word)
    return _limit(match) if match else Reason(word, "clears")


def is_of_accounting(reason: str) -> bool:
    """Whether it speaks of accounts, of which a site without accounting has none."""
    return reason.strip().strip("()") in _OF_ACCOUNTING


def _limit_in(word: str) -> re.Match[str] | None:
    name = word.partition(",")[0]
    return _LIMIT.fullmatch(f"QOS{name}" if _UNNAMED_LIMIT.fullmatch(name) else name)


def _limit(match: re.Match[str]) -> Reason:
    owner, kind, what = _OWNERS[match["who"]], match["kind"], match["what"]
    if kind == "Grp":
        return Reason(f"all users of the {owner} together use as much as they may", "clears")
    if kind == "Min":
        return Reason(f"it asks for less than the {owner} requires of a job", "never")
    if what.startswith(("Jobs", "Submit")):
        return Reason(f"you run as many jobs as the {owner} allows", "clears")
    if "PerUser" in what:
        return Reason(f"you would use more than the {owner} allows one user", "never_alone")
    if re.search(r"Per(Account|Acct|PA)", what):
        return Reason(f"your account would use more than the {owner} allows", "clears")
    # What is left is per job or per node: AssocMaxWallDurationPerJob, QOSMaxCpuPerNode, QOSMaxGRESPerJob.
    return Reason(f"it asks for more than the {owner} allows a job", "never")
