"""The two ends of `snapshots copy` each check what they are asked, whoever asks."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from scratchflow.archive.format.container import FOOTER_BYTES
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.model.errors.agent import RequestRefused, StreamBroken
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.errors.transfer import WorkspaceNamedOtherwise
from scratchflow.model.events import Data, Event
from scratchflow.model.requests import (
    Adopt,
    ArchiveOf,
    GiveArchive,
    Lacking,
    Offer,
    Settle,
    TakeArchive,
    WholeSnapshot,
)
from scratchflow.node.progress import Notifier
from scratchflow.node.settle import settle
from scratchflow.node.transfer import copy as module
from scratchflow.node.transfer.copy import adopt, give, lacking, offer, take
from scratchflow.store.retention.readers import held_archives
from tests.unit.conftest import Desk, make_desk


@pytest.fixture
def offered(desk: Desk) -> WholeSnapshot:
    """Of a desk with one snapshot."""
    desk.backup()
    (one,) = offer(desk.context, desk.notify, Offer()).snapshots
    return one


def other(desk: Desk) -> Desk:
    """A desk with an empty store."""
    directory = desk.scratch.parent / "other"
    directory.mkdir()
    return make_desk(directory)


def test_what_is_offered_tells_size_and_digest_of_every_archive(
    desk: Desk, offered: WholeSnapshot
) -> None:
    content = desk.place.archive(offered.id).read_bytes()
    digest = WholeDigest().text(content)
    own_digest = WholeDigest().text(content[:-FOOTER_BYTES])
    assert offered.archives == [ArchiveOf(offered.id, len(content), digest, own_digest)]
    assert offered.manifest.encode() == desk.place.manifest(offered.id).read_bytes()


def test_it_is_given_from_where_it_is_wanted_and_held_meanwhile(
    desk: Desk, offered: WholeSnapshot
) -> None:
    content = desk.place.archive(offered.id).read_bytes()
    held: set[str] = set()

    def keep(event: Event) -> None:
        desk.events.append(event)
        held.update(held_archives(desk.place))

    given = give(
        desk.context,
        Notifier(keep),
        GiveArchive(snapshot=offered.id, archive=offered.id, offset=77),
    )
    sent = b"".join(event.content for event in desk.events if isinstance(event, Data))
    assert sent == content[77:]
    assert given.digest == WholeDigest().text(content)
    assert held == {offered.id}
    assert held_archives(desk.place) == set()


def test_an_archive_that_the_snapshot_does_not_need_is_not_given(
    desk: Desk, offered: WholeSnapshot
) -> None:
    with pytest.raises(RequestRefused):
        give(
            desk.context,
            desk.notify,
            GiveArchive(snapshot=offered.id, archive="20200101T000000Z-000000"),
        )


def test_a_snapshot_whose_archives_have_not_arrived_is_not_adopted(
    desk: Desk, offered: WholeSnapshot
) -> None:
    there = other(desk)
    with pytest.raises(StreamBroken):
        adopt(there.context, there.notify, Adopt(snapshot=offered))
    assert there.ids == []


@pytest.mark.parametrize("change", ["byte", "id", "no manifest"])
def test_a_manifest_that_is_not_whole_is_refused(
    desk: Desk, offered: WholeSnapshot, change: str
) -> None:
    there = other(desk)
    wrong = {
        "byte": {"manifest": offered.manifest.replace('"files"', '"filez"')},
        "id": {"id": "20200101T000000Z-000000"},
        "no manifest": {"manifest": "{}"},
    }[change]
    with pytest.raises(RequestRefused, match="manifest"):
        adopt(
            there.context,
            there.notify,
            Adopt(snapshot=msgspec.structs.replace(offered, **wrong)),
        )


def test_a_workspace_of_another_name_is_refused(desk: Desk, offered: WholeSnapshot) -> None:
    renamed = msgspec.structs.replace(offered, workspace="thesis")
    with pytest.raises(WorkspaceNamedOtherwise, match="thesis"):
        lacking(desk.context, desk.notify, Lacking(snapshots=[renamed]))
    with pytest.raises(WorkspaceNamedOtherwise, match="thesis"):
        adopt(desk.context, desk.notify, Adopt(snapshot=renamed))


def test_a_request_without_an_archive_is_refused(desk: Desk) -> None:
    with pytest.raises(RequestRefused):
        take(
            desk.context, desk.notify, TakeArchive(archive=ArchiveOf("20200101T000000Z-000000", 1))
        )


def test_one_that_is_there_already_is_adopted_again_without_a_change(
    desk: Desk, offered: WholeSnapshot
) -> None:
    done = module.adopt(desk.context, desk.notify, Adopt(snapshot=offered))
    assert (done.is_new, done.newest) == (False, offered.id)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_that_may_not_be_written_to_is_told_before_anything_is_sent(
    desk: Desk, offered: WholeSnapshot
) -> None:
    there = other(desk)
    there.write("work/README", "another")
    there.backup()
    directory = there.place.directory
    directory.chmod(0o500)
    try:
        with pytest.raises(StoreUnusable, match="Permission denied"):
            lacking(there.context, there.notify, Lacking(snapshots=[offered]))
    finally:
        directory.chmod(0o700)
    assert lacking(there.context, there.notify, Lacking(snapshots=[offered])).snapshots


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("mode", [0o500, 0])
def test_so_is_a_directory_in_which_the_store_would_have_to_be_made(
    desk: Desk, offered: WholeSnapshot, mode: int
) -> None:
    there = other(desk)
    closed = there.place.directory.parent.parent
    assert not there.place.directory.parent.exists()
    closed.chmod(mode)
    try:
        with pytest.raises(StoreUnusable, match="Permission denied") as caught:
            lacking(there.context, there.notify, Lacking(snapshots=[offered]))
        if mode:
            assert f"the store `{closed}`" in str(caught.value)
    finally:
        closed.chmod(0o700)
    assert lacking(there.context, there.notify, Lacking(snapshots=[offered])).snapshots
    assert not there.place.directory.parent.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_but_not_when_it_lacks_nothing(desk: Desk, offered: WholeSnapshot) -> None:
    desk.place.directory.chmod(0o500)
    try:
        found = lacking(desk.context, desk.notify, Lacking(snapshots=[offered]))
    finally:
        desk.place.directory.chmod(0o700)
    assert found.snapshots == []


def test_what_a_restore_made_the_newest_again_is_the_work_that_it_brought(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/more", "x")
    second = str(desk.backup().snapshot)
    assert lacking(desk.context, desk.notify, Lacking(snapshots=[])).newest_work == second
    desk.restore(first)
    found = lacking(desk.context, desk.notify, Lacking(snapshots=[]))
    assert found.newest not in {first, second}
    assert found.newest_work == first
    desk.write("work/other", "x")
    third = str(desk.backup().snapshot)
    assert lacking(desk.context, desk.notify, Lacking(snapshots=[])).newest_work == third


def test_an_empty_workspace_that_was_never_used_is_no_work(desk: Desk) -> None:
    there = other(desk)
    settle(there.context, there.notify, Settle())
    found = lacking(there.context, there.notify, Lacking(snapshots=[]))
    assert (found.newest, found.newest_work) == (there.ids[0], None)
    there.write("work/mine", "x")
    there.backup()
    emptied = there.restore(there.ids[0]).committed_as
    found = lacking(there.context, there.notify, Lacking(snapshots=[]))
    assert (found.newest, found.newest_work) == (emptied, there.ids[0])


def test_an_empty_workspace_that_was_saved_with_what_lies_beside_it_is_no_work_either(
    tmp_path: Path,
) -> None:
    there = make_desk(tmp_path, 'backup.also = ["env"]\n')
    there.write("env/bin/python", "x")
    settle(there.context, there.notify, Settle())
    found = lacking(there.context, there.notify, Lacking(snapshots=[]))
    assert (found.newest, found.newest_work) == (there.ids[0], None)
    there.write("work/mine", "x")
    second = there.backup().snapshot
    assert lacking(there.context, there.notify, Lacking(snapshots=[])).newest_work == second
