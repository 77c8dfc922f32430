"""What can be known about scratch on the nodes without asking for one: from a job that runs, or from Slurm's files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from scratchflow.cluster.command import CommandMissing, CommandUnanswered
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.request import step_argv
from scratchflow.disk.file_systems import is_shared
from scratchflow.model.results.setup import PlaceSeen

# In the order of preference: what the site made for this job comes first.
CANDIDATES = (
    "$SLURM_TMPDIR",
    "/scratch/$USER",
    "$TMPDIR",
    "/localscratch/$USER",
    "/local/scratch/$USER",
    "/local/$USER",
)
_PROBE_S = 10.0
_MARK = "scratchflow-place"
# Each argument is one of the candidates, which the shell of the job expands. The mark keeps words of the
# site's profile apart; `-T` tells the kind of file system.
_PROBE = f"""
for written; do
    eval "path=$written"
    case $path in /?*) ;; *) continue ;; esac
    near=$path
    while [ ! -d "$near" ]; do near=$(dirname -- "$near"); done
    [ "$near" != / ] && [ -w "$near" ] || continue
    df -PTk -- "$near" | awk -v w="$written" -v p="$path" 'NR == 2 {{print "{_MARK}|" w "|" p "|" $2 "|" $5}}'
done
"""
# Everybody's, and often in memory or on the disk of the system: no name that a site gave a scratch.
_SHARED_BY_ALL = {"/tmp", "/var/tmp", "/dev/shm"}  # noqa: S108 - compared, not used
_SETS_TMPDIR = re.compile(r"\bSLURM_TMPDIR=")
_MOST_BYTES = 1 << 16


def places_in_job(slurm: Slurm) -> tuple[int | None, list[PlaceSeen]]:
    """A running job of this user, and what its node has for a scratch, the best first; nothing without one.

    A short step in that job: nobody waits for a node.
    """
    found = _running_job(slurm)
    if found is None:
        return None, []
    job_id, node = found
    argv = step_argv(job_id, node, ["sh", "-c", _PROBE, "sh", *CANDIDATES])
    try:
        done = slurm.run(argv, _PROBE_S)
    except (CommandMissing, CommandUnanswered):
        return None, []
    return job_id, list(named_places(done.text))


def _running_job(slurm: Slurm) -> tuple[int, str] | None:
    """The newest one that has a single node."""
    mine = [f"--user={slurm.user}", "--states=RUNNING", "--noheader", "--format=%A|%N"]
    try:
        done = slurm.run(["squeue", *mine], _PROBE_S)
    except (CommandMissing, CommandUnanswered):
        return None
    rows = [line.strip().split("|") for line in done.text.splitlines()]
    single = [
        (int(row[0]), row[1])
        for row in rows
        if len(row) == 2 and row[0].isdigit() and re.fullmatch(r"[A-Za-z0-9._-]+", row[1])
    ]
    return max(single, default=None)


def named_places(text: str) -> Iterator[PlaceSeen]:
    """What the probe printed, without network file systems, memory, and what everybody shares."""
    for line in text.splitlines():
        mark, *fields = line.split("|")
        if mark != _MARK or len(fields) != 4 or not fields[3].isdigit():
            continue
        written, path, kind, free = fields
        shared = is_shared(kind)
        if written in CANDIDATES and path.rstrip("/") not in _SHARED_BY_ALL and shared is None:
            size = int(free) * 1024
            yield PlaceSeen(path=written, free_bytes=size, file_system=kind, is_shared=shared)


def tmpdir_prolog(settings: Mapping[str, str]) -> str:
    """The script that gives every task its `$SLURM_TMPDIR`, by what Slurm's configuration and the file say."""
    script = settings.get("TaskProlog", "")
    if not script.startswith("/"):
        return ""
    try:
        with Path(script).open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return script if _SETS_TMPDIR.search(text) else ""
