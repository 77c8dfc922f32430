"""What `submit` would run, as records: from what was asked for, the snapshot and a script's own lines."""

from __future__ import annotations

import re
import secrets
import shlex
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from glob import escape
from pathlib import Path

import msgspec

from scratchflow import __version__
from scratchflow.cluster.slurm.batch.early_signal import EarlySignal, early_signal
from scratchflow.cluster.slurm.batch.names import fitting_name
from scratchflow.cluster.slurm.batch.sbatch import max_array_size
from scratchflow.cluster.slurm.batch.script import (
    interpreter,
    is_option,
    job_name_in,
    may_get_several_nodes,
    never_again_option,
    option_of_ours,
    resources_in,
    sbatch_lines,
    unusable_option,
    words_of,
)
from scratchflow.experiments.arrays import array_parts
from scratchflow.login.host import LoginHost
from scratchflow.login.jobs.limits import require_startable
from scratchflow.login.jobs.resources import left_to_script, resources_of
from scratchflow.login.jobs.snapshot_file import read_in_snapshot, require_directory
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.errors.snapshots import PathMissing, SnapshotMissing
from scratchflow.model.job import JobRecord
from scratchflow.model.requests import Submit
from scratchflow.model.snapshot import Manifest, snapshot_id
from scratchflow.model.text import printable
from scratchflow.model.time_limit import in_minutes, time_limit_s
from scratchflow.model.times import iso_time
from scratchflow.node.job.matches import DEFAULT_PATTERN, beneath_workspace
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory

# As in `{a,b}` and `{1..9}`.
_BRACES = re.compile(r"\{[^{}]*(,|\.\.)[^{}]*\}")
_COMMAND = "scratchflow submit"
_INTERPRETER = re.compile(r"(python|pypy|bash|sh|zsh|Rscript|julia|perl|ruby|node)[\d.]*", re.ASCII)


class Planned(msgspec.Struct, frozen=True):
    """The records, one for each array that it takes, and the script's own `#SBATCH` lines."""

    records: list[JobRecord]
    lines: list[str]


def plan_records(login: LoginHost, place: StoreDirectory, asked: Submit) -> Planned:
    """Everything that can be refused before Slurm is asked to take it; nothing is written."""
    manifest = _snapshot(place, asked.snapshot)
    lines, command = _command(place, manifest, asked)
    if asked.directory and not asked.unsaved_directory:
        require_directory(place, manifest, asked.directory)
    _require_usable(login, asked, lines)
    parts = _parts(login, asked)
    records = [_record(login, part, manifest, command, lines) for part in parts]
    _require_able_to_go_on(records[0], [] if "nodes" in asked.given else words_of(lines))
    require_startable(login, records[0], lines, asked.given)
    return Planned(records, lines)


def require_possible(login: LoginHost, asked: Submit) -> None:
    if login.profile.scheduler != "slurm":
        raise SchedulerMissing(profile=login.settings.name)
    problem = ""
    for word in asked.sbatch:
        if not is_option(word):
            problem = f"`--sbatch` takes one option with its value in one word, like `--sbatch=--licenses=x`, not `{printable(word)}`"
    for pattern in asked.collect:
        if beneath_workspace(pattern) is None:
            problem = f"`--collect` takes a path or pattern beneath the workspace, not `{pattern}`"
        elif _BRACES.search(pattern):
            problem = f"`--collect` knows no braces as a shell does: give it once for each that `{pattern}` means"
    # What `--sbatch` says comes last, and wins.
    limit = resources_in(asked.sbatch).get("time") or login.profile.slurm.time
    problem = problem or _problem_before_limit(limit, asked)
    if problem:
        raise UsageInvalid(problem=problem, command=_COMMAND)


def _problem_before_limit(limit: str, asked: Submit) -> str:
    """What is wrong with `--continue` and `--signal`; empty when nothing is."""
    if asked.continues < 0:
        return "`--continue` takes a number, 1 or more"
    try:
        early = _early(asked)
    except ValueError as error:
        return f"`--signal` takes {error}"
    limit_s = time_limit_s(limit) if limit else None
    if early and limit_s and early.seconds >= limit_s:
        return f"the signal {early} would come before the command has begun: the time limit is {in_minutes(limit)}; ask for a longer `--time`, or for the signal later"
    return ""


def _require_usable(login: LoginHost, asked: Submit, lines: list[str]) -> None:
    """UsageInvalid for an option that makes of the job what its record would not know, or that ours would overrule.

    Scripts have lines about their output and name, for when they are submitted by hand: those are overruled.
    """
    found = unusable_option([*login.profile.slurm.extra, *asked.sbatch, *words_of(lines)])
    found = found or option_of_ours(asked.sbatch)
    if found:
        word, why = found
        problem = f"`{printable(word)}` cannot be passed on: {why}"
        raise UsageInvalid(problem=problem, command=_COMMAND)


