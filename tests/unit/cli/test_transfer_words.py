"""What people read of snapshots that go somewhere, or come from there."""

from __future__ import annotations

from scratchflow.cli.transfer_words import exported
from scratchflow.model.results.transfer import SnapshotExported

FIRST = "20261115T195140Z-570643"


def test_a_file_is_named_with_the_machine_that_it_is_on() -> None:
    done = SnapshotExported(snapshot=FIRST, path="/x\n.tar.lz4", bytes=1, host="node-9")
    (line,) = exported(done)
    assert line.startswith("wrote `/x\\n.tar.lz4` on `node-9` (")
