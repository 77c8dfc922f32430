"""The oracle for hours: `scripts/test soak`. Prints what was tried and what broke as JSON."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import re
import sys
import time
import traceback
from collections import Counter
from datetime import datetime, timezone
from queue import Empty
from typing import Any, TypeAlias

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from scratchflow import __version__
from tests.oracle.commands import why_no_program
from tests.oracle.machine import Oracle, ProgramOracle
from tests.oracle.mounting import enter_namespace
from tests.oracle.world import COUNTS, SEEN

SETTINGS = settings(
    max_examples=5,  # few, so that a worker looks at the clock often
    stateful_step_count=40,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

# Each worker tells, after every seed, its number and all that it has tried so far.
Reports: TypeAlias = "multiprocessing.Queue[tuple[int, dict[str, Any]]]"
# How long hypothesis may look for a shorter way to a failure.
_SHRINKING_S = 300


def main(arguments: list[str]) -> int:
    """Exit code 1 when a promise was broken."""
    asked = _parse(arguments)
    if asked.program and why_no_program():
        sys.stderr.write(f"without the real program: {why_no_program()}\n")
        asked.program = 0
    started_s = time.monotonic()
    until_s = started_s + asked.hours * 3600 + asked.minutes * 60
    queue: Reports = multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=_work, args=(queue, asked, number, until_s))
        for number in range(asked.workers)
    ]
    for worker in workers:
        worker.start()
    found = _collect(queue, workers)
    result = _together(found, asked.seed, time.monotonic() - started_s)
    json.dump(result, sys.stdout, indent=2)
    sys.stdout.write("\n")
    _say(result)
    return 1 if result["defects"] else 0


def _collect(queue: Reports, workers: list[multiprocessing.Process]) -> list[dict[str, Any]]:
    """The last report of each worker. One that was killed counts as a defect, with what it had tried."""
    last: dict[int, dict[str, Any]] = {}
    while any(worker.is_alive() for worker in workers) or not queue.empty():
        with contextlib.suppress(Empty):
            number, report = queue.get(timeout=1)
            last[number] = report
    for number, worker in enumerate(workers):
        worker.join()
        if worker.exitcode != 0:
            report = last.setdefault(number, {"counts": {}, "contents": 0, "defects": []})
            what = f"worker {number} ended with exit code {worker.exitcode}"
            report["defects"].append({"seed": 0, "what": what, "how": "", "where": ""})
            sys.stderr.write(f"{what}\n")
    return list(last.values())


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/test soak")
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--program",
        type=int,
        default=4,
        metavar="N",
        help="every N-th seed by the real program; 0: none",
    )
    asked = parser.parse_args(arguments)
    if not asked.hours and not asked.minutes:
        asked.minutes = 10
    return asked


def _work(
    queue: Reports,
    asked: argparse.Namespace,
    number: int,
    until_s: float,
) -> None:
    defects: dict[str, dict[str, Any]] = {}
    try:
        enter_namespace()
    except OSError as error:
        sys.stderr.write(f"without mounts: {error}\n")
    this = asked.seed + number
    tried = 0
    while time.monotonic() < until_s:
        tried += 1
        by_program = bool(asked.program) and tried % asked.program == 0
        machine = ProgramOracle if by_program else Oracle
        defect = _try(machine, this, shrink=until_s - time.monotonic() > _SHRINKING_S)
        if defect and defect["what"] not in defects:
            defects[defect["what"]] = defect
            sys.stderr.write(f"\nseed {this}: {defect['what']}\n{defect['how']}\n")
        COUNTS["runs"] += 1
        COUNTS["runs by the program"] += by_program
        this += asked.workers
        report = {"counts": dict(COUNTS), "contents": len(SEEN), "defects": [*defects.values()]}
        queue.put((number, report))


def _try(machine: type[Oracle], number: int, *, shrink: bool) -> dict[str, Any] | None:
    """One seed; what it broke, with the shortest way there that was found."""
    phases = [Phase.generate, *([Phase.shrink] if shrink else [])]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            run_state_machine_as_test(
                seed(number)(machine), settings=settings(SETTINGS, phases=phases)
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            last: BaseException = error
            while inner := getattr(last, "exceptions", None):  # a failure that came only once
                last = inner[0]
            how = "\n".join([*getattr(error, "__notes__", []), *getattr(last, "__notes__", [])])
            where = "".join(traceback.format_exception(last, limit=-4))
            return {"seed": number, "what": _plain(last), "how": how or where, "where": where}
    return None


def _plain(error: BaseException) -> str:
    """The error without what differs from run to run, so that one defect is told once."""
    words = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{6}", "ID", str(error).split("\n")[0])
    return f"{type(error).__name__}: {re.sub('[0-9]+', '#', words)[:200]}"


def _together(found: list[dict[str, Any]], first: int, took_s: float) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for one in found:
        counts.update(one["counts"])
    defects = {one["what"]: one for each in found for one in each["defects"]}
    return {
        "version": __version__,
        "day": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "seed": first,
        "workers": len(found),
        "minutes": round(took_s / 60, 1),
        "contents": sum(one["contents"] for one in found),
        "counts": dict(sorted(counts.items())),
        "defects": list(defects.values()),
    }


def _say(result: dict[str, Any]) -> None:
    counts = Counter(result["counts"])
    sys.stderr.write(
        f"{result['minutes']} min, {result['workers']} workers: {counts['steps']} steps, "
        f"{result['contents']} contents tracked, {counts['snapshots']} snapshots, "
        f"{counts['restores compared']} restores compared, {counts['kills']} kills, "
        f"{counts['program commands']} commands by the program, "
        f"{len(result['defects'])} defects\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
