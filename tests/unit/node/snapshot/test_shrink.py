"""A workspace that lost most of its files: who is asked, and what is saved all the same."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.workspace import ShrinkGuard
from scratchflow.model.snapshot import Purpose
from scratchflow.node.backup import foretell_backup
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.store.retention.marks import read_marks
from tests.unit.conftest import Desk, make_desk


def make_clean(desk: Desk) -> None:
    for path in (desk.work / "src/main.py", desk.work / "data/big.bin"):
        path.unlink()


def with_also(desk: Desk, *also: str) -> Desk:
    """The same desk after `config set backup.also`."""
    profile = desk.context.profile
    backup = msgspec.structs.replace(profile.backup, also=also)
    profile = msgspec.structs.replace(profile, backup=backup)
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    workspace = msgspec.structs.replace(desk.context.workspace, also=also)
    return Desk(msgspec.structs.replace(desk.context, settings=settings, workspace=workspace))


@pytest.mark.parametrize("purpose", ["auto", "final"])
def test_an_unattended_backup_is_taken_flagged_and_its_parent_kept(
    desk: Desk, purpose: Purpose
) -> None:
    before = desk.backup().snapshot
    make_clean(desk)
    taken = desk.backup(purpose=purpose)
    assert (taken.shrunk, taken.files, taken.removed_files) == (True, 1, 2)
    assert read_catalogue(desk.place).snapshots[-1].shrunk
    assert [(mark.snapshot, mark.why) for mark in read_marks(desk.place).values()] == [
        (before, "shrink")
    ]
    assert desk.warnings == ["backup.shrunk"]
    desk.write("work/another")
    assert not desk.backup(purpose=purpose).shrunk


@pytest.mark.parametrize("purpose", ["auto", "final"])
def test_a_dry_run_of_an_unattended_backup_warns_as_the_backup_does_and_marks_nothing(
    desk: Desk, purpose: Purpose
) -> None:
    desk.backup()
    options = SnapshotOptions(purpose=purpose)
    foretell_backup(desk.context, desk.notify, options)
    assert desk.warnings == []
    make_clean(desk)
    foretell_backup(desk.context, desk.notify, options)
    assert (desk.warnings, read_marks(desk.place)) == (["backup.shrunk"], {})
    desk.backup(purpose=purpose)
    assert desk.warnings == ["backup.shrunk", "backup.shrunk"]
    foretell_backup(desk.context, desk.notify, options)
    assert len(desk.warnings) == 2


def test_the_parent_is_kept_before_the_smaller_one_is_committed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = desk.backup().snapshot
    make_clean(desk)

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(NewSnapshot, "commit", cut_off)
    with pytest.raises(KeyboardInterrupt):
        desk.backup(purpose="auto")
    assert list(read_marks(desk.place)) == [before]


def test_a_person_is_asked_and_told_the_way_back_first(desk: Desk) -> None:
    before = desk.backup().snapshot
    make_clean(desk)
    with pytest.raises(ShrinkGuard) as caught:
        desk.backup()
    hint = caught.value.shown_hint
    assert f"`scratchflow restore {before}`" in hint
    assert hint.index("restore") < hint.index("--allow-shrink")
    agreed = desk.backup(allow_shrink=True)
    assert (agreed.shrunk, read_marks(desk.place)) == (False, {})


def test_the_file_that_lost_most_is_named(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    for number in range(20):
        desk.write(f"work/src/{number}")
    desk.write("work/data/big.bin", "x" * 500_000)
    desk.write("work/data/large.bin", "x" * 100_000)
    desk.backup()
    (desk.work / "data/big.bin").unlink()
    desk.write("work/src/new")
    with pytest.raises(ShrinkGuard, match=r"`work/data/big.bin` \(488 KiB\) is gone; nothing"):
        desk.backup()
    desk.write("work/data/big.bin", "x")
    (desk.work / "data/large.bin").unlink()
    with pytest.raises(ShrinkGuard, match=r"`work/data/big.bin` lost 488 KiB, among others; "):
        desk.backup()


def test_a_file_that_was_renamed_or_cannot_be_read_is_not_named_as_gone(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    for number in range(20):
        desk.write(f"work/src/{number}", "x" * (10_000 + number))
    desk.write("work/big.bin", "x" * 90_000)
    desk.write("work/closed/file", "x" * 50_000)
    desk.backup()
    (desk.work / "big.bin").rename(desk.work / "moved.bin")
    for number in range(1, 20):
        (desk.work / f"src/{number}").unlink()
    with pytest.raises(ShrinkGuard, match=r"`work/src/19` \(9.78 KiB\) is gone, among others"):
        desk.backup()
    (desk.work / "closed").chmod(0)
    try:
        desk.backup(purpose="auto")
    finally:
        (desk.work / "closed").chmod(0o755)
    (mark,) = read_marks(desk.place).values()
    assert "`work/src/19` (9.78 KiB) is gone" in mark.detail


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_safety_snapshot_lacks_nobody_has_agreed_to(desk: Desk, count: int) -> None:
    """Before each `restore --path` one is taken, of whatever is there."""
    for number in range(20):
        desk.write(f"work/many/{number}", "x" * 10_000)
    whole = str(desk.backup().snapshot)
    for file in (desk.work / "many").iterdir():
        file.unlink()
    make_clean(desk)
    for number in range(count):
        desk.restore(whole, paths=(f"many/{number}",))
    assert len(desk.ids) > 1
    with pytest.raises(ShrinkGuard, match="23 files") as asked:
        desk.backup()
    assert whole in asked.value.shown_hint
    with pytest.raises(ShrinkGuard):
        foretell_backup(desk.context, desk.notify, SnapshotOptions())
    taken = desk.backup(purpose="auto")
    assert taken.shrunk
    assert [(mark.snapshot, mark.why) for mark in read_marks(desk.place).values()] == [
        (whole, "shrink")
    ]
    desk.write("work/more")
    assert not desk.backup().shrunk  # the smaller one is what it is compared with now


def test_nor_after_it_was_restored_as_the_newest_one(desk: Desk) -> None:
    for number in range(20):
        desk.write(f"work/many/{number}", "x" * 10_000)
    whole = str(desk.backup().snapshot)
    for file in (desk.work / "many").iterdir():
        file.unlink()
    make_clean(desk)
    desk.restore(whole, paths=("many/1",))
    safety = desk.ids[-1]
    desk.restore(safety)  # what plain `restore` brings
    desk.write("work/two")
    with pytest.raises(ShrinkGuard, match="23 files") as asked:
        desk.backup()
    assert whole in asked.value.shown_hint
    desk.restore(whole)
    desk.write("work/three")
    assert not desk.backup().shrunk


@pytest.mark.parametrize("beside", [True, False])
def test_half_of_two_states_is_compared_with_nothing(desk: Desk, *, beside: bool) -> None:
    """Less than was there is what a restore that was cut short leaves: nobody lost it."""
    for number in range(20):
        desk.write(f"work/many/{number}", "x" * 10_000)
    desk.backup()
    for file in (desk.work / "many").iterdir():
        file.unlink()
    taken = desk.backup(purpose="safety", allow_shrink=True, beside=beside)
    assert (taken.shrunk, bool(read_marks(desk.place))) == (not beside, not beside)


def test_it_is_told_since_the_last_snapshot_where_that_had_the_files(desk: Desk) -> None:
    """What was saved before a restore, and restored again, came from a snapshot with fewer files."""
    fewer = str(desk.backup().snapshot)
    for number in range(20):
        desk.write(f"work/many/{number}", "x" * 10_000)
    desk.restore(fewer)
    desk.restore(desk.ids[-2])  # the safety snapshot
    newest = desk.ids[-1]
    for path in [*desk.work.rglob("*")]:
        if path.is_file():
            path.unlink()
    with pytest.raises(ShrinkGuard, match="from 23 files") as asked:
        desk.backup()
    assert newest in asked.value.shown_hint


def test_files_that_are_excluded_now_are_not_called_deleted(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.write("work/README")
    for number in range(20):
        desk.write(f"work/data/{number}")
    desk.backup()
    desk.write("work/.scratchignore", "data/\n")
    with pytest.raises(ShrinkGuard, match=r"`work/data/\d+`, are still there but are excluded now"):
        desk.backup()
    (desk.work / "data").rename(tmp_path / "moved")
    (desk.work / "data").symlink_to(tmp_path / "moved")
    with pytest.raises(ShrinkGuard) as caught:
        desk.backup()
    assert "excluded now" not in str(caught.value)
    assert "undoes every other change since" in caught.value.shown_hint


def test_a_directory_that_is_no_longer_saved_is_no_loss_of_the_others(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.write("work/README")
    for number in range(20):
        desk.write(f"env/lib/{number}", "x" * 10_000)
    with_also(desk, "env").backup()
    desk.write("work/main.py")
    taken = desk.backup()
    assert (taken.files, taken.removed_files, taken.shrunk) == (2, 20, False)


def test_a_large_directory_beside_it_does_not_hide_an_emptied_workspace(tmp_path: Path) -> None:
    desk = with_also(make_desk(tmp_path), "env", "lib/inner")
    for number in range(20):
        desk.write(f"work/{number}")
        desk.write(f"env/{number}", "x" * 100_000)
        desk.write(f"lib/inner/{number}")
    desk.backup()
    for number in range(19):
        (desk.work / str(number)).unlink()
    with pytest.raises(ShrinkGuard, match=r"`work` shrank from 20 files .* to 1 file"):
        foretell_backup(desk.context, desk.notify, SnapshotOptions())
    desk.write("work/more")
    for number in range(18):
        desk.write(f"work/{number}")
        (desk.scratch / f"lib/inner/{number}").unlink()
    with pytest.raises(ShrinkGuard, match="`lib/inner` shrank"):
        desk.backup()


def test_a_hard_link_into_another_directory_counts_in_both(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    file = desk.write("work/model", "x" * 1_000_000)
    desk.backup()
    (desk.scratch / "env").mkdir()
    (desk.scratch / "env/model").hardlink_to(file)
    assert with_also(desk, "env").backup().files == 2


def test_a_renamed_file_is_not_told_as_removed(desk: Desk) -> None:
    desk.backup()
    (desk.work / "data/big.bin").rename(desk.work / "data/renamed.bin")
    (desk.work / "src/main.py").unlink()
    assert desk.backup().removed_files == 1
