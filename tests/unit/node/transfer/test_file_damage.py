"""A file that cannot be read is named itself; no snapshot is called damaged."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest

from scratchflow.model.errors.snapshots import ArchiveUnreadable, SnapshotDamaged
from scratchflow.node.transfer.file_damage import blaming_file
from scratchflow.node.transfer.transfer import export_snapshot, import_snapshot
from tests.unit.conftest import Desk


def _tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("work/file")
        member.size = 100_000
        archive.addfile(member, io.BytesIO(os.urandom(member.size)))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lambda tar: tar, "it is no LZ4 file"),
        (gzip.compress, "it is no LZ4 file"),
        (lambda tar: lz4.frame.compress(tar)[:50_000], "it is cut short"),
        (lambda _: b"", "it is empty"),
        (lambda _: lz4.frame.compress(b"no tar" * 500), "header"),
    ],
    ids=["plain tar", "gzip", "cut", "empty", "no tar"],
)
def test_a_file_that_is_no_archive_is_named_with_the_reason(
    desk: Desk, tmp_path: Path, content: Callable[[bytes], bytes], reason: str
) -> None:
    file = tmp_path / "it's.tar.lz4"
    file.write_bytes(content(_tar()))
    saved = desk.backup().snapshot
    with pytest.raises(ArchiveUnreadable) as refused:
        import_snapshot(desk.context, desk.notify, file, dry_run=False)
    assert str(refused.value).startswith(f"`{file}` cannot be read as a .tar.lz4: ")
    assert reason in str(refused.value)
    assert "verify" not in refused.value.shown_hint
    assert refused.value.exit_code == SnapshotDamaged.exit_code
    with pytest.raises(ArchiveUnreadable):
        desk.restore(source=file)
    assert desk.ids == [saved]


@pytest.mark.parametrize("at", [0.25, -200], ids=["content", "index"])
def test_an_export_that_is_damaged_does_not_accuse_its_snapshot(
    desk: Desk, tmp_path: Path, at: float
) -> None:
    (desk.work / "big").write_bytes(os.urandom(1_000_000))
    desk.backup()
    file = tmp_path / "export.tar.lz4"
    export_snapshot(desk.context, desk.notify, "latest", file, dry_run=False)
    content = bytearray(file.read_bytes())
    content[int(len(content) * at) if at > 0 else int(at)] ^= 1
    file.write_bytes(content)
    for name in ("work/big", "work/data/big.bin"):  # or their content is taken from here
        desk.write(name, "changed")
    with pytest.raises(ArchiveUnreadable):
        import_snapshot(desk.context, desk.notify, file, dry_run=False)
    with pytest.raises(ArchiveUnreadable):
        desk.restore(source=file, to=tmp_path / "x")


def test_damage_to_another_archive_stays_what_it_is(tmp_path: Path) -> None:
    with (
        pytest.raises(SnapshotDamaged, match="snapshot `B` is damaged"),
        blaming_file(tmp_path, "A"),
    ):
        raise SnapshotDamaged(snapshot="B", reason="cut")
