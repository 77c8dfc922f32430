"""A part of a snapshot, chosen by paths and globs."""

from __future__ import annotations

from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore import extract
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
