"""One large file that changes a little, against tar, restic and borg: bytes stored and time, as ratios.

Everything stays until the end, about 6 times the size of the file.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from archive import (
    BORG,
    OURS,
    Bench,
    Sample,
    bench_in,
    borg_create,
    restic,
    run,
    same_start,
    settle,
    shell,
    step,
    tar_lz4,
)
from linked import Library

MIB = 1 << 20
_PIECE_BYTES = 16 * MIB


def write_random(path: Path, size: int, seed: int) -> None:
    """Bytes that nothing compresses."""
    chance = random.Random(seed)  # noqa: S311 - data
    with path.open("wb") as file:
        for start in range(0, size, _PIECE_BYTES):
            file.write(chance.randbytes(min(_PIECE_BYTES, size - start)))


def overwrite(path: Path) -> None:
    """1 MiB in the middle."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(os.urandom(MIB))


def append(path: Path) -> None:
    """10 MiB at the end."""
    with path.open("ab") as file:
        file.write(os.urandom(10 * MIB))


def insert(path: Path) -> None:
    """100 bytes at the front."""
    again = path.with_name("again")
    with path.open("rb") as source, again.open("wb") as target:
        target.write(os.urandom(100))
        shutil.copyfileobj(source, target, _PIECE_BYTES)
    again.replace(path)


def copy(path: Path) -> None:
    """A copy beside it."""
    shutil.copyfile(path, path.with_name("copy"))


def scatter(path: Path) -> None:
    """64 bytes in each of 200 places, as a database does."""
    chance = random.Random(7)  # noqa: S311 - data
    with path.open("r+b") as file:
        for _ in range(200):
            file.seek(chance.randrange(path.stat().st_size - 64))
            file.write(os.urandom(64))


def change_a_little(path: Path, seed: int) -> None:
    """64 KiB in each of four places: what a long chain is made of."""
    chance = random.Random(seed)  # noqa: S311 - data
    with path.open("r+b") as file:
        for _ in range(4):
            file.seek(chance.randrange(path.stat().st_size - MIB))
            file.write(chance.randbytes(64 << 10))


CHANGES: dict[str, Callable[[Path], None]] = {
    "1 MiB overwritten": overwrite,
    "10 MiB appended": append,
    "100 bytes at the front": insert,
    "a copy": copy,
    "64 bytes in 200 places": scatter,
}


@dataclass
class Stored:
    """What one tool took for one change."""

    size: int
    sample: Sample


