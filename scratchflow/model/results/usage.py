"""`status --usage`: what is in use on a node, and how much there is."""

from typing import Literal

import msgspec

from scratchflow.model.results.base import Result

UsedBy = Literal["job", "node"]
"""Whose use it is: the job's own, or, where nothing tells that, all that runs on the node."""

NEARLY_FULL = "scratch.nearly_full"
"""The problem of a scratch that has little room left."""


class CpuUse(msgspec.Struct, frozen=True, kw_only=True):
    """How many cores were busy during the half second that was looked at, and how many may be."""

    used: float
    cores: int
    percent: int
    by: UsedBy


class MemoryUse(msgspec.Struct, frozen=True, kw_only=True):
    """Memory in use, without what the kernel can drop at once, and how much may be used."""

    used_bytes: int
    total_bytes: int
    percent: int
    by: UsedBy


class DiskUse(msgspec.Struct, frozen=True, kw_only=True):
    """The file system that scratch is on, with everybody's files; `percent` is what `df` says."""

    path: str
    used_bytes: int
    free_bytes: int
    """What an ordinary user may still write."""
    total_bytes: int
    percent: int
    files_percent: int | None = None
    """How many of the file system's inodes are taken; null when it has no fixed number."""


class GpuUse(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU, as `nvidia-smi` shows it; null is what it does not tell."""

    index: int
    name: str
    percent: int | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    memory_percent: int | None


class UsageRead(Result, frozen=True):
    """`usage`, on the node itself; null is what cannot be read there."""

    cpu: CpuUse | None = None
    memory: MemoryUse | None = None
    scratch: DiskUse | None = None
    gpus: list[GpuUse] = []
    gpus_unknown: str = ""
    """Why the GPUs could not be looked at; empty when they were, or when there are none."""


class NodeUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What is in use on one node of the allocation."""

    node: str
    cpu: CpuUse | None = None
    memory: MemoryUse | None = None
    scratch: DiskUse | None = None
    gpus: list[GpuUse] = []
    gpus_unknown: str = ""
    unknown: str = ""
    """Why nothing is known of this node: it did not answer in time, for instance."""
    warning: str = ""
    """What is wrong with it, in a sentence; the same is among the problems, with its fix."""
