"""Nodes and partitions as scontrol and sinfo print them, of several Slurm versions."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.node_text import (
    gpus_in,
    listed_nodes,
    seconds,
    shown_nodes,
    shown_partitions,
    state_in_words,
)

MIB = 1024**2

RECORDED_22_05 = (
    "NodeName=node-2 Arch=aarch64 CoresPerSocket=1  CPUAlloc=2 CPUEfctv=4 CPUTot=4 CPULoad=2.35 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:2 GresDrain=N/A GresUsed=gpu:1 "
    "NodeAddr=10.77.0.12 NodeHostName=node-2 Version=22.05.8 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  "
    "RealMemory=4000 AllocMem=512 FreeMem=17207 Sockets=4 Boards=1 State=MIXED ThreadsPerCore=1 "
    "TmpDisk=1000 Weight=1 Owner=N/A MCS_label=N/A Partitions=debug,gpu  BootTime=2026-11-15T04:00:15 "
    "LastBusyTime=2026-11-15T04:00:14 CfgTRES=cpu=4,mem=4000M,billing=4 AllocTRES=cpu=2,mem=512M "
    "CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s\n"
)

# Written after scontrol(1) of 20.11: no CPUEfctv, typed GPUs with sockets and indexes, TRES of gres.
LIKE_20_11 = (
    "NodeName=a100-st-p4d24xlarge-2 Arch=x86_64 CoresPerSocket=24   CPUAlloc=48 CPUTot=96 CPULoad=3.10 "
    "AvailableFeatures=static,p4d ActiveFeatures=static,p4d Gres=gpu:a100:8(S:0-1) GresDrain=N/A "
    "GresUsed=gpu:a100:3(IDX:0-2) OS=Linux 4.14 #1 SMP Tue  RealMemory=1100000 AllocMem=550000 "
    "State=MIXED+CLOUD ThreadsPerCore=2 Partitions=gpu  CfgTRES=cpu=96,gres/gpu=8 "
    "AllocTRES=cpu=48,gres/gpu=3\n"
)

# Written after scontrol(1) of 23.11: a drained node with a reason and a comment.
LIKE_23_11 = (
    "NodeName=n7 Arch=x86_64 CPUAlloc=0 CPUEfctv=60 CPUTot=64 CPULoad=0.00 ActiveFeatures=ib Gres=(null) "
    "GresUsed=(null) RealMemory=256000 AllocMem=0 MemSpecLimit=6000 State=IDLE+DRAIN+NOT_RESPONDING "
    "Partitions=cpu CfgTRES=cpu=60 AllocTRES=  "
    "Reason=bad DIMM State=IDLE, see RT 77 [root@2026-11-15T04:00:00] Comment=old\n"
)


# Written after scontrol(1) of 22.05: the reason of a node, with words of the staff's that look like pairs.
PAIRS_IN_A_REASON = (
    "NodeName=n8 CPUAlloc=0 CPUTot=4 State=IDLE+DRAIN Partitions=cpu "
    "Reason=a b=c State=DOWN d [root@2026-11-15T04:00:00]\n"
)


def test_a_reason_is_told_whole_also_when_it_looks_like_pairs() -> None:
    (node,) = shown_nodes(PAIRS_IN_A_REASON)
    assert node.reason == "a b=c State=DOWN d [root@2026-11-15T04:00:00]"
    assert (node.state, node.partitions) == ("drained", ("cpu",))


def test_what_is_free_is_what_slurm_would_give() -> None:
    (node,) = shown_nodes(RECORDED_22_05)
    assert (node.name, node.state, node.available) == ("node-2", "partly used", True)
    assert (node.cpus, node.cpus_free) == (4, 2)
    assert (node.memory_bytes, node.memory_free_bytes) == (4000 * MIB, 3488 * MIB)
    assert (node.gpus, node.gpus_free, node.gpu_type) == (2, 1, "")
    assert (node.partitions, node.features, node.reason) == (("debug", "gpu"), (), "")


def test_an_older_slurm_with_typed_gpus() -> None:
    (node,) = shown_nodes(LIKE_20_11)
    assert (node.cpus, node.cpus_free) == (96, 48)
    assert (node.gpus, node.gpus_free, node.gpu_type) == (8, 5, "a100")
    assert node.features == ("static", "p4d")
    assert node.available


def test_a_newer_slurm_with_a_node_out_of_service() -> None:
    (node,) = shown_nodes(LIKE_23_11)
    assert (node.state, node.available) == ("drained", False)
    assert (node.cpus, node.cpus_free, node.memory_free_bytes) == (60, 0, 0)
    assert node.memory_bytes == 250000 * MIB
    assert node.reason.startswith("bad DIMM")


@pytest.mark.parametrize(
    ("state", "words", "available"),
    [
        ("IDLE", "idle", True),
        ("MIXED", "partly used", True),
        ("ALLOCATED", "in use", False),
        ("IDLE+DRAIN", "drained", False),
        ("MIXED+DRAIN", "draining", False),
        ("ALLOCATED+DRAIN", "draining", False),
        ("DOWN", "down", False),
        ("DOWN*", "not responding", False),
        ("DOWN*+CLOUD", "not responding", False),
        ("DOWN+DRAIN", "down", False),
        ("IDLE*", "not responding", False),
        ("IDLE+CLOUD+POWERED_DOWN", "powered down", True),
        ("IDLE+CLOUD+POWERING_DOWN", "powering down", False),
        ("MIXED+CLOUD+POWERING_UP", "booting", True),
        ("MIXED+CLOUD+NOT_RESPONDING+POWERING_UP", "booting", True),
        ("DOWN+CLOUD+NOT_RESPONDING+POWERING_UP", "not responding", False),
        ("IDLE+PLANNED", "planned", True),
        ("MIXED+PLANNED", "planned", True),
        ("IDLE+MAINTENANCE+RESERVED", "in maintenance", False),
        ("IDLE+RESERVED", "reserved", False),
        ("FUTURE", "not built yet", False),
        ("UNKNOWN", "unknown", False),
        ("IDLE+SOMETHING_NEW", "something_new", False),
        ("", "", False),
        # As `sinfo --format=%T` says it.
        ("idle", "idle", True),
        ("mixed", "partly used", True),
        ("allocated", "in use", False),
        ("drained", "drained", False),
        ("draining", "draining", False),
        ("drained*", "drained", False),
        ("down*", "not responding", False),
        ("idle~", "powered down", True),
        ("mixed#", "booting", True),
        ("idle%", "powering down", False),
        ("idle$", "in maintenance", False),
        ("reserved", "reserved", False),
        ("planned", "planned", True),
        ("unk*", "not responding", False),
    ],
)
def test_states_in_words(state: str, words: str, available: bool) -> None:
    assert state_in_words(state) == (words, available)


@pytest.mark.parametrize(
    ("gres", "count", "kind"),
    [
        ("(null)", 0, ""),
        ("gpu:2", 2, ""),
        ("gpu:a100:4(S:0-1)", 4, "a100"),
        ("gpu:a100:4(S:0-1),nvme:1", 4, "a100"),
        ("nvme:1,gpu:v100:2", 2, "v100"),
        ("gpu:a100:4,gpu:t4:2", 6, ""),
        ("gpu:1g.5gb:7(S:0)", 7, "1g.5gb"),
        ("gpu:a100_3g.20gb:2", 2, "a100_3g.20gb"),
        ("mygpu:3", 0, ""),
        ("gpu:nvidia_a100-sxm4-40gb:8(IDX:0-7)", 8, "nvidia_a100-sxm4-40gb"),
    ],
)
def test_gpus(gres: str, count: int, kind: str) -> None:
    assert gpus_in(gres) == (count, kind)


RECORDED_SINFO = """\
node-1|debug*|idle|0/4/0/4|4000|(null)|(null)|none
node-2|debug*|mixed|2/2/0/4|4000|gpu:2|ib,fast|none
node-2|gpu|mixed|2/2/0/4|4000|gpu:2|ib,fast|none
node-3|debug*|drained|0/0/4/4|4000|gpu:2|(null)|fan | broken
"""


def test_sinfo_gives_what_it_knows() -> None:
    one, two, three = listed_nodes(RECORDED_SINFO)
    assert (one.cpus_free, one.memory_free_bytes, one.gpus_free) == (4, 4000 * MIB, 0)
    assert two.partitions == ("debug", "gpu")
    assert (two.cpus_free, two.memory_free_bytes, two.gpus, two.gpus_free) == (2, None, 2, None)
    assert two.features == ("ib", "fast")
    assert (three.available, three.gpus_free, three.reason) == (False, 0, "fan | broken")


def test_partitions() -> None:
    text = (
        "PartitionName=debug AllowGroups=ALL Default=YES DefaultTime=00:05:00 MaxTime=00:10:00 "
        "Nodes=node-[1-3] State=UP TotalNodes=3\n"
        "PartitionName=long Default=NO DefaultTime=NONE MaxTime=UNLIMITED Nodes=(null) State=DOWN\n"
    )
    debug, long = shown_partitions(text)
    assert (debug.default, debug.up, debug.max_time_s, debug.default_time_s) == (
        True,
        True,
        600,
        300,
    )
    assert debug.nodes == ("node-1", "node-2", "node-3")
    assert (long.up, long.max_time_s, long.default_time_s, long.nodes) == (False, None, None, ())


def test_what_a_partition_gives_of_a_node_is_read_where_it_has_a_limit() -> None:
    small, free = shown_partitions(
        "PartitionName=small MaxCPUsPerNode=4 MaxMemPerNode=2048 State=UP\n"
        "PartitionName=free MaxCPUsPerNode=UNLIMITED MaxMemPerNode=UNLIMITED State=UP\n"
    )
    assert (small.max_cpus, small.max_memory_bytes) == (4, 2048 * MIB)
    assert (free.max_cpus, free.max_memory_bytes) == (None, None)


@pytest.mark.parametrize(
    ("text", "count"),
    [("2-12:00:00", 216000), ("8:00:00", 28800), ("30:00", 1800), ("UNLIMITED", None), ("", None)],
)
def test_times(text: str, count: int | None) -> None:
    assert seconds(text) == count


def test_gpus_of_two_types_are_counted_each_for_itself() -> None:
    line = (
        "NodeName=n State=MIXED CPUTot=8 Gres=gpu:a100:4(S:0),gpu:t4:2(S:1)"
        " GresUsed=gpu:a100:3(IDX:0-2),gpu:t4:0(IDX:N/A) Partitions=p\n"
    )
    (node,) = shown_nodes(line)
    assert (node.gpus, node.gpus_free) == (6, 3)
    assert [(one.type, one.total, one.free) for one in node.gpus_by_type] == [
        ("a100", 4, 1),
        ("t4", 2, 2),
    ]
    (unclear,) = shown_nodes(line.replace("gpu:a100:3(IDX:0-2),gpu:t4:0(IDX:N/A)", "gpu:3"))
    assert [one.free for one in unclear.gpus_by_type] == [None, None]
    (drained,) = shown_nodes(line.replace("State=MIXED", "State=MIXED+DRAIN"))
    assert [one.free for one in drained.gpus_by_type] == [0, 0]


def test_where_only_sinfo_answers_free_gpus_are_known_of_idle_nodes() -> None:
    idle = "n1|p|idle|0/8/0/8|4000|gpu:a100:4,gpu:t4:2|(null)|none\n"
    busy = idle.replace("n1|", "n2|").replace("idle|0/8/0/8", "mixed|4/4/0/8")
    nodes = listed_nodes(idle + busy)
    assert [[one.free for one in node.gpus_by_type] for node in nodes] == [[4, 2], [None, None]]
