"""Who holds a lock: a process on a host, described well enough to know whether it is dead."""

import os
from pathlib import Path

import msgspec

_DEAD_STATES = {"Z", "X", "x"}


class Process(msgspec.Struct, frozen=True):
    """Identifies one process on the cluster, also if its pid is reused.

    Where the system does not tell (no /proc), boot id and namespace are empty and nothing is
    ever concluded from the pid.
    """

    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    start_ticks: int


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a lock's owner file."""

    token: str
    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    start_ticks: int
    job_id: int | None
    since: str
    doing: str

    def in_words(self) -> str:
        """For a person: what it does, where, since when."""
        job = f", job {self.job_id}" if self.job_id is not None else ""
        return f"`{self.doing}` on {self.host} (process {self.pid}{job}) since {self.since}"


def this_process() -> Process:
    """This process."""
    pid = os.getpid()
    # In a pid namespace that still sees its parent's /proc, our pid names somebody else there.
    proc_is_ours = _read_link(Path("/proc/self")) == str(pid)
    return Process(
        host=os.uname().nodename,
        boot_id=_read_boot_id(),
        pid_namespace=_read_link(Path("/proc/self/ns/pid")) if proc_is_ours else "",
        pid=pid,
        start_ticks=(_start_ticks(pid) or 0) if proc_is_ours else 0,
    )


def is_proven_dead(owner: Owner, observer: Process) -> bool:
    """Whether the owner certainly no longer runs, as seen from here.

    Only a process of the same host, boot and pid namespace can be looked up: containers share
    the first two and yet number their processes anew.
    """
    neighbours = (
        bool(observer.boot_id and observer.pid_namespace and owner.start_ticks)
        and owner.host == observer.host
        and owner.boot_id == observer.boot_id
        and owner.pid_namespace == observer.pid_namespace
    )
    if not neighbours:
        return False
    try:
        return _start_ticks(owner.pid) != owner.start_ticks
    except OSError:  # not allowed to look is no proof
        return False


def _start_ticks(pid: int) -> int | None:
    """When the process started, in ticks since boot; None when it is gone or a zombie."""
    try:
        content = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name is in parentheses and may hold anything, parentheses and spaces too.
    fields = content.rpartition(")")[2].split()
    return None if fields[0] in _DEAD_STATES else int(fields[19])


def _read_boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _read_link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
