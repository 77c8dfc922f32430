"""Backup and restore against tar, restic and borg: one table, ratios of one interleaved run.

Everything stays until the end, about 7 GB for each round.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from at_once import Halves
from tree import change_some, make_small_files, make_tree

PROGRAM = str(Path(sys.executable).with_name("scratchflow"))
OURS = "scratchflow"
EVERYTHING = "tar | lz4 of everything"  # what somebody does who has no way to do less
TWICE = "tar | lz4, two at once"
KEPT = "tar | lz4, on the disk"  # as ours is when it says so: what is in memory alone goes with the power
MIRRORED = "rsync -a --delete"  # keeps nothing of what it replaces, and believes size and time
Sample = tuple[float, float, float]  # wall seconds, CPU seconds, peak MiB
_USED_BYTES = 3 << 30  # more than a tree and its archive take
_USE_MEMORY = """
import mmap, sys
kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
mmap.mmap(-1, int(sys.argv[1]), flags=kind)
"""


def run(command: list[str], environment: dict[str, str] | None = None) -> Sample:
    """Runs to the end and measures the process and all it waited for."""
    started = time.perf_counter()
    pid = os.posix_spawnp(
        command[0],
        command,
        {**os.environ, **(environment or {})},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, 101, 102}:
        raise SystemExit(f"exit {code}: {' '.join(command)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def shell(script: str, *arguments: object) -> Sample:
    """A pipeline as a user would type it; arguments are $1, $2, …"""
    return run(["bash", "-o", "pipefail", "-c", script, "bash", *map(str, arguments)])


@dataclass
class Bench:
    """One tree, one directory for everybody's archives, and what was measured."""

    root: Path
    stores: Path
    tar_only: bool = False
    round: int = 0
    samples: dict[tuple[str, str], list[tuple[int, Sample]]] = field(default_factory=dict)

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"

    @property
    def work(self) -> Path:
        return self.scratch / "work"

    def out(self, name: str) -> Path:
        """An archive or a repository: on the file system that is measured."""
        return self.stores / name

    def here(self, name: str) -> Path:
        """A cache, or a place to restore to: beside the tree, wherever the archives are."""
        return self.root / "here" / name

    def fresh(self, path: Path) -> Path:
        self.put_away(path)
        path.mkdir(parents=True)
        return path

    def put_away(self, path: Path) -> None:
        """Out of the way, and removed at the very end.

        A file system may be slow to make files right after many were removed (ext4 without a
        journal looks for names that were not used a moment ago): whoever comes next would pay.
        """
        if path.exists():
            on_stores = path.is_relative_to(self.stores)
            trash = (self.stores if on_stores else self.root) / "trash"
            trash.mkdir(exist_ok=True)
            path.rename(trash / str(time.monotonic_ns()))

    def note(self, operation: str, tool: str, sample: Sample) -> None:
        self.samples.setdefault((operation, tool), []).append((self.round, sample))

    def best_of_rounds(self, operation: str, tool: str) -> dict[int, float]:
        """The shortest time of each round."""
        best: dict[int, float] = {}
        for number, sample in self.samples[operation, tool]:
            best[number] = min(sample[0], best.get(number, sample[0]))
        return best

    def ratio(self, operation: str, tool: str) -> float:
        """The tool's time over ours: the median of the rounds.

        Within a round they run one after the other. Between rounds a machine that others use too may become
        twice as fast or slow: the best times of all rounds may come from two different machines, as it were.
        """
        ours, theirs = self.best_of_rounds(operation, OURS), self.best_of_rounds(operation, tool)
        return statistics.median(theirs[number] / ours[number] for number in theirs)

    @property
    def halves(self) -> Halves:
        return Halves(self.stores)

    @property
    def elsewhere(self) -> Path:
        """The scratch of another node that shares the store."""
        return self.root / "elsewhere"

    def ours(self, *arguments: str, profile: str = "bench") -> Sample:
        config = ["--config", str(self.root / "config.toml"), "--profile", profile]
        return run([PROGRAM, *arguments, *config, "--quiet"])

    def write_config(self) -> None:
        (self.root / "config.toml").write_text(
            "".join(
                f'[profiles.{name}]\nscheduler = "none"\nscratch = "{scratch}"\n'
                f'store = "{self.out("store")}"\n'
                for name, scratch in (("bench", self.scratch), ("elsewhere", self.elsewhere))
            )
        )

    def forget_ours(self) -> None:
        """A first backup again: no store, no scan cache."""
        self.put_away(self.out("store"))
        for entry in self.scratch.iterdir():
            if entry != self.work:
                self.put_away(entry)


