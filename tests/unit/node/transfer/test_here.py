"""What a store lacks of snapshots from elsewhere: also what is damaged in it, and no more than that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.requests import Offer, Prune, WholeSnapshot
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import prune_snapshots
from scratchflow.node.transfer.copy import offer
from scratchflow.node.transfer.here import Here, adopt_whole
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import known_damaged
from scratchflow.store.commit.arriving import Arriving
from tests.unit.conftest import Desk


@pytest.fixture
def offered(desk: Desk) -> list[WholeSnapshot]:
    """Two snapshots, of which the second needs the first one's archive, as they were when all was whole."""
    desk.write("work/data.bin", os.urandom(9 << 20))
    desk.backup()
    desk.write("work/README", "changed")
    desk.backup()
    return offer(desk.context, desk.notify, Offer()).snapshots


def rot(archive: Path) -> bytes:
    """A byte of it changes; returns what it was."""
    content = archive.read_bytes()
    archive.chmod(0o600)
    archive.write_bytes(content[:5000] + bytes([content[5000] ^ 1]) + content[5001:])
    return content


def here(desk: Desk) -> Here:
    return Here(desk.place, read_catalogue(desk.place))


def bad(desk: Desk) -> frozenset[str]:
    return known_damaged(desk.place, read_catalogue(desk.place).snapshots)


@pytest.mark.slow
def test_one_that_is_here_lacks_nothing_until_it_is_known_to_be_damaged(
    desk: Desk, offered: list[WholeSnapshot]
) -> None:
    first, second = offered
    rot(desk.place.archive(first.id))
    assert here(desk).lacks(second) is None
    assert verify_snapshots(desk.context, desk.notify, []).bad
    lacking = here(desk).lacks(second)
    assert lacking is not None
    assert [one.archive.id for one in lacking.archives] == [first.id]


@pytest.mark.slow
def test_a_damaged_archive_whose_snapshot_is_pruned_is_known_by_its_size(
    desk: Desk, offered: list[WholeSnapshot]
) -> None:
    first, second = offered
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first.id,)))
    archive = desk.place.archive(first.id)
    content = rot(archive)
    assert verify_snapshots(desk.context, desk.notify, []).bad
    lacking = here(desk).lacks(second)
    assert lacking is not None
    assert not lacking.blocked
    assert [one.archive.id for one in lacking.archives] == [first.id]
    archive.write_bytes(content[:-1])  # less is left when a part was given up
    lacking = here(desk).lacks(second)
    assert lacking is not None
    assert lacking.blocked


@pytest.mark.slow
def test_one_archive_that_arrives_mends_all_snapshots_that_need_it(
    desk: Desk, offered: list[WholeSnapshot]
) -> None:
    first, second = offered
    content = rot(desk.place.archive(first.id))
    assert verify_snapshots(desk.context, desk.notify, []).bad
    Arriving(desk.place, first.archives[0], 0).take(iter([content]))
    done = adopt_whole(desk.context, desk.notify, second, doing="a test")
    assert (done.is_new, done.mended) == (False, [first.id, second.id])
    assert bad(desk) == set()


@pytest.mark.slow
def test_what_was_put_right_and_not_noted_is_noted_by_the_next_run(
    desk: Desk, offered: list[WholeSnapshot]
) -> None:
    first, second = offered
    archive = desk.place.archive(first.id)
    content = rot(archive)
    assert verify_snapshots(desk.context, desk.notify, []).bad
    archive.write_bytes(content)  # and killed
    for one in (first, second):
        lacking = here(desk).lacks(one)
        assert lacking is not None
        assert not lacking.archives
    done = adopt_whole(desk.context, desk.notify, first, doing="a test")
    assert done.mended == [first.id, second.id]  # the other one was read for it
    assert bad(desk) == set()
    assert here(desk).lacks(second) is None
