"""The cgroup that Slurm has made for the job, version 1 or 2: what the job uses, and what it may use.

Paths are looked for beneath `root`, which is `/` but in tests.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

# Where no limit is set, version 1 says a number that no machine has.
_NO_LIMIT_BYTES = 1 << 60
_V2 = ""
"""What stands for the controllers of version 2, which share one tree."""


class JobGroups(msgspec.Struct, frozen=True):
    """The job's directory in the tree of each controller; version 2 has one for all."""

    directories: dict[str, Path]

    def cpu_seconds(self) -> float | None:
        """Processor time since the job began; None when nobody counts it."""
        if _V2 in self.directories:
            spent = _table(self.directories[_V2] / "cpu.stat").get("usage_usec")
            if spent is not None:
                return spent / 1e6
        spent = _number(self._file("cpuacct", "cpuacct.usage"))
        return spent / 1e9 if spent is not None else None

    def cores(self) -> int | None:
        """How many cores its processes may run on."""
        listed = _text(self._file(_V2, "cpuset.cpus.effective"))
        return _counted(listed or _text(self._file("cpuset", "cpuset.cpus")))

    def memory_bytes(self) -> int | None:
        """What its processes hold, without pages of files that were not touched lately: those make way."""
        for controller, total, idle in (
            (_V2, "memory.current", "inactive_file"),
            ("memory", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            used = _number(self._file(controller, total))
            if used is not None:
                kept = _table(self._file(controller, "memory.stat")).get(idle, 0)
                return max(0, used - kept)
        return None

    def memory_limit_bytes(self) -> int | None:
        """At how much the kernel ends one of its processes; None without a limit."""
        limit = _number(self._file(_V2, "memory.max"))
        if limit is None:
            limit = _number(self._file("memory", "memory.limit_in_bytes"))
        return limit if limit is not None and limit < _NO_LIMIT_BYTES else None

    def _file(self, controller: str, name: str) -> Path | None:
        directory = self.directories.get(controller)
        return directory / name if directory is not None else None


def job_groups(job_id: int | None, root: Path = Path("/")) -> JobGroups:
    """Those of the job that this process belongs to; none where Slurm makes none, or outside a job."""
    if job_id is None:
        return JobGroups({})
    mounts = _mounts(_text(root / "proc/self/mountinfo"))
    found = {}
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        of_job = _down_to(path, f"job_{job_id}")
        for controller in controllers.split(",") if of_job else ():
            top, mounted = mounts.get(controller, ("/", ""))
            if mounted and of_job.startswith(top):
                beneath = of_job[len(top) :].strip("/")
                found[controller] = root / mounted.strip("/") / beneath
    return JobGroups(found)


def _down_to(path: str, name: str) -> str:
    """`/slurm/uid_1/job_7/step_0` down to `job_7`; empty when that is no part of it."""
    parts = path.split("/")
    return "/".join(parts[: parts.index(name) + 1]) if name in parts else ""


def _mounts(mountinfo: str) -> dict[str, tuple[str, str]]:
    """By controller: which part of its tree is mounted, and where. The first mount counts."""
    found: dict[str, tuple[str, str]] = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        here, there = before.split(), after.split()
        if len(here) < 5 or len(there) < 3:
            continue
        kind, options = there[0], there[2]
        names = {"cgroup2": [_V2], "cgroup": options.split(",")}.get(kind, [])
        for name in names:
            found.setdefault(name, (here[3], here[4]))
    return found


def _counted(cpus: str) -> int | None:
    """How many `0-3,8,10-11` are; None for an empty list."""
    total = 0
    for part in cpus.strip().split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            return None
        total += int(last or first) - int(first) + 1
    return total


def _table(path: Path | None) -> dict[str, int]:
    """A file of lines `name number`."""
    pairs = (line.split() for line in _text(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _number(path: Path | None) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _text(path: Path | None) -> str:
    """Empty for a file that this kernel, or this controller, does not have."""
    try:
        return path.read_text("ascii", "replace") if path is not None else ""
    except OSError:
        return ""
