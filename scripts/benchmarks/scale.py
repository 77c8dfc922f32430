"""Sizes that hardly anybody has: how time and memory grow with files, snapshots and bytes. See `archive --scale`."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from archive import Bench, Sample, step
from tree import change_some, make_small_files

GIB = 1 << 30
_PIECE_BYTES = 16 << 20


def _begin(bench: Bench) -> None:
    """An empty workspace without snapshots."""
    shutil.rmtree(bench.work, ignore_errors=True)
    bench.work.mkdir(parents=True)
    bench.forget_ours()


def _apart(make: Callable[..., object], *words: object, **named: object) -> None:
    """In a process of its own: Linux counts the memory of this one as that of the programs it starts."""
    made = multiprocessing.get_context("fork").Process(target=make, args=words, kwargs=named)
    made.start()
    made.join()
    if made.exitcode:
        raise SystemExit(f"{make.__name__} failed")


def _row(what: str, sample: Sample, note: str = "") -> None:
    wall, cpu, peak = sample
    print(f"{what:<44} {wall:>9.2f} {cpu:>9.2f} {peak:>6.0f}  {note}", flush=True)


def _ids(bench: Bench) -> list[str]:
    return sorted(path.stem for path in bench.out("store").glob("work/*Z-*.json"))


def _store_bytes(bench: Bench) -> int:
    return sum(path.stat().st_size for path in bench.out("store").rglob("*") if path.is_file())


def _restore(bench: Bench, what: str) -> None:
    bench.put_away(bench.work)
    os.sync()
    _row(f"{what}: restore", bench.ours("restore"))


def many_files(bench: Bench, share: float) -> None:
    """1 M files: full, unchanged, 1 % changed, restore."""
    count = max(1000, int(1_000_000 * share))
    what = f"{count:,} files"
    _begin(bench)
    step(f"making {what}")
    _apart(make_small_files, bench.work, files=count)
    os.sync()
    _row(f"{what}: full backup", bench.ours("backup"))
    _row(f"{what}: unchanged backup", bench.ours("backup"))
    _apart(change_some, bench.work, share=0.01, seed=1)
    _row(f"{what}: backup of 1 % changed", bench.ours("backup"))
    _restore(bench, what)


def many_snapshots(bench: Bench, share: float) -> None:
    """100 snapshots of 100 k files: what the commands of the history take, and how it grows."""
    files, count = max(1000, int(100_000 * share)), max(4, int(100 * min(1.0, share * 10)))
    what = f"{count} x {files:,} files"
    _begin(bench)
    step(f"making {what}")
    _apart(make_small_files, bench.work, files=files)
    bench.ours("backup")
    for number in range(1, count):
        _apart(change_some, bench.work, share=0.001, seed=number)
        sample = bench.ours("backup", "--message", f"state {number}")  # named ones are not pruned
        if number + 1 in {count // 10, count // 2, count}:
            _history(bench, f"{number + 1} x {files:,} files", sample)
    newest = _ids(bench)[-1]
    _row(f"{what}: prune all but one", bench.ours("snapshots", "prune", *_ids(bench)[:-1], "--yes"))
    _row(f"{what}: then verify", bench.ours("snapshots", "verify", newest))
    print(f"{'':<44} store afterwards: {_store_bytes(bench):,} bytes")


def _history(bench: Bench, what: str, backup: Sample) -> None:
    ids = _ids(bench)
    _row(f"{what}: backup of 0.1 % changed", backup, f"store: {_store_bytes(bench):,} bytes")
    _row(f"{what}: snapshots list", bench.ours("snapshots", "list"))
    _row(f"{what}: snapshots show", bench.ours("snapshots", "show", ids[-1]))
    _row(f"{what}: snapshots diff", bench.ours("snapshots", "diff", ids[0], ids[-1]))
    _row(f"{what}: snapshots prune --dry-run", bench.ours("snapshots", "prune", "--dry-run"))
    _row(f"{what}: snapshots verify", bench.ours("snapshots", "verify"))


def large_directory(bench: Bench, share: float) -> None:
    """One directory with 200 k entries."""
    count = max(1000, int(200_000 * share))
    what = f"{count:,} entries in a directory"
    _begin(bench)
    step(f"making {what}")
    directory = bench.work / "one"
    directory.mkdir()
    for number in range(count):
        (directory / f"sample-{number:07d}.npy").write_bytes(b"%d" % number)
    os.sync()
    _row(f"{what}: full backup", bench.ours("backup"))
    _row(f"{what}: unchanged backup", bench.ours("backup"))
    (directory / "sample-0000500.npy").write_bytes(b"changed")
    _row(f"{what}: backup of one changed", bench.ours("backup"))
    _restore(bench, what)


def large_file(bench: Bench, share: float) -> None:
    """20 GiB in one file: no command may need more than 300 MiB."""
    size = max(64 << 20, int(20 * GIB * share))
    what = f"{size / GIB:.1f} GiB in a file"
    _begin(bench)
    step(f"making {what}")
    chance = random.Random(1)  # noqa: S311 - data
    path = bench.work / "large"
    with path.open("wb") as file:
        for _ in range(0, size, _PIECE_BYTES):
            file.write(chance.randbytes(_PIECE_BYTES))
    os.sync()
    _row(f"{what}: full backup", bench.ours("backup"))
    before = _store_bytes(bench)
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(os.urandom(1 << 20))
    sample = bench.ours("backup")
    _row(f"{what}: backup of 1 MiB changed", sample, f"{_store_bytes(bench) - before:,} bytes")
    _row(f"{what}: snapshots verify", bench.ours("snapshots", "verify"))
    _row(f"{what}: restore of the difference", bench.ours("restore", _ids(bench)[0]))
    for aside in bench.scratch.glob("work.before-*"):
        shutil.rmtree(aside)
    shutil.rmtree(bench.work)  # there may be no room for both
    os.sync()
    _row(f"{what}: restore", bench.ours("restore"))


def equal_sizes(bench: Bench, share: float) -> None:
    """16,000 files of one size, all changed: each could be any of the others, moved."""
    count = max(500, int(16_000 * share))
    what = f"{count:,} files of one size"
    _begin(bench)
    step(f"making {what}")
    _write_equal(bench.work, count, seed=1)
    os.sync()
    _row(f"{what}: full backup", bench.ours("backup"))
    _write_equal(bench.work, count, seed=2)
    os.sync()
    _row(f"{what}: backup of all changed", bench.ours("backup"))
    _restore(bench, what)


def _write_equal(work: Path, count: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - data
    for number in range(count):
        directory = work / f"{number // 500:03d}"
        directory.mkdir(exist_ok=True)
        (directory / f"{number:06d}.bin").write_bytes(chance.randbytes(65536))


PARTS: dict[str, Callable[[Bench, float], None]] = {
    "files": many_files,
    "snapshots": many_snapshots,
    "directory": large_directory,
    "file": large_file,
    "equal": equal_sizes,
}


def measure_scale(bench: Bench, parts: list[str], share: float) -> None:
    """These parts, or all, at this share of their full size."""
    print(f"{'what':<44} {'wall s':>9} {'CPU s':>9} {'MiB':>6}")
    for part in parts or list(PARTS):
        PARTS[part](bench, share)
        for place in (bench.root, bench.stores):
            shutil.rmtree(place / "trash", ignore_errors=True)
