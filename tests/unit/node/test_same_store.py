"""A store that is not the one it should be: lost mounts, and directories that only look shared."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.snapshot_words import verified as verified_in_words
from scratchflow.login.host import LoginHost
from scratchflow.login.status import status
from scratchflow.model.errors.store import StoreNotShared, StoreReplaced
from scratchflow.model.events import Event, Warned
from scratchflow.model.requests import Diff, DiffWorkspace, Mark, Prune, SaveNode, Settle, Show
from scratchflow.node.history.history import list_snapshots, show_snapshot
from scratchflow.node.history.live_diff import diff_workspace
from scratchflow.node.history.snapshot_diff import diff_snapshots
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.retention import keep_snapshots, prune_snapshots, unkeep_snapshots
from scratchflow.node.same_store import store_replaced, store_seen_here
from scratchflow.node.save_node import save_node
from scratchflow.node.settle import settle
from scratchflow.node.transfer.transfer import export_snapshot
from scratchflow.store.directory import STORE_NAME, open_place
from scratchflow.store.identity import ensure_store_id
from scratchflow.workspace.notes import Base
from tests.unit.conftest import Desk


def lose_the_mount(desk: Desk) -> Path:
    """The store's mount is gone; what is left is the empty, writable directory below it."""
    away = desk.context.store.with_name("mounted-before")
    desk.context.store.rename(away)
    desk.context.store.mkdir()
    return away


def everything_below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_a_lost_mount_does_not_start_a_new_store(desk: Desk) -> None:
    snapshot = desk.backup().snapshot
    lose_the_mount(desk)
    desk.write("work/README", "changed")
    with pytest.raises(StoreReplaced) as caught:
        desk.backup()
    assert caught.value.exit_code == 10
    assert str(snapshot) in str(caught.value)
    assert str(desk.context.store) in str(caught.value)
    assert "mount" in caught.value.shown_hint
    assert (
        "`mv " not in caught.value.shown_hint
    )  # it has nothing to bring in place of the workspace
    assert everything_below(desk.context.store) == []


def test_nor_does_an_empty_workspace_take_the_place_of_one_that_was_moved_away(desk: Desk) -> None:
    desk.backup()
    away = lose_the_mount(desk)
    desk.work.rename(desk.scratch.parent / "aside")
    for dry_run in (True, False):
        with pytest.raises(StoreReplaced):
            settle(desk.context, desk.notify, Settle(dry_run=dry_run))
    assert not desk.work.exists()
    desk.context.store.rmdir()
    away.rename(desk.context.store)
    settle(desk.context, desk.notify, Settle())
    assert (desk.work / "README").is_file()


def test_a_copy_of_a_store_that_was_removed_can_be_moved_away_for_a_new_one(desk: Desk) -> None:
    desk.backup()
    lose_the_mount(desk)
    ensure_store_id(open_place(desk.context.store, "work"))  # as the login host does
    with pytest.raises(StoreReplaced) as caught:
        settle(desk.context, desk.notify, Settle())
    hint = caught.value.shown_hint
    assert "if you removed the old store on purpose" in hint
    source, target = re.findall(r"`scratchflow run -- mv (\S+) (\S+)`", hint)[0]
    Path(source).rename(target)
    assert settle(desk.context, desk.notify, Settle()).action == "created"
    assert (Path(target) / "README").is_file()
    saved = save_node(desk.context, desk.notify, SaveNode())
    assert any(Path(target).name in path for path in saved.unsaved_paths)


def test_the_hint_for_a_lost_store_names_the_mirror_and_what_is_in_its_way(desk: Desk) -> None:
    desk.backup()
    lose_the_mount(desk)
    where = desk.context.workspace, desk.context.store, "n1"
    error = store_replaced(*where)
    assert error
    assert "mirror" not in error.shown_hint
    error = store_replaced(*where, mirror="box:a")
    assert error
    back = "if the old store is lost, `scratchflow snapshots import --from-mirror --all` brings it"
    assert back in error.shown_hint
    ensure_store_id(open_place(desk.context.store, "work"))
    error = store_replaced(*where, mirror="box:a")
    assert error
    assert f"`rm {desk.place.directory / STORE_NAME}`), then" in error.shown_hint


def test_the_next_backup_works_when_the_mount_is_back(desk: Desk) -> None:
    first = desk.backup()
    away = lose_the_mount(desk)
    desk.write("work/README", "changed")
    with pytest.raises(StoreReplaced):
        desk.backup()
    desk.context.store.rmdir()
    away.rename(desk.context.store)
    assert desk.backup().parent == first.snapshot


