"""`backup`: what is stored, what is refused, and what is left behind."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.restore import RestoreIncomplete
from scratchflow.model.errors.store import StoreLocked, StoreReplaced, StoreUnusable
from scratchflow.model.errors.workspace import ShrinkGuard, WorkspaceElsewhere, WorkspaceMissing
from scratchflow.model.events import Log
from scratchflow.model.requests import Prune
from scratchflow.node.backup import backup, foretell_backup
from scratchflow.node.retention import prune_snapshots
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.notes import Restoring, begin_restoring
from tests.unit.conftest import Desk, make_desk, unpack_plainly


def listing(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_first_full_then_unchanged_then_incremental(desk: Desk) -> None:
    first = desk.backup()
    assert (first.kind, first.files, first.changed_files) == ("full", 3, 3)
    again = desk.backup()
    assert (again.kind, again.snapshot, again.stored_bytes) == ("unchanged", first.snapshot, 0)
    desk.write("work/README", "changed")
    third = desk.backup()
    assert (third.kind, third.parent, third.changed_files) == ("incremental", first.snapshot, 1)
    assert third.stored_bytes < first.stored_bytes / 10
    assert desk.ids == [first.snapshot, third.snapshot]


def test_plain_lz4_and_tar_read_a_full_snapshot(desk: Desk, tmp_path: Path) -> None:
    (desk.work / "link").symlink_to("/nowhere")
    taken = desk.backup()
    assert taken.snapshot
    target = tmp_path / "plain"
    target.mkdir()
    archive = desk.place.archive(taken.snapshot)
    unpack_plainly(archive, target)
    assert desk.content(target / "work") == desk.content()
    assert os.readlink(target / "work/link") == "/nowhere"


def test_full_stores_everything_again(desk: Desk) -> None:
    first = desk.backup()
    again = desk.backup(full=True)
    assert again.kind == "full"
    assert again.stored_bytes >= first.stored_bytes * 0.9
    manifest = read_catalogue(desk.place).snapshots[-1]
    assert manifest.needs == []
    assert manifest.parent == first.snapshot


def test_a_full_one_is_due_after_full_every(desk: Desk) -> None:
    desk.backup()
    desk.write("work/README", "later")
    later = desk.context.now() + timedelta(days=8)
    desk.context = msgspec.structs.replace(desk.context, now=lambda: later)
    assert desk.backup().kind == "full"


def test_a_full_one_is_due_when_less_than_half_of_the_chain_is_live(desk: Desk) -> None:
    desk.backup()
    desk.write("work/data/big.bin", os.urandom(900_000))
    assert desk.backup().kind == "incremental"
    desk.write("work/data/big.bin", os.urandom(1_200_000))
    assert desk.backup().kind == "full"


def test_a_moved_file_is_not_stored_again(desk: Desk) -> None:
    desk.backup()
    (desk.work / "data/big.bin").rename(desk.work / "data/renamed.bin")
    moved = desk.backup()
    assert moved.kind == "incremental"
    assert moved.stored_bytes < 100_000


def test_a_workspace_that_lost_most_of_itself_is_refused(desk: Desk) -> None:
    first = desk.backup()
    for path in (desk.work / "README", desk.work / "src/main.py", desk.work / "data/big.bin"):
        path.unlink()
    with pytest.raises(ShrinkGuard):
        desk.backup()
    assert desk.ids == [first.snapshot]
    assert desk.backup(allow_shrink=True).files == 0


def test_a_half_restored_workspace_is_refused(desk: Desk) -> None:
    desk.backup()
    begin_restoring(desk.context.workspace, Restoring(snapshot=desk.ids[0], mode="delta"))
    with pytest.raises(RestoreIncomplete):
        desk.backup()


def test_a_missing_workspace_is_refused(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.work.rmdir()
    with pytest.raises(WorkspaceMissing):
        desk.backup()
    assert not desk.context.store.exists()


def test_a_profile_whose_scratch_is_elsewhere_says_so(tmp_path: Path) -> None:
    from scratchflow.config.settings import Asked, load_settings
    from scratchflow.node.context import node_context

    config = tmp_path / "config.toml"
    config.write_text('[profiles.c]\nlogin = "l"\nscratch = "/nowhere/$USER"\nstore = "/x"\n')
    with pytest.raises(WorkspaceElsewhere):
        node_context(load_settings(Asked(config=str(config)), {}), {"PATH": ""})


def test_a_dry_run_refuses_a_store_that_the_backup_would_refuse(desk: Desk) -> None:
    options = SnapshotOptions()
    above = desk.place.directory.parent
    above.mkdir(parents=True, exist_ok=True)
    above.chmod(0o500)
    with pytest.raises(StoreUnusable):  # it cannot be made
        foretell_backup(desk.context, desk.notify, options)
    above.chmod(0o700)
    desk.backup()
    desk.place.directory.chmod(0o500)
    for look in (foretell_backup, backup):
        with pytest.raises(StoreUnusable):
            look(desk.context, desk.notify, options)
    for is_dry in (True, False):
        with pytest.raises(StoreUnusable):
            prune_snapshots(desk.context, desk.notify, Prune(dry_run=is_dry))
    desk.place.directory.chmod(0o700)
    desk.place.directory.rename(desk.place.directory.with_name("away"))
    for look in (foretell_backup, backup):
        with pytest.raises(StoreReplaced):
            look(desk.context, desk.notify, options)


def test_a_dry_run_tells_and_writes_nothing(desk: Desk) -> None:
    before = listing(desk.scratch.parent)
    result = foretell_backup(desk.context, desk.notify, SnapshotOptions())
    assert (result.kind, result.changed_files, result.dry_run) == ("full", 3, True)
    assert listing(desk.scratch.parent) == before
    desk.backup()
    before = listing(desk.scratch.parent)
    assert foretell_backup(desk.context, desk.notify, SnapshotOptions()).kind == "unchanged"
    assert listing(desk.scratch.parent) == before


def test_another_backup_under_way_is_waited_for_or_named(desk: Desk) -> None:
    desk.backup()
    held = desk.context.lock(desk.place, "scratchflow backup")
    with held, pytest.raises(StoreLocked, match="scratchflow backup"):
        desk.context.lock(desk.place, "second", wait_s=0)


def test_the_node_is_recorded_as_warm(desk: Desk) -> None:
    taken = desk.backup()
    (record,) = read_nodes(desk.place)
    assert (record.node, record.snapshot) == (desk.context.node, taken.snapshot)


def test_old_snapshots_go_as_the_rules_say(tmp_path: Path) -> None:
    rules = (
        "[profiles.test.backup]\nkeep_last = 3\nkeep_hourly = 0\nkeep_daily = 0\nkeep_weekly = 0\n"
    )
    desk = make_desk(tmp_path, rules)
    for number in range(6):
        desk.write("work/file", str(number))
        desk.backup()
    assert len(desk.ids) == 3
    desk.restore(desk.ids[0], to=tmp_path / "oldest")
    assert (tmp_path / "oldest/work/file").read_text() == "3"


def test_excluded_and_ignored_paths_stay_out(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nexclude = ["*.o"]\nalso = ["env"]\n')
    desk.write("work/a.o")
    desk.write("work/a.c")
    desk.write("work/tmp/x")
    desk.write("work/.scratchignore", "tmp/\n")
    desk.write("env/bin/python")
    desk.backup()
    desk.restore(to=tmp_path / "back")
    names = desk.content(tmp_path / "back")
    assert set(names) == {"work/a.c", "work/.scratchignore", "env/bin/python"}


def test_a_damaged_parent_means_everything_anew(desk: Desk) -> None:
    first = desk.backup()
    assert first.snapshot
    archive = desk.place.archive(first.snapshot)
    content = bytearray(archive.read_bytes())
    content[-100] ^= 1
    archive.write_bytes(content)
    desk.write("work/README", "changed")
    assert desk.backup().kind == "full"
    assert "snapshots.damaged" in desk.warnings


def test_the_manifest_says_what_the_contract_says(desk: Desk) -> None:
    desk.backup(message="note")
    manifest = msgspec.to_builtins(read_catalogue(desk.place).snapshots[-1])
    contract = (
        "schema id time kind parent needs workspace also node job_id host tool_version files dirs "
        "links bytes archive_bytes archive_digest warnings verified message"
    )
    assert set(contract.split()) <= set(manifest)
    assert manifest["message"] == "note"
    assert manifest["verified"] is True


def test_a_directory_that_is_no_longer_saved_is_told(tmp_path: Path) -> None:
    """`backup.also` was misspelt since the last snapshot."""
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/file")
    desk.write("env/file")
    desk.backup()
    assert "backup.root_dropped" not in desk.warnings
    workspace = msgspec.structs.replace(desk.context.workspace, also=("enf",))
    misspelt = Desk(msgspec.structs.replace(desk.context, workspace=workspace))
    misspelt.backup(allow_shrink=True)
    assert misspelt.warnings == ["backup.root_dropped"]
    said = [event.message for event in misspelt.events if isinstance(event, Log)]
    assert any("`enf`" in text and "`backup.also`" in text for text in said)
