"""What has to be done to a workspace so that it equals a snapshot: found without a change."""

from __future__ import annotations

from scratchflow.archive.restore import apply_delta as delta
from scratchflow.archive.write import writer
from tests.unit.archive.conftest import Bench, fill


def test_no_changes_is_false(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    scanned = bench.settled()
    assert not delta.changes_since(first, scanned, bench.cache, bench.warn)
    assert not delta.find_delta(scanned, first, bench.cache, first, bench.warn)


def test_snapshots_of_another_chain_share_content(bench: Bench) -> None:
    fill(bench.work)
    first = bench.backup("A")
    again = writer.plan(bench.settled(), first, bench.cache, warn=bench.warn, full=True)
    second = bench.write(again, "B")
    scanned = bench.settled()
    assert not delta.find_delta(scanned, second, bench.cache, first, bench.warn)
