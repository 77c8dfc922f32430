"""While the newest snapshot cannot be read, nothing takes an older one for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import LatestUnreadable
from scratchflow.model.errors.workspace import WorkspaceKnown
from scratchflow.model.requests import Create, Settle
from scratchflow.model.snapshot import seal_manifest
from scratchflow.node.create import create
from scratchflow.node.settle import settle
from scratchflow.store.catalogue import read_catalogue
from scratchflow.workspace.notes import forget_base
from tests.unit.conftest import Desk


def flip(manifest: Path) -> None:
    content = bytearray(manifest.read_bytes())
    content[len(content) // 2] ^= 1
    manifest.write_bytes(content)


def replace_by_newer_schema(manifest: Path) -> None:
    manifest.write_bytes(seal_manifest(b'{"schema": 99}'))


def replace_by_directory(manifest: Path) -> None:
    manifest.unlink()
    manifest.mkdir()


def replace_by_link(manifest: Path) -> None:
    manifest.unlink()
    manifest.symlink_to("elsewhere")


UNREADABLE = [flip, replace_by_link, replace_by_newer_schema, replace_by_directory]


@pytest.fixture(params=UNREADABLE)
def broken(request: pytest.FixtureRequest, desk: Desk) -> tuple[Desk, str, str]:
    """Two snapshots, and nothing of the workspace left; the manifest of the newer one is unreadable."""
    first = desk.backup().snapshot or ""
    desk.write("work/README", "changed")
    second = desk.backup().snapshot or ""
    request.param(desk.place.manifest(second))
    os.rename(desk.work, desk.scratch / "gone")
    forget_base(desk.context.workspace)
    return desk, first, second


def test_restore_names_what_it_cannot_read_and_how_to_go_on(
    broken: tuple[Desk, str, str],
) -> None:
    desk, first, second = broken
    for options in (
        {},
        {"dry_run": True},
        {"to": desk.scratch / "elsewhere"},
        {"paths": ("work",)},
    ):
        with pytest.raises(LatestUnreadable) as caught:
            desk.restore(**options)
        assert second in str(caught.value)
        assert first in caught.value.shown_hint
        assert caught.value.exit_code == 31
    assert not desk.work.exists()


def test_up_does_not_bring_an_older_state(broken: tuple[Desk, str, str]) -> None:
    desk, _, _ = broken
    with pytest.raises(LatestUnreadable):
        settle(desk.context, desk.notify, Settle())
    assert not desk.work.exists()


def test_up_goes_on_with_the_work_that_is_there(desk: Desk) -> None:
    desk.backup()
    desk.write("work/README", "changed")
    second = desk.backup().snapshot or ""
    flip(desk.place.manifest(second))
    assert settle(desk.context, desk.notify, Settle()).action == "nothing"
    assert desk.content()["README"] == b"changed"


def test_restoring_an_older_one_by_its_id_makes_it_the_newest(
    broken: tuple[Desk, str, str],
) -> None:
    desk, first, second = broken
    restored = desk.restore(first)
    assert restored.committed_as is not None
    assert restored.committed_as > second
    assert desk.content()["README"] == b"hello"
    latest = read_catalogue(desk.place).latest
    assert latest is not None
    assert latest.id == restored.committed_as


def test_a_store_of_which_nothing_can_be_read_is_not_an_empty_store(desk: Desk) -> None:
    only = desk.backup().snapshot or ""
    flip(desk.place.manifest(only))
    os.rename(desk.work, desk.scratch / "gone")
    forget_base(desk.context.workspace)
    for act in (desk.restore, lambda: settle(desk.context, desk.notify, Settle())):
        with pytest.raises(LatestUnreadable) as caught:
            act()
        assert only in str(caught.value)
    with pytest.raises(WorkspaceKnown):
        create(desk.context, desk.notify, Create(), {})
    assert not desk.work.exists()


def test_a_backup_goes_on_and_sorts_after_what_cannot_be_read(desk: Desk) -> None:
    desk.backup()
    desk.write("work/README", "changed")
    second = desk.backup().snapshot or ""
    flip(desk.place.manifest(second))
    desk.write("work/README", "changed again")
    third = desk.backup().snapshot or ""
    assert third > second
    assert desk.restore(to=desk.scratch / "out").snapshot == third


def test_a_beginning_that_an_unreadable_snapshot_shares_is_not_enough(
    broken: tuple[Desk, str, str],
) -> None:
    desk, first, second = broken
    shared = first[:8]
    with pytest.raises(ScratchflowError) as caught:
        desk.restore(shared, to=desk.scratch / "out")
    assert second[-6:] in caught.value.shown_hint
