"""What `scontrol show node`, `show partition` and `sinfo` print, read into Nodes and Partitions."""

from __future__ import annotations

import re

import msgspec

from scratchflow.cluster.slurm import hostlist
from scratchflow.model.allocation import GpuCount, Node, Partition

# The reason is last: the staff's words may hold anything.
_SINFO_FIELDS = ("%N", "%P", "%T", "%C", "%m", "%G", "%f", "%E")
SINFO_FORMAT = "--format=" + "|".join(_SINFO_FIELDS)

_NOTHING = {"", "(null)", "N/A", "n/a", "none"}
_MIB = 1024**2
# A value ends where the next ` Key=` begins: `OS=Linux 6.1 #1 SMP` has spaces of its own.
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_/:]*)=(.*?)(?=\s+[A-Za-z][A-Za-z0-9_/:]*=|\s*$)")
# The staff's words may look like pairs; Slurm ends them with who wrote them and when.
_REASON = re.compile(r"\sReason=(.*?\[\S+@\S+\])")
# A type may begin with a digit, `gpu:1g.5gb:7`, but has a letter somewhere.
_GPU = re.compile(
    r"(?:^|,)gpu(?::(?P<type>[\w.+-]*[A-Za-z_][\w.+-]*))?:(?P<count>\d+)(?![\w.])", re.ASCII
)
_TRES_GPU = re.compile(r"\bgres/gpu=(\d+)", re.ASCII)

_BASES = {"IDLE": "idle", "MIXED": "partly used", "ALLOCATED": "in use"}
_SHORT_BASES = {"ALLOC": "ALLOCATED", "MIX": "MIXED", "UNK": "UNKNOWN", "COMP": "COMPLETING"}
# The first that is set is the one that matters to a user.
_FLAGS = {
    "NOT_RESPONDING": "not responding",
    "FAIL": "failing",
    "FAILING": "failing",
    "POWERING_DOWN": "powering down",
    "POWER_DOWN": "powering down",
    "REBOOT": "rebooting",
    "REBOOT_ISSUED": "rebooting",
    "REBOOT_REQUESTED": "to be rebooted",
    "MAINT": "in maintenance",
    "MAINTENANCE": "in maintenance",
    "RESERVED": "reserved",
    "BLOCKED": "blocked",
    "FUTURE": "not built yet",
    "PERFCTRS": "in use for measurements",
    "INVALID_REG": "misconfigured",
}
# Slurm starts jobs on these by itself; what is powered down is powered up first.
_HARMLESS = {
    "CLOUD": "",
    "DYNAMIC_NORM": "",
    "DYNAMIC_FUTURE": "",
    "PLANNED": "planned",
    "COMPLETING": "",
    "POWERED_DOWN": "powered down",
    "POWERING_UP": "booting",
    "POWER_UP": "booting",
    "CONFIGURING": "booting",
}
_BOOTING = {"POWERING_UP", "POWER_UP", "CONFIGURING"}
# `sinfo` says some flags with one character at the end of the state.
_SUFFIXES = {"*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWERING_DOWN"}
_SUFFIXES |= {"%": "POWERING_DOWN", "$": "MAINT", "@": "REBOOT", "^": "REBOOT", "-": "PLANNED"}
# `drained` and `draining` are a base and a flag in one word of `sinfo`.
_SINFO_WORDS = {"DRAINED": "IDLE+DRAIN", "DRAINING": "MIXED+DRAIN", "DRNG": "MIXED+DRAIN"}
_SINFO_WORDS |= {"PLANNED": "IDLE+PLANNED", "RESERVED": "IDLE+RESERVED", "MAINT": "IDLE+MAINT"}


def state_in_words(state: str) -> tuple[str, bool]:
    """`IDLE+DRAIN`, `DOWN*+CLOUD` or `mixed~` in words, and whether a job could start there."""
    parts = state.upper().split("+")
    flags = {_SUFFIXES[part[-1]] for part in parts if part and part[-1] in _SUFFIXES}
    first, *rest = (part.rstrip("".join(_SUFFIXES)) for part in parts)
    base, *more = _SINFO_WORDS.get(first, first).split("+")
    flags |= {*more, *rest} - {""}
    base = _SHORT_BASES.get(base, base)
    return _described(base, flags)


