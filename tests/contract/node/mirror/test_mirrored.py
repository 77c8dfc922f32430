"""What is on the mirror is told from its listing and its manifests."""

from __future__ import annotations

from pathlib import Path

from scratchflow.node.mirror.mirrored import Mirrored
from scratchflow.node.mirror.target import remote_of
from scratchflow.store.catalogue import read_catalogue
from tests.contract.node.mirror.conftest import desk_with, mirror, mirror_files
from tests.mirrors import Server


def test_only_manifests_that_can_be_read_count(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    desk.write("work/README", "second")
    desk.backup()
    mirror(desk)
    first, second = desk.ids
    manifest = mirror_files(directory) / f"{first}.json"
    manifest.write_bytes(manifest.read_bytes()[:-5])
    (mirror_files(directory) / "notes.json").write_text("{}")
    found = Mirrored(remote_of(desk.context.settings))
    assert found.ids == [first, second]
    assert list(found.manifests) == [second]
    assert found.relied_on == {first, second}
    listed = {one.id: one for one in read_catalogue(desk.place).snapshots}
    assert [found.has(listed[one]) for one in (first, second)] == [False, True]


def test_a_half_written_mark_is_no_mark(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    mirror(desk)
    mark = mirror_files(directory) / "store.json"
    whole = mark.read_bytes()
    mark.write_bytes(whole[:10])
    assert Mirrored(remote_of(desk.context.settings)).store_id() == ""
    mirror(desk)
    assert mark.read_bytes() == whole
