"""Whether Slurm may take a job that asks for more than its partition allows: the site decides that, and may have exceptions."""

from __future__ import annotations

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.nodes import slurm_settings
from scratchflow.model.errors.base import ScratchflowError

# Programs of the site that see a job before Slurm does, and may give it another partition, QOS or time.
_FILTERS = ("JobSubmitPlugins", "CliFilterPlugins")
_HARMLESS = {"", "(null)", "none", "logging", "require_timelimit", "throttle", "syslog"}
_NO_DATABASE = {"", "(null)", "none"}
# What lets jobs of a QOS exceed their partition; a user may have such a QOS without asking for it.
_LETS_EXCEED = {"partitiontimelimit", "overpartqos"}


def may_be_changed(slurm: Slurm) -> bool:
    """Whether the site may make another job of what is submitted; also when Slurm does not say."""
    try:
        settings = slurm_settings(slurm)
    except ScratchflowError:
        return True
    names = (name for key in _FILTERS for name in settings.get(key, "").split(","))
    return any(_kind(name) not in _HARMLESS for name in names)


def may_exceed_time(slurm: Slurm) -> bool:
    """Whether a job may run longer than its partition allows: a QOS of this site lets it, or nobody can say."""
    ask = ["sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Flags"]
    try:
        if _kind(slurm_settings(slurm).get("AccountingStorageType", "")) in _NO_DATABASE:
            return False  # without a database there is no QOS
        done = slurm.ask(ask)
    except ScratchflowError:
        return True
    flags = {flag.strip().lower() for line in done.text.splitlines() for flag in line.split(",")}
    return done.returncode != 0 or bool(flags & _LETS_EXCEED)


def _kind(plugin: str) -> str:
    """`lua` of `job_submit/lua`."""
    return plugin.strip().rpartition("/")[2]