def _described(base: str, flags: set[str]) -> tuple[str, bool]:
    if flags & _BOOTING and base != "DOWN":
        flags = flags - {"NOT_RESPONDING"}  # it cannot answer yet
    if base == "DOWN":
        return ("not responding" if "NOT_RESPONDING" in flags else "down"), False
    if "DRAIN" in flags:
        return ("drained" if base == "IDLE" else "draining"), False
    for flag, words in _FLAGS.items():
        if flag in flags or flag == base:
            return words, False
    if base not in _BASES:
        return base.lower().replace("_", " "), False
    shown = next((_HARMLESS[flag] for flag in sorted(flags) if _HARMLESS.get(flag)), "")
    # A flag that a later Slurm invents is shown as it is; whether a job may start, nobody knows.
    strange = sorted(flags - _HARMLESS.keys())
    words = " ".join(strange).lower() or shown or _BASES[base]
    return words, base != "ALLOCATED" and not strange


def gpus_in(gres: str) -> tuple[int, str]:
    """How many GPUs `gpu:a100:4(S:0-1),nvme:1` names, and of which type if of one only."""
    found = list(_GPU.finditer(gres))
    types = {match["type"] or "" for match in found}
    return sum(int(match["count"]) for match in found), types.pop() if len(types) == 1 else ""


def _by_type(gres: str) -> dict[str, int]:
    """How many GPUs of each type `gpu:a100:4,gpu:t4:2` names; those without a type under an empty name."""
    counts: dict[str, int] = {}
    for match in _GPU.finditer(gres):
        kind = match["type"] or ""
        counts[kind] = counts.get(kind, 0) + int(match["count"])
    return counts


def _gpu_counts(gres: str, used: dict[str, int] | None, free: int | None) -> tuple[GpuCount, ...]:
    """Each type with what is free of it; `free` are those of all types, which decides where there is but one.

    Nothing is known of a type when `used` is None, or counts GPUs without saying of which type they are.
    """
    there = _by_type(gres)
    if len(there) == 1 or free == 0:
        return tuple(GpuCount(type=kind, total=n, free=free) for kind, n in there.items())
    is_known = used is not None and used.keys() <= there.keys()
    taken = used or {}
    return tuple(
        GpuCount(type=kind, total=n, free=max(0, n - taken.get(kind, 0)) if is_known else None)
        for kind, n in there.items()
    )


def shown_nodes(text: str) -> list[Node]:
    """The nodes in what `scontrol --details --oneliner show node` printed."""
    return [
        _shown_node(pairs) for line in text.splitlines() if "NodeName" in (pairs := _pairs(line))
    ]


def _pairs(line: str) -> dict[str, str]:
    reason = _REASON.search(line)
    pairs: dict[str, str] = {"Reason": reason[1]} if reason else {}
    line = line.replace(reason[0], " ", 1) if reason else line
    for key, value in _PAIR.findall(line):
        pairs.setdefault(key, value)  # the first: a comment of the staff's may look like a pair
    return pairs


def _shown_node(pairs: dict[str, str]) -> Node:
    words, available = state_in_words(pairs.get("State", ""))
    gpus, gpu_type = gpus_in(pairs.get("Gres", ""))
    # Slurm 22.05 and later tell the CPUs without those set aside for the system.
    cpus = _count(pairs.get("CPUEfctv") or pairs.get("CPUTot", ""))
    memory = max(0, _count(pairs.get("RealMemory", "")) - _count(pairs.get("MemSpecLimit", "")))
    gpus_free = max(0, gpus - _gpus_used(pairs)) if available else 0
    reason = pairs.get("Reason", "")
    return Node(
        name=pairs["NodeName"],
        partitions=_list(pairs.get("Partitions", "")),
        state=words,
        available=available,
        cpus=cpus,
        cpus_free=max(0, cpus - _count(pairs.get("CPUAlloc", ""))) if available else 0,
        memory_bytes=memory * _MIB,
        memory_free_bytes=max(0, memory - _count(pairs.get("AllocMem", ""))) * _MIB
        if available
        else 0,
        gpus=gpus,
        gpus_free=gpus_free,
        gpu_type=gpu_type,
        gpus_by_type=_gpu_counts(
            pairs.get("Gres", ""), _by_type(pairs.get("GresUsed", "")), gpus_free
        ),
        features=_list(pairs.get("ActiveFeatures") or pairs.get("AvailableFeatures", "")),
        reason="" if reason in _NOTHING else reason,
    )


