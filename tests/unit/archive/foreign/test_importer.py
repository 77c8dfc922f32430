"""Archives made by other programs become archives of ours."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scratchflow.archive.foreign import importer as foreign
from scratchflow.archive.read import verify
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from tests.unit.archive.conftest import Bench, State, fill, tree_state


def _import(bench: Bench, path: Path, where: foreign.Where = foreign.unchanged) -> Index:
    with bench.path("F").open("wb", buffering=0) as out:
        imported = foreign.import_archive(
            path, out, archive_id="F", warn=bench.warn, where=where, lists_chunks=True
        )
    assert verify.verify_archive(bench.path("F"), digest=imported.digest) == []
    return open_index(bench.path("F"))


def _tar_lz4(bench: Bench, tar: list[str], lz4: list[str]) -> Path:
    path = bench.home / "foreign.tar.lz4"
    with (
        path.open("wb") as out,
        subprocess.Popen(["tar", *tar], cwd=bench.scratch, stdout=subprocess.PIPE) as writing,
    ):
        subprocess.run(["lz4", "-q", *lz4, "-", "-"], stdin=writing.stdout, stdout=out, check=True)
    assert writing.returncode == 0
    return path


def _whole_seconds(state: State) -> State:
    return {path: (*s[:2], s[2] // 10**9, s[3]) for path, s in state.items()}  # type: ignore[operator]


@pytest.mark.parametrize("tar_format", ["gnu", "pax", "ustar", "posix", "oldgnu", "v7"])
def test_every_tar_format(bench: Bench, tar_format: str) -> None:
    fill(bench.work)
    if tar_format not in {"ustar", "v7"}:
        (bench.work / ("x" * 200)).write_bytes(b"long")
        (bench.work / "link").symlink_to("y" * 300)
    path = _tar_lz4(bench, [f"--format={tar_format}", "-cf", "-", "work"], [])
    restored = tree_state(bench.restore(_import(bench, path)))
    assert _whole_seconds(restored) == tree_state(bench.scratch, whole_seconds=True)


@pytest.mark.parametrize(
    "options",
    [["--format=gnu"], *(["--format=pax", f"--sparse-version={v}"] for v in ("0.0", "0.1", "1.0"))],
)
def test_sparse_files_of_every_kind(bench: Bench, options: list[str]) -> None:
    with (bench.work / "sparse").open("wb") as file:
        for offset in range(0, 40 << 20, 1 << 20):  # more extents than fit one header
            file.seek(offset)
            file.write(b"%d" % offset)
        file.truncate(50 << 20)
    (bench.work / "after").write_bytes(b"follows the sparse one")
    path = _tar_lz4(bench, ["-S", *options, "-cf", "-", "work"], [])
    index = _import(bench, path)
    restored = bench.restore(index)
    assert _whole_seconds(tree_state(restored)) == tree_state(bench.scratch, whole_seconds=True)
    assert (restored / "work" / "sparse").stat().st_blocks < 2000


def test_archive_made_inside_the_workspace_goes_under_a_name(bench: Bench) -> None:
    fill(bench.work)
    path = _tar_lz4(bench, ["-C", "work", "-cf", "-", "."], [])
    index = _import(bench, path, where=lambda name: b"work/" + name)
    found = {index.path(entry) for entry in range(len(index))}
    assert found == set(tree_state(bench.scratch))


def test_our_own_archive_can_be_imported(bench: Bench) -> None:
    fill(bench.work)
    bench.backup("A")
    restored = tree_state(bench.restore(_import(bench, bench.path("A"))))
    assert _whole_seconds(restored) == tree_state(bench.scratch, whole_seconds=True)


def test_appended_members_win(bench: Bench) -> None:
    (bench.work / "f").write_bytes(b"old")
    tar = bench.home / "a.tar"
    subprocess.run(["tar", "-cf", tar, "work"], cwd=bench.scratch, check=True)
    (bench.work / "f").write_bytes(b"newer")
    subprocess.run(["tar", "-rf", tar, "work"], cwd=bench.scratch, check=True)
    subprocess.run(["lz4", "-q", tar, bench.home / "a.tar.lz4"], check=True)
    restored = bench.restore(_import(bench, bench.home / "a.tar.lz4"))
    assert (restored / "work" / "f").read_bytes() == b"newer"


def test_devices_and_fifos_are_left_out(bench: Bench) -> None:
    os.mkfifo(bench.work / "fifo")
    (bench.work / "f").write_bytes(b"x")
    path = _tar_lz4(bench, ["-cf", "-", "work"], [])
    index = _import(bench, path)
    assert index.find(b"work/fifo") is None
    assert bench.warnings == [("files.skipped", b"work/fifo", "is a FIFO, which is not saved")]


@pytest.mark.usefixtures("small_chunks")
def test_chunks_of_large_files_are_listed_so_that_the_next_backup_stores_little(
    bench: Bench,
) -> None:
    content = os.urandom(5_000_000)
    (bench.work / "large").write_bytes(content)
    (bench.work / "linked").hardlink_to(bench.work / "large")
    (bench.work / "small").write_bytes(os.urandom(60_000))
    (bench.work / "sparse").write_bytes(os.urandom(100_000))
    os.truncate(bench.work / "sparse", 1_000_000)
    path = _tar_lz4(bench, ["--sparse", "-cf", "-", "work"], [])
    index = _import(bench, path)
    chunked = {index.names[entry] for entry in index.chunks}
    assert chunked == {b"large", b"linked", b"sparse"}
    (bench.work / "large").write_bytes(b"new" + content)
    bench.cache = None
    second = bench.backup("B", index)
    assert bench.path("B").stat().st_size < 300_000
    assert second.needs == ["F"]
    assert tree_state(bench.restore(second)) == tree_state(bench.scratch)
