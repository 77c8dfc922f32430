"""Steps that every restore shares: what is chosen, what counts as saved, what is told."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.restore.extract import would_extract
from scratchflow.model.errors.snapshots import PathMissing
from scratchflow.node.restore.saving import (
    shown_aside,
)
from scratchflow.node.restore.source import RestoreOptions, Source
from scratchflow.node.restore.steps import aside_id, chosen_part, foretell_part
from tests.unit.conftest import Desk


@pytest.fixture
def source(desk: Desk) -> Source:
    taken = desk.backup().snapshot
    assert taken
    index = open_index(desk.place.archive(taken))
    return Source(taken, index, ["work"], desk.place.archive)


def test_a_path_that_the_snapshot_lacks_is_named(desk: Desk, source: Source) -> None:
    assert chosen_part(desk.context, source, RestoreOptions("latest")) is None
    with pytest.raises(PathMissing, match="work/none"):
        chosen_part(desk.context, source, RestoreOptions("latest", paths=("work/src", "work/none")))


def test_what_a_part_would_write_is_told(desk: Desk, source: Source) -> None:
    part = chosen_part(
        desk.context, source, RestoreOptions("latest", paths=("work/src", "work/README"))
    )
    planned = would_extract(source.index, part)
    told = foretell_part(desk.context, desk.notify, source, part, planned, target="there")
    assert (told.written_files, told.written_bytes, told.dry_run) == (2, 12, True)
    assert (told.files, told.target, told.mode) == (3, "there", "full")
    whole = would_extract(source.index, None)
    assert foretell_part(desk.context, desk.notify, source, None, whole).written_files == 3


def test_only_an_id_goes_into_the_name_of_what_is_moved_aside(desk: Desk, source: Source) -> None:
    assert aside_id(desk.context, source) == source.id
    named = msgspec.structs.replace(source, id="../../" + "x" * 300)
    assert len(aside_id(desk.context, named)) == 6
    assert shown_aside(desk.context, [b"work/b", b"work/a\x1b"])[1] == str(desk.work / "b")
    assert "\x1b" not in shown_aside(desk.context, [b"work/a\x1b"])[0]