def test_a_store_with_another_id_is_refused(desk: Desk) -> None:
    desk.backup()
    lose_the_mount(desk)
    workspace_notes = desk.context.workspace.state
    shutil.copytree(workspace_notes, workspace_notes.with_name("kept"))
    shutil.rmtree(workspace_notes)
    desk.backup()  # what somebody else's workspace of that name does
    shutil.rmtree(workspace_notes)
    workspace_notes.with_name("kept").rename(workspace_notes)
    desk.write("work/README", "changed")
    with pytest.raises(StoreReplaced):
        desk.backup()


def test_a_note_from_before_stores_had_ids_still_refuses_an_empty_store(desk: Desk) -> None:
    snapshot = desk.backup().snapshot or ""
    note = desk.context.workspace.state / "base.json"
    note.write_bytes(msgspec.json.encode({"snapshot": snapshot, "store": str(desk.context.store)}))
    lose_the_mount(desk)
    with pytest.raises(StoreReplaced):
        desk.backup()


def test_a_store_from_before_ids_gets_one_and_goes_on(desk: Desk) -> None:
    first = desk.backup()
    (desk.place.directory / STORE_NAME).unlink()
    desk.write("work/README", "changed")
    assert desk.backup().parent == first.snapshot
    assert (desk.place.directory / STORE_NAME).exists()


def test_a_copied_store_that_has_the_snapshot_goes_on(desk: Desk) -> None:
    first = desk.backup()
    away = lose_the_mount(desk)
    desk.context.store.rmdir()
    shutil.copytree(away, desk.context.store)
    (desk.place.directory / STORE_NAME).write_text('{"id": "00000000000000000000000000000000"}')
    desk.write("work/README", "changed")
    assert desk.backup().parent == first.snapshot


def test_the_id_is_noted_with_the_snapshot(desk: Desk) -> None:
    desk.backup()
    result = msgspec.json.decode(
        (desk.context.workspace.state / "base.json").read_bytes(), type=Base
    )
    kept = msgspec.json.decode((desk.place.directory / STORE_NAME).read_bytes())
    assert result.store_id == kept["id"]


def seen_by_login(desk: Desk, store_id: str) -> Desk:
    from scratchflow.model.requests import StoreSeen

    seen = StoreSeen(id=store_id, host="login-1", path="/fsx/u/store")
    return Desk(msgspec.structs.replace(desk.context, store_seen=seen))


def test_a_node_that_sees_another_store_than_the_login_host_saves_nothing_there(desk: Desk) -> None:
    node = seen_by_login(desk, "0" * 32)
    with pytest.raises(StoreNotShared) as caught:
        node.backup()
    for word in ("login-1", desk.context.node, str(desk.context.store), "/fsx/u/store"):
        assert word in str(caught.value)
    assert caught.value.exit_code == 10
    assert not desk.context.store.exists()


def test_a_node_local_directory_of_the_same_name_is_told_apart(desk: Desk) -> None:
    desk.backup()
    node = seen_by_login(desk, "0" * 32)
    with pytest.raises(StoreNotShared):
        node.backup()


def test_a_node_that_sees_the_same_store_saves_there(desk: Desk) -> None:
    desk.backup()
    kept = msgspec.json.decode((desk.place.directory / STORE_NAME).read_bytes())
    desk.write("work/README", "changed")
    assert seen_by_login(desk, kept["id"]).backup().kind == "incremental"


def test_the_id_file_is_closed_to_others_under_any_umask(desk: Desk) -> None:
    before = os.umask(0)
    try:
        desk.backup()
    finally:
        os.umask(before)
    assert os.stat(desk.place.directory / STORE_NAME).st_mode & 0o777 == 0o600


def another_store(desk: Desk) -> None:
    """What is at the store's path was made by somebody else's workspace of that name."""
    lose_the_mount(desk)
    scratch = desk.scratch.with_name("scratch-of-another")
    workspace = msgspec.structs.replace(desk.context.workspace, scratch=scratch)
    other = Desk(msgspec.structs.replace(desk.context, workspace=workspace, node="node-2"))
    other.write("work/file")
    other.backup()


@pytest.mark.parametrize("replace", [lose_the_mount, another_store])
def test_status_names_a_store_that_is_gone_or_another_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, replace: Callable[[Desk], object]
) -> None:
    snapshot = desk.backup().snapshot or ""
    replace(desk)
    login = LoginHost(
        desk.context.settings, {"HOME": "/h", "PATH": "", "USER": "u"}, lambda _: None
    )
    monkeypatch.setattr(status, "jobs_seen", lambda _: ([], []))
    (problem,) = status.look(login).problems
    assert problem.name == "store.replaced"
    assert snapshot in problem.detail
    assert "findmnt" in problem.fix


