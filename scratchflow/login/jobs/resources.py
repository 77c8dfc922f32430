"""What a job asks of Slurm, as its record says it: the profile's `[slurm]`, a script's own lines, and `--sbatch`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from scratchflow.cluster.slurm.batch.script import resources_in
from scratchflow.model.profile import SlurmOptions, to_plain
from scratchflow.model.requests import Submit

_COUNTS = ("nodes", "ntasks")
_NUMBERS = frozenset({*_COUNTS, "gpus", "cpus_per_task"})
_NOTHING: Mapping[str, Any] = {"nodes": 1, "ntasks": 1, "gpus": 0, "cpus_per_task": None}


def resources_of(options: SlurmOptions, asked: Submit, script: Sequence[str]) -> dict[str, Any]:
    """The table for the record; `script` are the options in its `#SBATCH` lines.

    What the script asks for is left to its lines, unless it was typed, too. What `--sbatch` asks for comes after all of this
    and wins; but how many nodes and tasks there are has to be known here, because Slurm gives no more nodes than tasks.
    """
    table = to_plain(options)
    own = [key for key in resources_in(script) if key not in asked.given]
    table |= {key: _NOTHING.get(key, "") for key in own}
    return table | _counts(script, own) | _counts([*options.extra, *asked.sbatch], _COUNTS)


def left_to_script(
    table: Mapping[str, Any], script: Sequence[str], further: Sequence[str]
) -> dict[str, Any]:
    """What the script asks for where the record's table says nothing; `further` are the words of `--sbatch`, which win.

    Only for people to read: `sbatch` gets it from the lines themselves.
    """
    won = resources_in([*table.get("extra", ()), *further])
    asked = {key: value for key, value in resources_in(script).items() if not table.get(key)}
    return {
        key: int(value) if key in _NUMBERS and value.isdecimal() else value
        for key, value in asked.items()
        if key not in won
    }


def _counts(words: Sequence[str], keys: Collection[str]) -> dict[str, int]:
    """How many nodes and tasks these options ask for at least: 2 of `--nodes=2-4`."""
    least = {key: value.partition("-")[0] for key, value in resources_in(words).items()}
    return {
        key: int(least[key]) for key in _COUNTS if key in keys and least.get(key, "").isdecimal()
    }
