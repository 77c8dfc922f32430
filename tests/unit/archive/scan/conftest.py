"""A tree that is worth some help, and what a scan finds in it."""

from __future__ import annotations

import os

from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import Scan, ScannedTree
from tests.unit.archive.conftest import Bench, fill


def bushy(bench: Bench) -> None:
    """More directories than are needed to be worth some help, with links between them."""
    fill(bench.work)
    for number in range(120):
        directory = bench.work / "many" / f"{number % 10}" / f"{number}"
        directory.mkdir(parents=True)
        (directory / "file").write_bytes(b"%d" % number)
        (directory / "link").symlink_to(f"../{number + 1}")
        os.mkfifo(directory / "fifo")
        os.link(bench.work / "data", directory / "z-data")
    (bench.work / ".scratchignore").write_text("many/3/\nfile.o\n")


def scan(bench: Bench, helpers: int) -> tuple[ScannedTree, list[tuple[str, bytes, str]]]:
    warnings: list[tuple[str, bytes, str]] = []
    with Scan(bench.scratch, ["work"], IgnoreRules(["*.o"]), helpers) as begun:
        return begun.finish(lambda *result: warnings.append(result)), warnings


def content(tree: ScannedTree) -> dict[str, object]:
    # When it began, and what other processes map meanwhile, differ from scan to scan.
    passing = {"started_ns", "mapped"}
    plain = {name: value for name, value in vars(tree).items() if name not in passing}
    return plain | {"names": list(tree.names), "targets": list(tree.targets)}