def _gpus_used(pairs: dict[str, str]) -> int:
    """`GresUsed` counts what jobs took in any way; `AllocTRES` only where gres are accounted."""
    in_tres = _TRES_GPU.search(pairs.get("AllocTRES", ""))
    return max(gpus_in(pairs.get("GresUsed", ""))[0], int(in_tres[1]) if in_tres else 0)


def listed_nodes(text: str) -> list[Node]:
    """The nodes in what `sinfo --Node` printed; a node has a line for each of its partitions."""
    merged: dict[str, Node] = {}
    for line in text.splitlines():
        fields = line.split("|", len(_SINFO_FIELDS) - 1)
        if len(fields) == len(_SINFO_FIELDS):
            node = _listed_node(fields)
            before = merged.get(node.name)
            both = (*before.partitions, *node.partitions) if before else node.partitions
            merged[node.name] = msgspec.structs.replace(node, partitions=both)
    return list(merged.values())


def _listed_node(fields: list[str]) -> Node:
    name, partition, state, cpu_counts, memory, gres, features, reason = fields
    words, available = state_in_words(state)
    _, idle, _, total = (_count(number) for number in (cpu_counts.split("/") + ["0"] * 4)[:4])
    gpus, gpu_type = gpus_in(gres)
    unused = words == "idle"  # `sinfo` tells free memory and GPUs of whole nodes only
    gpus_free = gpus if unused else _not_given(available and gpus > 0)
    return Node(
        name=name,
        partitions=(partition.rstrip("*"),),
        state=words,
        available=available,
        cpus=total,
        cpus_free=idle if available else 0,
        memory_bytes=_count(memory) * _MIB,
        memory_free_bytes=_count(memory) * _MIB if unused else _not_given(available),
        gpus=gpus,
        gpus_free=gpus_free,
        gpu_type=gpu_type,
        gpus_by_type=_gpu_counts(gres, {} if unused else None, gpus_free),
        features=_list(features),
        reason="" if reason in _NOTHING else reason,
    )


def _not_given(some_may_be_free: bool) -> int | None:  # noqa: FBT001 - reads well where it is called
    return None if some_may_be_free else 0


def shown_settings(text: str) -> dict[str, str]:
    """What `scontrol show config` printed: `ClusterName             = mini`."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def shown_partitions(text: str) -> list[Partition]:
    """The partitions in what `scontrol --oneliner show partition` printed."""
    found = [_pairs(line) for line in text.splitlines()]
    return [_shown_partition(pairs) for pairs in found if "PartitionName" in pairs]


def _shown_partition(pairs: dict[str, str]) -> Partition:
    return Partition(
        name=pairs["PartitionName"],
        default=pairs.get("Default") == "YES",
        up=pairs.get("State") == "UP",
        max_time_s=seconds(pairs.get("MaxTime", "")),
        default_time_s=seconds(pairs.get("DefaultTime", "")),
        nodes=_partition_nodes(pairs.get("Nodes", "")),
        max_cpus=_limit(pairs.get("MaxCPUsPerNode", "")),
        max_memory_bytes=_limit(pairs.get("MaxMemPerNode", ""), _MIB),
    )


def _limit(text: str, unit: int = 1) -> int | None:
    """A number; None for UNLIMITED, and for 0, by which Slurm means the same."""
    return _count(text) * unit or None


def _partition_nodes(nodelist: str) -> tuple[str, ...]:
    try:
        return hostlist.expand(nodelist)
    except ValueError:
        return ()  # a list that only Slurm understands; the nodes name their partitions too


def seconds(text: str) -> int | None:
    """`2-12:00:00`, `8:00:00` or `30:00` in seconds; None for UNLIMITED, NONE and the like."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text.strip(), re.ASCII)
    if not match:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def _count(text: str) -> int:
    match = re.match(r"\d+", text, re.ASCII)
    return int(match[0]) if match else 0


def _list(text: str) -> tuple[str, ...]:
    return () if text in _NOTHING else tuple(part for part in text.split(",") if part)
