"""What steps can do here: run beside each other (`srun --overlap`, since Slurm 20.11), be bound to CPUs."""

from __future__ import annotations

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.nodes import slurm_settings

_NOT_KNOWN = "unrecognized option"
_NO_TASK_PLUGIN = frozenset({"", "(null)", "none", "task/none"})


def has_overlap(slurm: Slurm) -> bool:
    """What `srun` itself says to the option; asked for its version, it starts nothing."""
    done = slurm.ask(["srun", "--overlap", "--version"])
    if done.returncode != 0 and _NOT_KNOWN not in done.error_text:
        raise slurm.unreachable(done.last_line)
    return done.returncode == 0


def has_binding(slurm: Slurm) -> bool:
    """Whether this cluster binds tasks to CPUs. Where it does not, `srun` remarks on every `--cpu-bind`."""
    return slurm_settings(slurm).get("TaskPlugin", "") not in _NO_TASK_PLUGIN


def srun_version(slurm: Slurm) -> str:
    """As `srun` calls itself: `slurm 19.05.5`, or with the name of a distribution's package."""
    done = slurm.ask(["srun", "--version"])
    return done.last_line if done.returncode else done.text.strip()