@dataclass
class Large:
    """The file, and what every tool did with it."""

    bench: Bench
    found: dict[tuple[str, str], list[Stored]] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        return self.bench.work / "large"

    def tools(self) -> dict[str, tuple[Path, Callable[[], Sample]]]:
        """Where each one stores, and how it backs up."""
        bench = self.bench
        return {
            OURS: (bench.out("store"), lambda: bench.ours("backup")),
            "restic": (bench.out("restic"), lambda: restic(bench, "backup", str(bench.work))),
            "borg": (bench.out("borg"), lambda: borg_create(bench)),
        }

    def backup(self, operation: str) -> None:
        for tool, (place, back_up) in self.tools().items():
            same_start()
            before = size_of(place)
            sample = back_up()
            stored = Stored(size_of(place) - before, sample)
            self.found.setdefault((operation, tool), []).append(stored)

    def begin(self) -> None:
        """Empty repositories."""
        bench = self.bench
        bench.forget_ours()
        bench.fresh(bench.out("restic"))
        bench.fresh(bench.here("restic-cache"))
        restic(bench, "init")
        bench.fresh(bench.here("borg-base"))
        bench.put_away(bench.out("borg"))
        base = {**BORG, "BORG_BASE_DIR": str(bench.here("borg-base"))}
        run(["borg", "init", "--encryption", "none", str(bench.out("borg"))], base)

    def round(self, size: int, seed: int) -> None:
        """The first backup, every change, and back before the last one."""
        shutil.rmtree(self.bench.work, ignore_errors=True)
        self.bench.work.mkdir(parents=True)
        write_random(self.file, size, seed)
        self.begin()
        self.backup("first backup")
        same_start()
        plain = Stored(0, tar_lz4(self.bench))
        plain.size = self.bench.out("plain.tar.lz4").stat().st_size
        self.found.setdefault(("first backup", "tar | lz4"), []).append(plain)
        for name, change in CHANGES.items():
            step(name)
            change(self.file)
            self.backup(name)
        self.go_back()

    def go_back(self) -> None:
        """A warm node: only the difference is written."""
        ids = sorted(path.stem for path in self.bench.out("store").glob("work/*Z-*.json"))
        same_start()
        sample = self.bench.ours("restore", ids[-2])
        self.found.setdefault(("back by 200 places", OURS), []).append(Stored(0, sample))
        same_start()
        script = ["cp", str(self.file), str(self.file.with_name("plain-copy"))]
        self.found.setdefault(("back by 200 places", "cp"), []).append(Stored(0, run(script)))

    def linked(self, functions: int, rounds: int) -> None:
        """A shared object, linked again after one of its sources changed.

        restic cuts in every repository at other places: what it stores is the median of several.
        """
        self.bench.work.mkdir(parents=True)
        built = self.bench.root / "build"
        library, first, again = Library(built, functions), built / "first.so", built / "again.so"
        step("compiling")
        library.make()
        library.link(first)
        library.change()
        library.link(again)
        step(f"{first.stat().st_size:,} bytes")
        target = self.bench.work / "libmodel.so"
        for _ in range(rounds):
            self.begin()
            for operation, version in {"first backup of it": first, "linked again": again}.items():
                target.unlink(missing_ok=True)  # as linkers do
                shutil.copyfile(version, target)
                self.backup(operation)

    def chain(self, size: int, count: int) -> None:
        """So many snapshots, each with a small change; then everything into an empty place."""
        bench, operation = self.bench, f"restore after {count}"
        self.bench.work.mkdir(parents=True)
        write_random(self.file, size, seed=1)
        bench.ours("backup")
        for number in range(count):
            step(f"change {number + 1} of {count}")
            change_a_little(self.file, seed=number)
            bench.ours("backup")
        tar_lz4(bench)
        untar, archive = 'lz4 -dc "$1" | tar -xf - -C "$2"', bench.out("plain.tar.lz4")
        for number in range(4):
            step(f"round {number} of 3: restores, each onto a disk at rest")
            target = bench.here("untar")
            _clear(target)
            plain = Stored(0, shell(untar, archive, target))
            _clear(bench.work)
            ours = Stored(0, bench.ours("restore"))
            if number:  # memory that nobody used before is slow on a virtual machine
                self.found.setdefault((operation, "lz4 | tar x"), []).append(plain)
                self.found.setdefault((operation, OURS), []).append(ours)

    def table(self) -> None:
        """Best times of all rounds, and the median of what was stored; `ratio` is ours over the best of the others: below 1 is better."""
        print(
            f"{'change':<24} {'tool':<12} {'best s':>8} {'CPU s':>7} {'MiB':>6} {'stored MB':>10}"
        )
        operations = dict.fromkeys(operation for operation, _ in self.found)
        for operation in operations:
            rows = {tool: rows for (one, tool), rows in self.found.items() if one == operation}
            for tool, stored in rows.items():
                wall, cpu = (min(one.sample[at] for one in stored) for at in (0, 1))
                peak = max(one.sample[2] for one in stored)
                size = statistics.median(one.size for one in stored) / 1e6
                print(
                    f"{operation:<24} {tool:<12} {wall:>8.2f} {cpu:>7.2f} {peak:>6.0f} {size:>10.1f}"
                )
            self._ratios(operation, rows)

    def _ratios(self, operation: str, rows: dict[str, list[Stored]]) -> None:
        ours = min(one.sample[0] for one in rows[OURS])
        words = [f"time {ours / self._fastest(rows):.2f}"]
        if "borg" in rows:
            sizes = [statistics.median(one.size for one in rows[tool]) for tool in (OURS, "borg")]
            words.append(f"bytes {sizes[0] / max(sizes[1], 1):.2f} of borg's")
            restic_size = statistics.median(one.size for one in rows["restic"])
            words.append(f"{sizes[0] / max(restic_size, 1):.2f} of restic's")
        if "tar | lz4" in rows:
            plain = min(one.sample[0] for one in rows["tar | lz4"])
            words.append(f"time {ours / plain:.2f} of tar | lz4")
        print(f"{operation:<24} ratio: {', '.join(words)}")

    def _fastest(self, rows: dict[str, list[Stored]]) -> float:
        others = [tool for tool in rows if tool not in {OURS, "tar | lz4"}]
        return min(one.sample[0] for tool in others for one in rows[tool])


def _clear(place: Path) -> None:
    """Empty, the memory that its files had in use free again, and the disk at rest."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    settle()


def size_of(place: Path) -> int:
    """What lies there, as it is long."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench large", description=__doc__)
    parser.add_argument("--mib", type=int, default=768, help="how large the file is")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chain", type=int, help="instead: a restore after so many small changes")
    parser.add_argument(
        "--linked",
        nargs="?",
        type=int,
        const=80_000,
        metavar="FUNCTIONS",
        help="instead: a shared object that is linked again after one source changed",
    )
    options = parser.parse_args()
    with bench_in() as bench:
        bench.scratch.mkdir()
        large = Large(bench)
        if options.chain:
            large.chain(options.mib * MIB, options.chain)
            options.rounds = 0
        if options.linked:
            large.linked(options.linked, options.rounds)
            options.rounds = 0
        for number in range(options.rounds):
            step(f"round {number + 1} of {options.rounds}")
            large.round(options.mib * MIB, seed=number)
        large.table()


if __name__ == "__main__":
    main()
