"""A directory of this machine as the archive of a workspace: for the laptop, and for `--from DIR` on the node."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from scratchflow.archive.compare.plan import Plan, plan
from scratchflow.archive.progress import Progress
from scratchflow.archive.scan.brought import BringRules, scan_directory
from scratchflow.archive.scan.scan import Warn
from scratchflow.archive.tree.tree import Counts
from scratchflow.archive.write.archive_out import Out
from scratchflow.archive.write.writer import write
from scratchflow.archive.write.written import Written
from scratchflow.model.errors.workspace import SourceUnusable
from scratchflow.model.text import printable
from scratchflow.process.git import GitFailed, tracked_files


class Luggage(msgspec.Struct, frozen=True):
    """What will be brought, and what stays behind."""

    planned: Plan
    counts: Counts
    left_out: int
    left_out_paths: list[str]


def collect(
    directory: Path,
    name: str,
    exclude: list[str],
    warn: Warn,
    *,
    tracked: list[bytes] | None = None,
) -> Luggage:
    """Looks at everything in the directory, or at what git tracks there, and reads no file yet. SourceUnusable when that cannot be done."""
    rules = BringRules(exclude, tracked)
    try:
        scanned = scan_directory(directory, name, rules, warn)
    except OSError as error:
        raise unusable(directory, (error.strerror or str(error)).lower()) from None
    return Luggage(
        plan(scanned, None, warn=warn),
        scanned.counts(),
        rules.left_out,
        [printable(os.fsdecode(path)) for path in rules.first_left_out],
    )


def pack(
    luggage: Luggage,
    out: Out,
    *,
    snapshot: str,
    level: int,
    warn: Warn,
    progress: Progress,
    threads: int | None = None,
) -> Written:
    """Writes the archive. With `threads=1` no process is forked: for where others run."""
    return write(
        luggage.planned,
        out,
        archive_id=snapshot,
        warn=warn,
        level=level,
        threads=threads,
        progress=progress,
    )


def unusable(directory: Path, reason: str, next_step: str = "") -> SourceUnusable:
    """The error for a directory of this machine."""
    host = f"`{os.uname().nodename}`"
    step = next_step or (
        "check the path; `laptop:DIR` names a directory of the machine that you type on, "
        "a plain DIR one that the node sees"
    )
    return SourceUnusable(path=directory, host=host, reason=reason, next_step=step)


def tracked_in(directory: Path, environment: Mapping[str, str]) -> list[bytes]:
    """What git tracks there. Refused: a linked worktree, whose repository would stay behind, and a bare repository."""
    try:
        known = tracked_files(directory, environment)
    except GitFailed as failed:
        step = "without `--tracked` the directory is brought as it is"
        raise unusable(directory, str(failed), step) from None
    if (directory / ".git").is_file():
        reason = "it is a linked worktree or a submodule, and its repository lies elsewhere"
        step = "bring the main checkout, a clone of it, or the directory without `--tracked`"
        raise unusable(directory, reason, step)
    if not known and (directory / "HEAD").is_file() and (directory / "objects").is_dir():
        reason = "it is a bare repository, which has no files of its own to track"
        step = (
            f"`--from {directory.as_uri()}` clones it; without `--tracked` it is brought as it is"
        )
        raise unusable(directory, reason, step)
    return known