def same_start() -> None:
    """Whoever comes next begins as the others did: with all bytes on the disk, and memory that was used before.

    The first use of a page takes several times as long on a virtual machine, whose host has to find it first:
    by chance the same restore took 0.6 s or 1.3 s, and so did `tar`.
    """
    os.sync()
    count = min(_USED_BYTES, _free_bytes() // 2)
    # In another process: what this one had at most would count as its children's.
    subprocess.run([sys.executable, "-c", _USE_MEMORY, str(count)], check=True)


def _free_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def settle() -> None:
    """Lets a disk come to rest that was written to a moment ago.

    Replacing files right after they were written can take four times as long: ext4 without a
    journal discards their blocks at once, and the disk is still busy with them. Ten seconds were
    too few where this was seen, thirty were enough.
    """
    os.sync()
    time.sleep(35)
    same_start()


RESTIC = {"RESTIC_PASSWORD": "bench"}
BORG = {
    "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
    "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes",
}


def restic(bench: Bench, *arguments: str) -> Sample:
    cache = str(bench.here("restic-cache"))
    base = ["restic", "-q", "-r", str(bench.out("restic")), "--cache-dir", cache]
    return run([*base, *arguments], RESTIC)


def borg_create(bench: Bench) -> Sample:
    os.chdir(bench.scratch)
    name = f"{bench.out('borg')}::{time.monotonic_ns()}"
    base = {**BORG, "BORG_BASE_DIR": str(bench.here("borg-base"))}
    return run(["borg", "create", "--compression", "lz4", name, "work"], base)


def tar_lz4(bench: Bench) -> Sample:
    return shell(
        'tar -C "$1" -cf - work | lz4 -q > "$2"', bench.scratch, bench.out("plain.tar.lz4")
    )


def tar_lz4_synced(bench: Bench) -> Sample:
    target = bench.fresh(bench.out("synced")) / "plain.tar.lz4"
    return shell('tar -C "$1" -cf - work | lz4 -q > "$2"; sync "$2"', bench.scratch, target)


def untar(bench: Bench) -> Sample:
    target = bench.fresh(bench.here("untar"))
    same_start()
    return shell('lz4 -dc "$1" | tar -xf - -C "$2"', bench.out("plain.tar.lz4"), target)


def tar_g(bench: Bench) -> Sample:
    listing, target = bench.here("tar-g.snar"), bench.out("tar-g.tar.lz4")
    return shell('tar -C "$1" -g "$2" -cf - work | lz4 -q > "$3"', bench.scratch, listing, target)


def tar_zstd(bench: Bench) -> Sample:
    target = bench.out("plain.tar.zst")
    return shell('tar -C "$1" -cf - work | zstd -q -T0 > "$2"', bench.scratch, target)


def full_backups(bench: Bench) -> None:
    bench.forget_ours()
    settle()
    bench.note("full backup", OURS, bench.ours("backup"))
    same_start()
    bench.note("full backup", "tar | lz4", tar_lz4(bench))
    same_start()
    bench.note("full backup", KEPT, tar_lz4_synced(bench))
    bench.halves.split(bench.work)
    same_start()
    bench.note("full backup", TWICE, shell(*bench.halves.pack_script(bench.work)))
    bench.here("tar-g.snar").unlink(missing_ok=True)
    same_start()
    bench.note("full backup", "tar -g | lz4", tar_g(bench))
    if bench.tar_only:
        return
    same_start()
    bench.note("full backup", "tar | zstd -T0", tar_zstd(bench))
    bench.fresh(bench.out("restic"))
    bench.fresh(bench.here("restic-cache"))
    restic(bench, "init")
    same_start()
    bench.note("full backup", "restic", restic(bench, "backup", str(bench.work)))
    bench.fresh(bench.here("borg-base"))
    bench.put_away(bench.out("borg"))
    base = {**BORG, "BORG_BASE_DIR": str(bench.here("borg-base"))}
    run(["borg", "init", "--encryption", "none", str(bench.out("borg"))], base)
    same_start()
    bench.note("full backup", "borg", borg_create(bench))


def repeated_backups(bench: Bench, operation: str) -> None:
    bench.note(operation, OURS, bench.ours("backup"))
    bench.note(operation, "tar -g | lz4", tar_g(bench))
    if bench.tar_only:
        return
    bench.note(operation, "restic", restic(bench, "backup", str(bench.work)))
    bench.note(operation, "borg", borg_create(bench))


def restores(bench: Bench) -> None:
    """Everything into an empty place.

    Ours replaces the workspace, which is put back afterwards.
    """
    kept = bench.root / "kept"
    bench.work.rename(kept)
    same_start()
    bench.note("full restore", OURS, bench.ours("restore"))
    bench.put_away(bench.work)
    kept.rename(bench.work)
    bench.note("full restore", "tar | lz4", untar(bench))
    halves = bench.halves.unpack_script(bench.fresh(bench.here("halves")))
    same_start()
    bench.note("full restore", TWICE, shell(*halves))
    if bench.tar_only:
        return
    target = str(bench.fresh(bench.here("restic-restored")))
    same_start()
    bench.note("full restore", "restic", restic(bench, "restore", "latest", "--target", target))


def delta_restores(bench: Bench, seed: int) -> None:
    """Back to the snapshot before a change of 1 %; `rsync` then does that change again, from a copy that is ready."""
    bench.ours("restore", "--replace")
    bench.ours("backup")
    change_some(bench.work, share=0.01, seed=seed)
    bench.ours("backup")
    previous = _snapshot_ids(bench)[-2]
    changed = bench.here("changed")
    bench.put_away(changed)
    run(["cp", "-a", str(bench.work), str(changed)])
    settle()
    bench.note("delta restore", OURS, bench.ours("restore", previous))
    mirror = ["rsync", "-a", "--delete", f"{changed}/", f"{bench.work}/"]
    bench.note("delta restore", MIRRORED, run(mirror))
    bench.note("delta restore", EVERYTHING, untar(bench))
    bench.ours("restore")
    for aside in bench.scratch.glob("work.before-*"):
        bench.put_away(aside)


def warm_restores(bench: Bench, seed: int) -> None:
    """Back on a node that holds the snapshot before, after 1 % was changed on another one."""
    bench.ours("backup")
    bench.elsewhere.mkdir()
    bench.ours("restore", profile="elsewhere")
    change_some(bench.elsewhere / bench.work.name, share=0.01, seed=seed)
    bench.ours("backup", profile="elsewhere")
    settle()
    bench.note("warm node restore", OURS, bench.ours("restore"))
    bench.note("warm node restore", EVERYTHING, untar(bench))
    bench.put_away(bench.elsewhere)


def verified(bench: Bench) -> None:
    """Every byte of the newest snapshot read and compared, against `lz4 -t` of the same archives.

    Both find the archives in memory: on a network mount the first of them would fetch the bytes for the other one.
    """
    script = 'for archive; do lz4 -q -t "$archive"; done'
    archives = sorted(bench.out("store").glob("work/*.tar.lz4"))
    shell('cat "$@" > /dev/null', *archives)
    bench.note("verify", OURS, bench.ours("snapshots", "verify"))
    bench.note("verify", "lz4 -t", shell(script, *archives))


def one_file(bench: Bench) -> None:
    names = sorted(p for p in bench.work.rglob("*.h") if p.is_file() and not p.is_symlink())
    wanted = names[len(names) // 2].relative_to(bench.work)
    target = bench.fresh(bench.here("one"))
    bench.note("one file", OURS, bench.ours("restore", "--path", str(wanted), "--to", str(target)))
    if not (target / wanted).is_file():
        raise SystemExit(f"one file: {wanted} did not come back")
    plain = bench.out("plain.tar.lz4")
    script = 'lz4 -dc "$1" | tar -xf - -C "$2" "$3"'
    bench.note(
        "one file",
        "tar | lz4",
        shell(script, plain, bench.fresh(bench.here("one")), bench.work.name / wanted),
    )
    bench.note("one file", "scratchflow --version", run([PROGRAM, "--version"]))


def _snapshot_ids(bench: Bench) -> list[str]:
    return sorted(path.stem for path in bench.out("store").glob("work/*Z-*.json"))


def growth(bench: Bench, counts: list[int]) -> None:
    """Full and unchanged backup of ever more small files: seconds per file should not grow."""
    print(
        f"\n{'files':>9} {'full s':>8} {'µs/file':>8} {'MiB':>6} {'unchanged s':>12} {'µs/file':>8} {'MiB':>6}"
    )
    for count in counts:
        shutil.rmtree(bench.work, ignore_errors=True)
        bench.work.mkdir(parents=True)
        make_small_files(bench.work, files=count)
        os.sync()
        bench.forget_ours()
        full = bench.ours("backup")
        again = min(bench.ours("backup") for _ in range(3))
        per_file = [sample[0] / count * 1e6 for sample in (full, again)]
        print(
            f"{count:>9,} {full[0]:>8.2f} {per_file[0]:>8.1f} {full[2]:>6.0f}"
            f" {again[0]:>12.2f} {per_file[1]:>8.1f} {again[2]:>6.0f}"
        )


def table(bench: Bench) -> None:
    """The best times; `ratio` is the tool's time over ours, and `part` ours over the tool's."""
    print(
        f"{'operation':<18} {'tool':<23} {'best s':>8} {'CPU s':>8} {'MiB':>6} {'ratio':>7} {'part':>6}"
    )
    for (operation, tool), noted in bench.samples.items():
        samples = [sample for _, sample in noted]
        wall, cpu = min(s[0] for s in samples), min(s[1] for s in samples)
        peak, ratio = max(s[2] for s in samples), bench.ratio(operation, tool)
        print(
            f"{operation:<18} {tool:<23} {wall:>8.3f} {cpu:>8.2f} {peak:>6.0f} {ratio:>7.2f} {1 / ratio:>6.3f}"
        )
    plain = bench.out("plain.tar.lz4").stat().st_size
    mine = min(path.stat().st_size for path in bench.here("first").glob("*.tar.lz4"))
    print(f"archive: ours {mine:,} bytes, tar | lz4 {plain:,}, ratio {mine / plain:.3f}")


def measure(bench: Bench, rounds: int) -> None:
    for number in range(rounds):
        step(f"round {number + 1} of {rounds}: full")
        bench.round = number
        full_backups(bench)
        if number == 0:
            shutil.copytree(
                bench.out("store") / "work", bench.fresh(bench.here("first")), dirs_exist_ok=True
            )
            step("restores, one file")
        restores(bench)
        verified(bench)
        one_file(bench)
        step("unchanged")
        for _ in range(3):
            repeated_backups(bench, "unchanged backup")
        bench.note("unchanged backup", EVERYTHING, tar_lz4(bench))
        step("1 % changed")
        change_some(bench.work, share=0.01, seed=number)
        repeated_backups(bench, "1 % changed backup")
        step("delta restore")
        delta_restores(bench, seed=1000 + number)
        step("warm node")
        warm_restores(bench, seed=2000 + number)


def step(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench archive", description=__doc__)
    parser.add_argument("--tree", type=Path, help="copy this directory instead of making one")
    parser.add_argument("--files", type=int, default=30_000)
    parser.add_argument("--bytes", type=int, default=1_000_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--tar-only", action="store_true", help="against tar alone: more rounds in the same time"
    )
    parser.add_argument(
        "--growth", nargs="*", type=int, metavar="FILES", help="measure growth instead of the table"
    )
    parser.add_argument(
        "--scale",
        nargs="*",
        choices=["files", "snapshots", "directory", "file", "equal"],
        metavar="PART",
        help="instead: sizes that hardly anybody has, all or these (files: 1 M, snapshots: 100 of 100 k files,"
        " directory: 200 k entries, file: 20 GiB, equal: 16,000 files of one size)",
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the sizes of --scale")
    parser.add_argument("--at", type=Path, help="where everything is written, instead of /tmp")
    parser.add_argument(
        "--store", type=Path, help="where archives and repositories are written, instead of there"
    )
    return parser.parse_args()


def main() -> None:
    options = arguments()
    with bench_in(options.at, options.store) as bench:
        if options.scale is not None:
            from scale import measure_scale

            bench.scratch.mkdir()
            measure_scale(bench, options.scale, options.share)
            return
        if options.growth is not None:
            growth(bench, options.growth or [10_000, 100_000, 1_000_000])
            return
        bench.tar_only = options.tar_only
        prepare(bench, options)
        measure(bench, options.rounds)
        table(bench)


@contextmanager
def bench_in(at: Path | None = None, store: Path | None = None) -> Iterator[Bench]:
    """Directories of its own, which are removed at the end."""
    with (
        tempfile.TemporaryDirectory(prefix="scratchflow-bench-", dir=at) as root,
        tempfile.TemporaryDirectory(prefix="scratchflow-bench-", dir=store or root) as stores,
    ):
        bench = Bench(Path(root), Path(stores))
        bench.fresh(bench.root / "here")
        bench.write_config()
        yield bench


def prepare(bench: Bench, options: argparse.Namespace) -> None:
    step("making the tree")
    bench.scratch.mkdir()
    if options.tree:
        shutil.copytree(options.tree, bench.work, symlinks=True)
    else:
        make_tree(bench.work, files=options.files, size_bytes=options.bytes)
    files = [path for path in bench.work.rglob("*") if path.is_file() and not path.is_symlink()]
    print(f"tree: {len(files):,} files, {sum(path.stat().st_size for path in files):,} bytes")
    os.sync()


if __name__ == "__main__":
    main()