def _require_able_to_go_on(record: JobRecord, script: Sequence[str]) -> None:
    """UsageInvalid for a job that could not be queued again; `script` are the options in its lines."""
    if not record.continues:
        return
    problem = ""
    words = [*script, *record.slurm.get("extra", ()), *record.sbatch]
    if record.slurm["nodes"] > 1 or may_get_several_nodes(words):
        problem = (
            "`--continue` is for jobs with one node: what others have made could not be put back"
        )
    elif word := never_again_option(record.sbatch):
        problem = f"`{printable(word)}` forbids what `--continue` does: leave one of them out"
    if problem:
        raise UsageInvalid(problem=problem, command=_COMMAND)


def _snapshot(place: StoreDirectory, wanted: str) -> Manifest:
    """The snapshot that was just taken, or else the newest one."""
    catalogue = read_catalogue(place)
    manifest = catalogue.by_id(wanted) if wanted else catalogue.latest
    if manifest is None:
        next_step = (
            "there is nothing to run yet: `scratchflow up` takes a node and makes a workspace"
        )
        raise SnapshotMissing(wanted="latest", next_step=next_step)
    catalogue.require_whole(manifest)
    return manifest


def _command(
    place: StoreDirectory, manifest: Manifest, asked: Submit
) -> tuple[list[str], list[str]]:
    """The `#SBATCH` lines of a script, and the words to run."""
    if not asked.script:
        return [], list(asked.command)
    text = asked.unsaved_script
    if text is None:
        text = _script_in(place, manifest, asked)
    runs = interpreter(text)
    if not runs:
        problem = f"`{asked.script}` has no first line like `#!/bin/bash`; `submit -- CMD` runs any command"
        raise UsageInvalid(problem=problem, command=_COMMAND)
    return sbatch_lines(text), [*runs, asked.script, *asked.command]


def _script_in(place: StoreDirectory, manifest: Manifest, asked: Submit) -> str:
    try:
        return read_in_snapshot(place, manifest, asked.script).decode("utf-8", "surrogateescape")
    except PathMissing as error:
        raise _no_script(asked) from error


def _no_script(asked: Submit) -> UsageInvalid:
    """A command without `--`, or a script that is not in the workspace."""
    command = printable(shlex.join([asked.script, *asked.command]))
    problem = (
        f"the workspace has no batch script `{printable(asked.script)}`, as of the snapshot that the job would run from;"
        f" `scratchflow submit -- {command}` runs it as a command. A script of this machine has to be copied into the workspace first"
    )
    return UsageInvalid(problem=problem, command=_COMMAND)


def _parts(login: LoginHost, asked: Submit) -> list[Submit]:
    """The job, or as many as its tasks need: an array may not be larger than the cluster allows."""
    if len(asked.tasks) <= 1:
        return [asked]
    parts = array_parts(len(asked.tasks), max_array_size(login.slurm))
    return [
        msgspec.structs.replace(asked, tasks=asked.tasks[part.first : part.first + part.count])
        for part in parts
    ]


def _record(
    login: LoginHost, asked: Submit, manifest: Manifest, command: list[str], lines: list[str]
) -> JobRecord:
    slurm = resources_of(login.profile.slurm, asked, words_of(lines))
    return JobRecord(
        id=new_job_id(),
        time=iso_time(time.time()) or "",
        name=fitting_name(asked.name or job_name_in(lines) or program_name(asked.script, command)),
        profile=login.settings.name,
        workspace=login.profile.workspace,
        snapshot=manifest.id,
        command=command,
        script=asked.script,
        directory=asked.directory,
        tasks=list(asked.tasks) or [{}],
        tags=list(asked.tags),
        collect=_collected(asked),
        git=asked.git,
        slurm=slurm,
        sbatch=list(asked.sbatch),
        script_slurm=left_to_script(slurm, words_of(lines), asked.sbatch),
        max_parallel=asked.max_parallel,
        continues=asked.continues,
        signal=str(_early(asked) or ""),
        append=asked.append,
        variables=asked.variables,
        python_path=list(asked.python_path),
        host=login.host,
        tool_version=__version__,
    )


def _early(asked: Submit) -> EarlySignal | None:
    if asked.signal:
        return early_signal(asked.signal)
    return EarlySignal() if asked.continues else None


def _collected(asked: Submit) -> list[str]:
    """The patterns; a command that starts further down makes its `outputs/` there."""
    own = [f"{escape(asked.directory)}/{DEFAULT_PATTERN}"] if asked.directory else []
    return [*own, *(beneath_workspace(pattern) or pattern for pattern in asked.collect)]


def program_name(script: str, command: Sequence[str]) -> str:
    """What the job is called unless it is said: of `python3 -u train.py`, `train.py`, and of `python -m pkg.train`, `pkg.train`."""
    first = Path(script or (command[0] if command else "job")).name
    if script or not _INTERPRETER.fullmatch(first):
        return first
    rest = iter(command[1:])
    for word in rest:
        if word == "-m":
            return next(rest, first)
        if word == "-c":
            return first
        if not word.startswith("-"):
            # `-W error`, `-o pipefail`: the value of an option is no file.
            return Path(word).name if "." in word or "/" in word else first
    return first


def new_job_id() -> str:
    """Sorts by time, is never given out twice, and is the token by which Slurm's job is found."""
    return snapshot_id(datetime.now(timezone.utc), secrets.token_hex(3))
