"""Members are shared out in order, each once, in bundles that end at about the same time."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.archive.write.batches import bundles, large_files_of
from tests.unit.archive.conftest import Bench, fill


def many(bench: Bench) -> None:
    """Some dozen frames of small files, with a large one between them."""
    fill(bench.work)
    for number in range(60):
        (bench.work / f"d{number % 7}").mkdir(exist_ok=True)
        content = os.urandom(400_000) + bytes(400_000)
        (bench.work / f"d{number % 7}" / f"{number}").write_bytes(content)
    (bench.work / "d3" / "large").write_bytes(os.urandom(3 * FRAME_BYTES))
    os.link(bench.work / "d1" / "1", bench.work / "d6" / "linked")


def test_bundles_hold_every_member_once_and_in_order(bench: Bench) -> None:
    many(bench)
    scanned = bench.scan()
    members = list(scanned.in_tar_order(bytearray(b"\1") * len(scanned)))
    for expected_bytes in (0, sum(scanned.size), 1 << 40):  # a guess: nothing else depends on it
        found = list(bundles(scanned, iter(members), expected_bytes))
        assert [member for bundle in found for member in bundle.members] == members
        assert [len(bundle.members) for bundle in found if not bundle.fits_frame] == [1]


def test_the_last_bundles_are_small_so_that_all_packers_end_together(bench: Bench) -> None:
    for number in range(200):
        (bench.work / f"file-{number:03}").write_bytes(bytes(100_000))
    scanned = bench.scan()
    members = scanned.in_tar_order(bytearray(b"\1") * len(scanned))
    found = list(bundles(scanned, members, sum(scanned.size)))
    sizes = [sum(scanned.size[member[0]] for member in bundle.members) for bundle in found]
    assert sizes[0] > 3_000_000
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 600_000


def test_what_comes_after_a_large_file_is_shared_out_too(bench: Bench) -> None:
    (bench.work / "a-large-one").write_bytes(bytes(20_000_000))
    for number in range(40):
        (bench.work / f"file-{number:03}").write_bytes(bytes(100_000))
    scanned = bench.scan()
    members = scanned.in_tar_order(bytearray(b"\1") * len(scanned))
    found = list(bundles(scanned, members, sum(scanned.size)))
    after = [bundle for bundle in found if len(bundle.members) > 1]
    assert len(after) > 4


@pytest.mark.usefixtures("small_chunks")
def test_only_large_files_that_are_to_be_stored_are_cut(bench: Bench) -> None:
    (bench.work / "large").write_bytes(os.urandom(300_000))
    first = bench.backup("A")
    (bench.work / "small").write_bytes(os.urandom(60_000))
    (bench.work / "new").write_bytes(os.urandom(70_000))
    (bench.work / "further-name").hardlink_to(bench.work / "new")
    (bench.work / "directory").mkdir()
    planned = bench.plan(first)
    scanned = planned.scanned
    names = [scanned.names[entry] for entry in large_files_of(scanned, planned.store)]
    assert names == [b"further-name"]