def test_verify_of_an_empty_store_does_not_sound_as_if_all_were_well(desk: Desk) -> None:
    empty = verify_snapshots(desk.context, desk.notify, [])
    assert list(verified_in_words(empty)) == ["the store has no snapshot: nothing was checked"]
    desk.backup()
    lose_the_mount(desk)
    with pytest.raises(StoreReplaced):
        verify_snapshots(desk.context, desk.notify, [])


def _read_or_remove(desk: Desk) -> list[Callable[[], object]]:
    here = (desk.context, desk.notify)
    return [
        desk.restore,
        lambda: desk.restore(dry_run=True),
        lambda: list_snapshots(*here),
        lambda: show_snapshot(*here, Show()),
        lambda: diff_snapshots(*here, Diff(older="latest", newer="latest")),
        lambda: diff_workspace(*here, DiffWorkspace()),
        lambda: verify_snapshots(*here, []),
        lambda: export_snapshot(*here, "latest", desk.scratch / "x.tar.lz4", dry_run=False),
        lambda: prune_snapshots(*here, Prune()),
        lambda: prune_snapshots(*here, Prune(dry_run=True)),
        lambda: keep_snapshots(*here, Mark(snapshots=("latest",))),
        lambda: unkeep_snapshots(*here, Mark(snapshots=("latest",))),
    ]


def test_of_a_store_that_was_moved_away_nobody_is_told_that_it_has_no_snapshots(desk: Desk) -> None:
    snapshot = desk.backup().snapshot
    store = desk.context.store
    away = store.with_name("away")
    store.rename(away)
    for command in _read_or_remove(desk):
        with pytest.raises(StoreReplaced):
            command()
    assert not store.exists()
    away.rename(store)
    assert [one.id for one in list_snapshots(desk.context, desk.notify).snapshots] == [snapshot]


def test_a_new_workspace_without_snapshots_has_an_empty_list(desk: Desk) -> None:
    assert list_snapshots(desk.context, desk.notify).snapshots == []
    assert prune_snapshots(desk.context, desk.notify, Prune(dry_run=True)).removed == []


def test_verify_of_another_store_checks_it_and_says_so(desk: Desk) -> None:
    desk.backup()
    another_store(desk)
    assert verify_snapshots(desk.context, desk.notify, []).checked == 1
    assert desk.warnings == ["store.replaced"]


def test_a_workspace_that_was_moved_away_holds_nothing_back(desk: Desk) -> None:
    desk.backup()
    another_store(desk)
    with pytest.raises(StoreReplaced) as caught:
        desk.backup()
    source, target = re.findall(r"`scratchflow run -- mv (\S+) (\S+)`", caught.value.shown_hint)[0]
    desk.write("work/unsaved")
    Path(source).rename(target)
    desk.restore()
    assert (desk.work / "file").is_file()
    # What a hint tells to make is known to whoever gives the node back.
    saved = save_node(desk.context, desk.notify, SaveNode())
    assert any(Path(target).name in path for path in saved.unsaved_paths)


def test_a_store_that_lost_its_id_gets_a_new_one_and_says_what_that_means_for_its_mirror(
    desk: Desk,
) -> None:
    desk.backup()
    file = desk.place.directory / "store.json"
    before = file.read_bytes()
    assert desk.warnings == []
    file.unlink()
    said: list[Event] = []
    for mirror in ("", "box:a b"):
        file.unlink(missing_ok=True)
        seen = store_seen_here(
            desk.context.store, "work", desk.scratch, said.append, make=True, mirror=mirror
        )
        assert seen
        assert seen.id.encode() not in before
    without, with_mirror = (one.message for one in said if isinstance(one, Warned))
    assert without.endswith("a mirror of it, if there was one, is refused as that of another store")
    assert f"until `rclone copyto 'box:a b/work/store.json' {file}` brings" in with_mirror
    file.unlink()
    desk.write("work/README", "changed")
    desk.backup()
    assert desk.warnings == ["store.new_id"]


@pytest.mark.parametrize("is_known", [True, False])
def test_an_id_that_cannot_be_read_is_told_by_status_and_verify_which_show_the_snapshots(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    desk.backup()
    if not is_known:  # as on a login host, where no workspace is
        shutil.rmtree(desk.context.workspace.state)
    (desk.place.directory / STORE_NAME).write_text("junk")
    checked = verify_snapshots(desk.context, desk.notify, [])
    assert (checked.checked, checked.bad, desk.warnings) == (1, [], ["store.unusable"])
    login = LoginHost(
        desk.context.settings, {"HOME": "/h", "PATH": "", "USER": "u"}, lambda _: None
    )
    monkeypatch.setattr(status, "jobs_seen", lambda _: ([], []))
    seen = status.look(login)
    assert "store.unusable" in [one.name for one in seen.problems]
    assert seen.snapshots.count == 1
