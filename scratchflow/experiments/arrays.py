"""Tasks as Slurm arrays: as few arrays as `MaxArraySize` allows, each counted from 0."""

from __future__ import annotations

import msgspec


class ArrayPart(msgspec.Struct, frozen=True):
    """One array: `count` tasks, of which the first is number `first` of all."""

    first: int
    count: int

    def indexes(self, max_parallel: int | None = None) -> str:
        """What `sbatch --array` takes. `max_parallel` counts for this array alone."""
        limit = f"%{max_parallel}" if max_parallel else ""
        return f"0-{self.count - 1}{limit}"


def array_parts(tasks: int, max_array_size: int) -> list[ArrayPart]:
    """The tasks in arrays. Slurm's largest index is one less than `MaxArraySize`, its smallest 0.

    A cluster that allows no arrays (`MaxArraySize` 0 or 1) gets arrays of one task.
    """
    size = max(1, max_array_size)
    return [ArrayPart(first, min(size, tasks - first)) for first in range(0, tasks, size)]
