"""Which reasons are worth waiting for."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.reasons import explain

CLEARS = [
    "None",
    "Resources",
    "Priority",
    "Licenses",
    "BeginTime",
    "Dependency",
    "ReqNodeNotAvail",
    "PartitionDown",
    "PartitionInactive",
    "Reservation",
    "SchedDefer",
    "AssocGrpCpuLimit",
    "AssocGrpGRES",
    "AssocGrpCPUMinutesLimit",
    "AssocGrpCPURunMinutesLimit",
    "AssocGrpBillingMinutes",
    "AssocMaxJobsLimit",
    "QOSGrpCpuLimit",
    "QOSGrpNodeLimit",
    "QOSMaxJobsPerUserLimit",
    "QOSMaxSubmitJobPerUserLimit",
    "QOSMaxCpuPerAccountLimit",
    "QOSMaxGRESPerAccount",
    "QOSMaxJobsPerAccount",
    "MaxJobsPerAccount",
    "MaxSubmitJobsPerAccount",
    "MaxCpuPerAccount",
    "MaxTRESRunMinsPerAccount",
    "MpiPortsBusy",
    "NvidiaImexChannels",
    "MaxPoweredUpNodes",
    "SomethingNew",
]

NEVER = [
    "PartitionTimeLimit",
    "PartitionNodeLimit",
    "PartitionConfig",
    "BadConstraints",
    "DependencyNeverSatisfied",
    "InvalidAccount",
    "InvalidQOS",
    "AccountNotAllowed",
    "QOSNotAllowed",
    "ReservationDeleted",
    "ReservationInvalid",
    "JobHeldUser",
    "JobHeldAdmin",
    "JobHoldMaxRequeue",
    "MaxMemPerLimit",
    "AssocMaxCpuPerJobLimit",
    "AssocMaxNodePerJobLimit",
    "AssocMaxWallDurationPerJobLimit",
    "AssocMaxCPUMinutesPerJobLimit",
    "QOSMaxCpuPerJobLimit",
    "QOSMaxCpuPerNode",
    "QOSMaxGRESPerJob",
    "QOSMaxWallDurationPerJobLimit",
    "QOSMaxNodePerJobLimit",
    "QOSMinCpuNotSatisfied",
    "QOSMinGRES",
    "QOSMinMemory",
]

NEVER_ALONE = [
    "QOSMaxCpuPerUserLimit",
    "QOSMaxGRESPerUser",
    "QOSMaxNodePerUserLimit",
    "QOSMaxMemoryPerUser",
]


@pytest.mark.parametrize("reason", CLEARS)
def test_what_may_clear_is_waited_for(reason: str) -> None:
    assert explain(reason).permanence == "clears"


@pytest.mark.parametrize("reason", NEVER)
def test_what_never_clears_is_known(reason: str) -> None:
    assert explain(reason).permanence == "never"


@pytest.mark.parametrize("reason", NEVER_ALONE)
def test_a_limit_per_user_clears_only_while_he_has_other_jobs(reason: str) -> None:
    assert explain(reason).permanence == "never_alone"


@pytest.mark.parametrize("reason", [*CLEARS[:-1], *NEVER, *NEVER_ALONE])
def test_every_reason_is_told_in_words(reason: str) -> None:
    text = explain(reason).text
    assert " " in text
    assert reason not in text


@pytest.mark.parametrize(
    "reason",
    [
        "ReqNodeNotAvail, UnavailableNodes:node-2",
        "(ReqNodeNotAvail, UnavailableNodes:node-[1-9])",
        "ReqNodeNotAvail,_May_be_reserved_for_other_job",
        "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority_partitions",
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
    ],
)
def test_detail_after_the_reason_does_no_harm(reason: str) -> None:
    assert explain(reason).permanence == "clears"
    assert "down, drained or reserved" in explain(reason).text


def test_an_unknown_reason_is_shown_as_it_is() -> None:
    assert explain("SomethingNew").text == "SomethingNew"
