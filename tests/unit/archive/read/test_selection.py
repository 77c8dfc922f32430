"""A part of a snapshot, chosen by paths and globs."""

from __future__ import annotations

import os

from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore import extract
from scratchflow.archive.tree.index import Index
from tests.unit.archive.conftest import Bench, fill, tree_state


def test_selection_restores_a_part(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    selection = Selection(index, ["work/bin", "*.c", "work/none"])
    assert selection.unmatched == ["work/none"]
    target = bench.home / "part"
    target.mkdir()
    extract.extract(index, bench.path, target, warn=bench.warn, select=selection)
    found = {path for path, state in tree_state(target).items() if state[3] is not None}
    assert found == {b"work/bin/tool", b"work/bin/python", b"work/linked.c", b"work/src/main.c"}


def _chosen(index: Index, *patterns: str) -> set[bytes]:
    entries = Selection(index, patterns).entries
    return {index.path(entry) for entry in range(len(index)) if entries[entry]}


def test_a_path_brings_what_it_holds_and_the_directories_above(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    above = {b"work", b"work/src"}
    assert _chosen(index, "work/src/deeper/") == {
        *above, b"work/src/deeper", b"work/src/deeper/leaf",
    }  # fmt: skip
    assert _chosen(index, "/work/src/empty") == {*above, b"work/src/empty"}


def test_a_name_with_the_letters_of_a_glob_is_a_name_first(bench: Bench) -> None:
    for name in ("a[1]", "a1", "*", os.fsdecode(b"caf\xe9")):
        (bench.work / name).write_bytes(b"x")
    index = bench.backup("A")
    assert _chosen(index, "work/a[1]") == {b"work", b"work/a[1]"}
    assert _chosen(index, "work/*") == {b"work", b"work/*"}
    assert _chosen(index, "*caf?") == {b"work", b"work/caf\xe9"}


def test_patterns_that_choose_nothing_are_named_and_choose_nothing(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    patterns = ["", "/", "..", "work/../work", "work/data/beneath", "*.none"]
    selection = Selection(index, patterns)
    assert selection.unmatched == patterns
    assert not any(selection.entries)
