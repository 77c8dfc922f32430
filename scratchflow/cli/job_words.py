"""Submitted jobs in the words and columns that people read."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator

import msgspec

from scratchflow.cli.remote_call import on_host
from scratchflow.cli.tables import GAP, aligned
from scratchflow.model.ages import age, shown_id, span
from scratchflow.model.job import unmatched_in_words
from scratchflow.model.results.jobs import (
    JobDifference,
    JobPruned,
    JobShown,
    JobsListed,
    JobsPruned,
    OutputsPut,
    OutputsShown,
    TaskShown,
)
from scratchflow.model.text import cells, counted, printable, shortened
from scratchflow.model.times import epoch
from scratchflow.model.units import format_size
from scratchflow.model.wrap import Labelled
from scratchflow.report.output import terminal_width

_HEADER = ["name", "job", "state", "submitted", "ran", "node", "last output"]
# What goes first where the terminal is narrow; a name keeps so many columns.
_DISPENSABLE = ("last output", "node", "submitted", "ran")
_NAME = 12
_LINE = 320
_LISTED = 10
_WIDEST = 40


def listed(found: JobsListed) -> Iterator[str]:
    """What `jobs` prints."""
    if found.no_cluster:
        yield "no jobs: this profile has no cluster; `scratchflow run -- CMD` runs a command in the workspace"
        return
    if not found.jobs:
        yield (
            "no jobs but those that cannot be read"
            if found.damaged
            else "no jobs; `scratchflow submit -- CMD` submits one"
        )
        return
    yield from table(found.jobs, terminal_width())
    yield from _unsaved(found.jobs)
    if found.left_out:
        yield f"{counted(found.left_out, 'older job')} more with `--all`"


def _unsaved(jobs: list[JobShown]) -> Iterator[str]:
    """Of which something lies on a node alone, or is lost: a state does not tell that."""
    names = [
        str(job.number or job.job)
        for job in jobs
        if any(task.unsaved_on or task.lost for task in job.tasks)
    ]
    if names:
        whose = f"job{'s' if names[1:] else ''} {', '.join(names)}"
        yield f"not all that {whose} made is saved; `scratchflow jobs show {names[-1]}` says where it is"


def table(jobs: list[JobShown], width: int | None) -> Iterator[str]:
    """One line a job, oldest first."""
    now_s = time.time()
    names = Counter(job.name for job in jobs)
    rows = [_HEADER, *(_row(job, now_s, is_only=names[job.name] == 1) for job in jobs)]
    yield from aligned(_narrowed(rows, width), width=width)


def _narrowed(rows: list[list[str]], width: int | None) -> list[list[str]]:
    """Without as many of the columns that `jobs show` tells as well as it takes to stay within the width."""
    for name in _DISPENSABLE:
        widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
        least = min(widths[0], _NAME) + sum(widths[1:]) + len(GAP) * (len(widths) - 1)
        if width is None or least <= width:
            break
        at = rows[0].index(name)
        rows = [[*row[:at], *row[at + 1 :]] for row in rows]
    return rows


def _row(job: JobShown, now_s: float, *, is_only: bool) -> list[str]:
    nodes = list(dict.fromkeys(task.node for task in job.tasks if task.node))
    more = f" +{len(nodes) - 1}" if len(nodes) > 1 else ""
    outputs = [moment for task in job.tasks if (moment := epoch(task.last_output)) is not None]
    return [
        printable(job.name if is_only else _distinct_name(job)),
        str(job.number or job.job[-6:]),
        states(job),
        _ago(epoch(job.time), now_s),
        _ran(job.tasks, now_s),
        printable(nodes[0]) + more if nodes else "-",
        _ago(max(outputs), now_s) if outputs else "-",
    ]


def _distinct_name(job: JobShown) -> str:
    """The name of a job that others have too, with what followed the program that it was taken from."""
    words = (
        number for number, word in enumerate(job.command) if os.path.basename(word) == job.name
    )
    behind = job.command[next(words, len(job.command)) + 1 :]
    return " ".join([job.name, *behind])


def states(job: JobShown) -> str:
    """`RUNNING`, or of several tasks how many are in which state."""
    found = Counter(task.state for task in job.tasks)
    if len(job.tasks) <= 1:
        return job.state
    return ", ".join(f"{count} {state}" for state, count in found.most_common())


def _ran(tasks: list[TaskShown], now_s: float) -> str:
    starts = [moment for task in tasks if (moment := epoch(task.start)) is not None]
    if not starts:
        return "-"
    is_open = any(task.start and not task.end for task in tasks)
    ends = [moment for task in tasks if (moment := epoch(task.end)) is not None]
    return span(max(0.0, (now_s if is_open or not ends else max(ends)) - min(starts)))


def _ago(moment_s: float | None, now_s: float) -> str:
    return "-" if moment_s is None else age(max(0.0, now_s - moment_s))


def details(job: JobShown, task: int | None) -> Iterator[str]:
    """All that is known of one job."""
    yield f"job {job.number or '-'} (`{printable(job.name)}`): {states(job)}"
    yield from (Labelled(f"  {label:<10} ", text) for label, text in _asked_for(job))
    chosen = [one for one in job.tasks if task in {None, one.task}]
    for one in chosen[:_LISTED]:
        yield from _task_lines(job, one)
    if len(chosen) > _LISTED:
        yield f"  … and {counted(len(chosen) - _LISTED, 'task')} more; `--json` shows all"
    if any(one.state == "FAILED" for one in chosen):
        again = f"`scratchflow jobs rerun --failed {job.number or job.job}`"
        yield f"{again} runs it from the same files; with `--current` from the workspace as it is now"


def _asked_for(job: JobShown) -> Iterator[tuple[str, str]]:
    from shlex import join  # a list of jobs does without

    yield "command", printable(join(job.command))
    if job.cwd:
        yield "directory", printable(job.cwd)
    yield "code", f"snapshot {shown_id(job.snapshot)}{_git(job)}"
    asked = [
        f"{name}={value}" for name, value in job.slurm.items() if value not in ("", 0, [], False)
    ]
    yield "resources", printable(" ".join([*asked, *job.sbatch]))
    if job.collect:
        yield "collects", printable(" ".join(["outputs/", *job.collect]))
    if job.signal:
        yield "before end", _before_the_end(job)
    if job.tags:
        yield "tags", printable(" ".join(job.tags))
    if job.rerun_of:
        number = f"job {job.rerun_of_number}, " if job.rerun_of_number is not None else ""
        yield "rerun of", f"{number}{job.rerun_of}"
    for other in job.same_number:
        if other < job.job:
            again = f"`scratchflow jobs show {other}` shows it"
            yield "older job", f"`{other}` had the number {job.number} before; {again}"
        else:
            yield (
                "newer job",
                f"`{other}` has the number {job.number} now: commands take `{job.job}` for this one",
            )
    yield "record", printable(job.directory)
    files = sum(one.collected_files for one in job.tasks)
    if files:
        size = format_size(sum(one.collected_bytes for one in job.tasks))
        command = f"`scratchflow jobs outputs {job.number or job.job} --to laptop:.`"
        yield "outputs", f"{counted(files, 'file')} ({size}): {command}"


def _before_the_end(job: JobShown) -> str:
    name, _, seconds = job.signal.partition("@")
    times = counted(job.continues, "time")
    again = f", then queued again to go on, at most {times}" if job.continues else ""
    return printable(f"the command gets {name} {seconds} s before the time limit{again}")


def _git(job: JobShown) -> str:
    if job.git is None:
        return ""
    branch = f" on {job.git.branch}" if job.git.branch else ""
    more = ["changes"] if job.git.dirty else []
    more += ["files that git does not track"] if job.git.untracked else []
    beyond = f", with {' and '.join(more)}" if more else ""
    return printable(f", git {job.git.commit[:10]}{branch}{beyond}")


def _task_lines(job: JobShown, one: TaskShown) -> Iterator[str]:
    name = f"task {one.task}" if len(job.tasks) > 1 else "task"
    code = f", exit code {one.code}" if one.code is not None and not one.why else ""
    where = f" on `{printable(one.node)}`" if one.node else ""
    ran = _ran([one], time.time())
    took = f", ran {ran}" if ran != "-" else ""
    again = f", restarted {counted(one.restarts, 'time')}" if one.restarts else ""
    yield Labelled(f"  {name:<10} ", f"{one.state}{code}{where}{took}{again}")
    if one.why:
        yield f"             {printable(one.why)}"
    if one.continued:
        yield f"             went on in another run {counted(one.continued, 'time')}"
    if one.parameters:
        pairs = " ".join(f"{key}={as_typed(value)}" for key, value in one.parameters.items())
        yield f"             {printable(pairs)}"
    yield from _saved_lines(one)
    if used := list(_used(one)):
        yield f"             {', '.join(used)}"


def _saved_lines(one: TaskShown) -> Iterator[str]:
    """What of its work is saved, and what is not."""
    if one.collected_files:
        size = format_size(one.collected_bytes)
        earlier = f", {one.earlier_files:,} of them by earlier runs" if one.earlier_files else ""
        yield f"             collected {counted(one.collected_files, 'file')} ({size}){earlier}"
    for line in one.not_collected[:_LISTED]:
        yield f"             NOT collected: {_within(printable(line))}"
    if one.rest:
        yield f"             {printable(one.rest)}"
    for line in [*one.links_out[:_LISTED], *one.left_out[:_LISTED]]:
        yield f"             left out: {_within(printable(line))}"
    for pattern in one.unmatched[:_LISTED]:
        yield f"             {printable(unmatched_in_words(pattern))}"
    for line in one.removed[:_LISTED]:
        yield f"             removed {printable(line)}"


def _within(line: str) -> str:
    """A path may have 4,000 characters: its begin and its end, where the reason is, with `…` between."""
    return line if len(line) <= _LINE else f"{line[: _LINE // 2]}…{line[-_LINE // 2 :]}"


def _used(one: TaskShown) -> Iterator[str]:
    """What accounting says that it used."""
    if one.peak_memory_bytes is not None:
        yield f"peak memory {format_size(one.peak_memory_bytes)}"
    if one.cpu_s is not None:
        yield f"{one.cpu_s:g} s of processor time"


def outputs_in_words(found: OutputsShown) -> Iterator[str]:
    """What people read after `jobs outputs`."""
    name = str(found.number or found.job)
    if not found.files:
        whose = f" of task {found.tasks[0]}" if found.is_array and len(found.tasks) == 1 else ""
        yet = "" if found.is_over else " yet"
        only = ": only new and changed files in `outputs/` and `--collect` are"
        yield f"nothing{whose} of job {name} is saved{yet}{'' if found.rest else only}"
        yield from map(printable, found.rest)
        return
    total = f"{counted(found.files, 'file')} ({format_size(found.bytes)})"
    put = found.put
    if put is not None:
        yield _put_in_words(put, total)
        yield from map(printable, found.rest)
        return
    rows = [["link" if one.is_link else format_size(one.bytes), one.path] for one in found.outputs]
    yield from aligned(rows, right={0})
    if found.files > len(found.outputs):
        yield f"… and {counted(found.files - len(found.outputs), 'file')} more"
    beside = ", and beside it for `0@…`," if found.is_beside else ""
    yield f"{total} in `{printable(found.directory)}`{beside} on `{printable(found.host)}`"
    yield from map(printable, found.rest)
    yield f"`scratchflow jobs outputs {name} --to laptop:.` brings them here, into `{found.place}/`"
    if found.is_array:
        yield f"`scratchflow jobs show {name}` says which parameters each task had"


def _put_in_words(put: OutputsPut, total: str) -> str:
    where = f"`{put.target}`{on_host(put.host)}"
    if put.dry_run:
        return (
            f"would put {total} into {where}; what is there already and differs is never replaced"
        )
    if not put.written_files:
        return f"{where} has all of it already: {total}"
    were = "was" if put.same_files == 1 else "were"
    there = f", {counted(put.same_files, 'file')} {were} there already" if put.same_files else ""
    size = format_size(put.written_bytes)
    return f"{where}: {counted(put.written_files, 'file')} ({size}) written{there}"


def removal_in_words(found: JobsPruned) -> Iterator[str]:
    """What is lost when these jobs are removed."""
    yield "Remove for good:"
    yield from (f"  {_removed(one)}" for one in found.removed)


def pruned(found: JobsPruned) -> Iterator[str]:
    """What people read after `jobs prune`."""
    word = "would remove" if found.dry_run else "removed"
    yield from (f"{word} {_removed(one)}" for one in found.removed)
    for one in found.kept:
        name = f"{one.number or one.job} (`{printable(one.name)}`)"
        yield f"kept {name}: {printable(one.why)}; {printable(one.next_step)}"
    size = format_size(sum(one.bytes for one in found.removed))
    yield f"{word} {counted(len(found.removed), 'job')}, {size}"
    if found.older_than == "forever":
        yield "no job is old: `backup.keep_jobs` is `forever`; `scratchflow jobs prune JOB` removes one"
    elif found.older_than:
        yield f"old are jobs that ended more than {found.older_than} ago (`backup.keep_jobs`)"
    if found.unneeded_snapshots:
        freed = counted(len(found.unneeded_snapshots), "snapshot")
        yield f"no job needs {freed} any more; `scratchflow snapshots prune` removes what no rule keeps"


def _removed(one: JobPruned) -> str:
    when = _ago(epoch(one.time), time.time())
    made = f"{counted(one.output_files, 'file')} ({format_size(one.output_bytes)}) that it made"
    outputs = f", with {made}" if one.output_files else ""
    rest = f"; {printable(one.rest)}" if one.rest else ""
    return f"{one.number or one.job} (`{printable(one.name)}`), submitted {when}{outputs}{rest}"


def differences(first: str, second: str, found: list[JobDifference]) -> Iterator[str]:
    """Two jobs side by side."""
    if not found:
        yield "they are the same"
        return
    rows = [["", first, second]]
    rows += [
        [one.what, *(_compared(one.what, value) for value in (one.first, one.second))]
        for one in found
    ]
    yield from aligned(rows)
    snapshots = [one for one in found if one.what == "snapshot"]
    if snapshots:
        ids = f"{snapshots[0].first} {snapshots[0].second}"
        yield f"`scratchflow snapshots diff {ids}` shows which files"


def _compared(what: str, value: object) -> str:
    """An empty parameter is not a missing one."""
    if what == "peak memory" and isinstance(value, int):
        return format_size(value)
    if not what.startswith("param "):
        return _value(value)
    return '""' if value == "" else _value(value if value is None else as_typed(value))


def as_typed(value: object) -> str:
    """A parameter as it is written in a command, and in JSON: `true`, not as Python has it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _value(value: object) -> str:
    return "-" if value is None or value == "" else shortened(printable(str(value)), _WIDEST)
