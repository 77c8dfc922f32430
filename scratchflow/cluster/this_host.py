"""Where this process runs: laptop, login host or compute node, which node, and for which job."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from scratchflow.model.events import Role

_WAY_TO_SLURM = ("PATH", "LD_LIBRARY_PATH", "SLURM_CONF")


def role(environment: Mapping[str, str]) -> Role:
    """Slurm names the node to every process of a job; a host that can allocate is a login host.

    A plain ssh session on a node has no such variable and looks like a login host here; what
    matters there asks Slurm itself.
    """
    if environment.get("SLURMD_NODENAME"):
        return "node"
    return "login" if is_on_path("salloc", environment.get("PATH", "")) else "laptop"


def node_name(environment: Mapping[str, str]) -> str:
    """The node as Slurm calls it, or this machine's own short name."""
    return environment.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]


def login_host() -> str:
    """This host's own full name, as the login hosts of a pool know each other.

    A tmux session lives on one of them: whoever comes back by the pool's name may be on another.
    """
    import socket  # heavy, and needed only here

    name = socket.getfqdn()
    # Without a working resolver that may be the loopback's name, which means another host elsewhere.
    return os.uname().nodename if name.startswith("localhost") or ":" in name else name


def job_id(environment: Mapping[str, str]) -> int | None:
    """The job this process belongs to, if Slurm started it."""
    text = environment.get("SLURM_JOB_ID", "")
    return int(text) if text.isascii() and text.isdigit() else None


def step_id(environment: Mapping[str, str]) -> int | None:
    """The step of the job this process is, if it is one that has a number."""
    text = environment.get("SLURM_STEP_ID", "")
    return int(text) if text.isascii() and text.isdigit() else None


def slurm_variables(job_id: int, node: str, environment: Mapping[str, str]) -> list[str]:
    """What a step of the job would find in its environment, for a process that is none: `NAME=value`.

    Besides what the functions above read, the way to Slurm's commands as this process has it.
    """
    variables = {"SLURMD_NODENAME": node, "SLURM_JOB_ID": str(job_id)}
    passed = {name: environment[name] for name in _WAY_TO_SLURM if environment.get(name)}
    return [f"{name}={value}" for name, value in {**variables, **passed}.items()]


def is_on_path(program: str, path: str) -> bool:
    """Whether one of the directories has the program; `shutil` takes longer to import than this to look."""
    return any(
        os.access(os.path.join(directory, program), os.X_OK)
        for directory in path.split(os.pathsep)
        if os.path.isabs(directory)
    )


def home_of(environment: Mapping[str, str]) -> Path:
    """The user's home, which all hosts of a cluster share."""
    return Path(environment.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)
