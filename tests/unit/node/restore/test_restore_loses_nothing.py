"""What a restore must never lose: unsaved work, private modes, other people's turns."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.archive.restore import apply_delta as deltas
from scratchflow.archive.restore.displace import Displacing
from scratchflow.cli.restore_call import shown_restored
from scratchflow.model.errors.restore import NotSaved, OtherKindInTheWay
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import StoreOverlaps
from scratchflow.model.errors.transfer import FileIncomplete
from scratchflow.model.errors.workspace import WorkspaceBusy, WorkspaceIsLink
from scratchflow.node.context import node_context
from scratchflow.node.restore import delta
from scratchflow.node.restore.source import BEFORE_FINISHING, BEFORE_RESTORING
from scratchflow.node.transfer.transfer import export_snapshot, import_snapshot
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.names import find_snapshot
from scratchflow.workspace.lock import alone_with
from scratchflow.workspace.notes import read_restoring
from tests.unit.conftest import Desk, make_desk, pack_plainly


class PowerCut(BaseException):
    """The process ends here."""


@pytest.fixture
def cut_power(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the next delta restore die at its first change."""

    def cut(desk: Desk, snapshot: str = "latest") -> None:
        def die(*_: object, displacing: Displacing, **__: object) -> None:
            displacing.before_change()
            raise PowerCut

        with monkeypatch.context() as patched:
            patched.setattr(deltas, "apply", die)
            with pytest.raises(PowerCut):
                desk.restore(snapshot)

    return cut


def saved_somewhere(desk: Desk, path: str, content: bytes, target: Path) -> bool:
    """Whether any snapshot holds this content at this path."""
    for number, snapshot in enumerate(desk.ids):
        desk.restore(snapshot, to=target / str(number))
        file = target / str(number) / path
        if file.exists() and file.read_bytes() == content:
            return True
    return False


def test_two_at_once_take_turns(desk: Desk) -> None:
    desk.backup()
    workspace = desk.context.workspace
    with (
        desk.context.alone(lambda _: None),
        pytest.raises(WorkspaceBusy),
        alone_with(workspace, wait_s=0),
    ):
        pytest.fail("two at once")
    with alone_with(workspace, wait_s=0):
        pass


def test_work_done_after_an_interrupted_restore_is_saved(
    desk: Desk, tmp_path: Path, cut_power: Any
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.backup()
    cut_power(desk, first)
    desk.write("work/README", "an hour of work")
    desk.write("work/fresh", "new")
    desk.restore(first)
    assert (desk.work / "README").read_text() == "hello"
    assert saved_somewhere(desk, "work/README", b"an hour of work", tmp_path / "a")
    assert saved_somewhere(desk, "work/fresh", b"new", tmp_path / "b")


@pytest.mark.parametrize("is_half", [True, False])
def test_what_was_half_restored_is_saved_as_that(
    desk: Desk, cut_power: Any, monkeypatch: pytest.MonkeyPatch, *, is_half: bool
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/results", os.urandom(1_000_000))
    desk.backup()
    desk.write("work/README", "mine")
    if is_half:
        cut_power(desk, first)
        (desk.work / "results").unlink()  # as far as it came
        desk.write("work/README", "typed since")
    else:

        def die(*_: object) -> None:
            raise PowerCut

        with monkeypatch.context() as patched:
            patched.setattr(delta, "save_now", die)
            with pytest.raises(PowerCut):
                desk.restore(first)
    done = desk.restore(first)
    before = find_snapshot(read_catalogue(desk.place), str(done.safety_snapshot))
    assert before.message.removesuffix(first) == (BEFORE_FINISHING if is_half else BEFORE_RESTORING)
    *_, said, _ = shown_restored(done)
    assert ("cut short had left" in said, "goes back" in said) == (is_half, not is_half)


def test_running_an_interrupted_restore_again_does_what_was_asked_first(
    desk: Desk, cut_power: Any
) -> None:
    desk.backup()
    before = desk.content()
    desk.write("work/README", "unsaved")
    (desk.work / "src/main.py").unlink()
    cut_power(desk)  # `latest` is the safety snapshot from here on
    assert read_restoring(desk.context.workspace) is not None
    desk.restore()
    assert desk.content() == before
    assert read_restoring(desk.context.workspace) is None


def test_a_failure_before_the_first_change_leaves_no_note(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.backup()

    def fail(*_: object, **__: object) -> None:
        raise SnapshotDamaged(snapshot="x", reason="y")

    monkeypatch.setattr(deltas, "find_delta", fail)
    with pytest.raises(SnapshotDamaged):
        desk.restore(first)
    assert read_restoring(desk.context.workspace) is None
    assert desk.backup().kind == "unchanged"


def rewritten(path: Path, content: bytes) -> None:
    """Other content of the same size, and the mtime put back: only the change time tells."""
    stats = path.stat()
    assert len(content) == stats.st_size
    path.write_bytes(content)
    os.utime(path, ns=(stats.st_atime_ns, stats.st_mtime_ns))


def meanwhile(monkeypatch: pytest.MonkeyPatch, name: str, do: Callable[[], object]) -> None:
    """Does something right before a step of the delta."""
    step = getattr(deltas, name)

    def with_company(*arguments: Any, **more: Any) -> Any:
        do()
        return step(*arguments, **more)

    monkeypatch.setattr(deltas, name, with_company)


def test_a_file_changed_while_the_difference_is_restored_is_not_taken_for_unchanged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.backup()
    untouched = desk.work / "src/main.py"
    meanwhile(monkeypatch, "apply", lambda: rewritten(untouched, b"exit(1)"))
    desk.restore(first)
    assert untouched.read_bytes() == b"exit(1)"
    assert desk.backup().changed_files == 1
    assert saved_somewhere(desk, "work/src/main.py", b"exit(1)", tmp_path / "x")


def test_a_write_just_before_mode_and_time_are_restored_is_seen_by_the_next_backup(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = desk.work / "README"
    first = str(desk.backup().snapshot)
    file.chmod(0o600)
    desk.backup()
    meanwhile(monkeypatch, "apply", lambda: file.write_bytes(b"HELLO"))
    desk.restore(first)
    assert file.read_bytes() == b"HELLO"
    assert desk.backup().changed_files == 1


def test_a_file_changed_after_the_safety_snapshot_is_not_overwritten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.write("work/more/file", "more")
    before = desk.ids
    for path, content in [("README", b"SECOND"), ("more/file", b"MORE")]:
        with monkeypatch.context() as patched:
            meanwhile(patched, "find_delta", partial(rewritten, desk.work / path, content))
            with pytest.raises(NotSaved, match=path):
                desk.restore(first)
        assert (desk.work / path).read_bytes() == content
        assert read_restoring(desk.context.workspace) is None
    assert len(desk.ids) > len(before)
    desk.restore(first)
    assert (desk.work / "README").read_text() == "hello"


def test_directories_that_the_profile_no_longer_saves_are_saved_before_a_restore(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/a", "1")
    desk.write("env/e", "old")
    desk.backup()
    desk.write("env/e", "edited")
    desk.context = msgspec.structs.replace(
        desk.context, workspace=msgspec.structs.replace(desk.context.workspace, also=())
    )
    desk.restore()
    assert (desk.scratch / "env/e").read_text() == "old"
    assert saved_somewhere(desk, "env/e", b"edited", tmp_path / "x")


def test_what_the_snapshot_never_had_is_not_taken_for_something_it_lacks(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/a", "1")
    first = str(desk.backup().snapshot)
    desk.write("work/a", "2")
    desk.backup()
    desk.write("env/e", "made since")
    desk.context = msgspec.structs.replace(
        desk.context, workspace=msgspec.structs.replace(desk.context.workspace, also=())
    )
    assert desk.restore(first).mode == "delta"
    assert (desk.scratch / "work/a").read_text() == "1"
    assert (desk.scratch / "env/e").read_text() == "made since"


def test_a_file_that_is_excluded_now_is_not_overwritten(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.write("work/a.o", "old")
    desk.write("work/b", "b")
    desk.backup()
    desk.write("work/a.o", "edited")
    desk.write("work/.scratchignore", "*.o\n")
    with pytest.raises(NotSaved, match=r"a\.o") as caught:
        desk.restore(desk.ids[0])
    assert "take it out of `backup.exclude` or `.scratchignore`" in caught.value.shown_hint
    assert "readable" not in caught.value.shown_hint
    assert (desk.work / "a.o").read_text() == "edited"
    assert read_restoring(desk.context.workspace) is None


def test_a_path_goes_never_through_a_symlink_out_of_the_workspace(
    desk: Desk, tmp_path: Path
) -> None:
    desk.backup()
    outside = tmp_path / "outside"
    (desk.work / "src").rename(tmp_path / "was")
    outside.mkdir()
    (outside / "main.py").write_text("precious")
    (desk.work / "src").symlink_to(outside)
    with pytest.raises(OtherKindInTheWay):
        desk.restore(desk.ids[0], paths=("work/src/main.py",))
    assert (outside / "main.py").read_text() == "precious"


def test_a_path_comes_back_with_its_modes_and_empty_directories(desk: Desk) -> None:
    private = desk.write("work/private/key", "k").parent
    private.chmod(0o700)
    (desk.work / "empty").mkdir()
    desk.backup()
    for path in (private / "key", private, desk.work / "empty"):
        path.rmdir() if path.is_dir() else path.unlink()
    mtime_ns = desk.work.stat().st_mtime_ns
    desk.restore(paths=("work/private", "work/empty"))
    assert private.stat().st_mode & 0o777 == 0o700
    assert (desk.work / "empty").is_dir()
    assert desk.work.stat().st_mtime_ns != 0
    assert desk.work.stat().st_mtime_ns >= mtime_ns


def test_a_name_with_brackets_is_first_of_all_a_name(desk: Desk, tmp_path: Path) -> None:
    desk.write("work/a[1].txt", "brackets")
    desk.backup()
    desk.restore(paths=("work/a[1].txt",), to=tmp_path / "x")
    assert desk.content(tmp_path / "x") == {"a[1].txt": b"brackets"}


@pytest.mark.parametrize("root", ["work", "env"])
def test_a_root_that_is_a_symlink_is_refused(tmp_path: Path, root: str) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    real = tmp_path / "real"
    real.mkdir()
    if root == "work":
        desk.work.rmdir()
    (desk.scratch / root).symlink_to(real)
    with pytest.raises(WorkspaceIsLink):
        desk.backup()


def test_an_incremental_archive_is_not_taken_for_a_complete_one(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    desk.write("work/README", "changed")
    part = desk.place.archive(str(desk.backup().snapshot))
    with pytest.raises(FileIncomplete):
        import_snapshot(desk.context, desk.notify, part, dry_run=False)
    with pytest.raises(FileIncomplete):
        desk.restore(source=part, to=tmp_path / "x")


@pytest.mark.parametrize("store", ["scratch/work/store", "scratch", "scratch/.scratchflow/s"])
def test_a_store_inside_the_workspace_is_refused(desk: Desk, tmp_path: Path, store: str) -> None:
    import msgspec

    settings = desk.context.settings
    profile = msgspec.structs.replace(settings.profile, store=str(tmp_path / store))
    with pytest.raises(StoreOverlaps):
        node_context(
            msgspec.structs.replace(settings, profile=profile), {"USER": "u", "HOME": "/h"}
        )


def test_an_export_leaves_files_beside_it_alone(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    mine = tmp_path / ".tmp-out.tar.lz4"
    mine.write_text("mine")
    export_snapshot(desk.context, desk.notify, "latest", tmp_path / "out.tar.lz4", dry_run=False)
    assert mine.read_text() == "mine"


def test_elsewhere_is_whole_or_not_there(desk: Desk, tmp_path: Path) -> None:
    archive = desk.place.archive(str(desk.backup().snapshot))
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(SnapshotDamaged):
        desk.restore(to=tmp_path / "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_foreign_archive_cannot_bring_our_own_notes(desk: Desk, tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "work").mkdir(parents=True)
    (top / "work/file").write_text("theirs")
    (top / ".scratchflow/work").mkdir(parents=True)
    (top / ".scratchflow/work/base.json").write_text("{}")
    file = tmp_path / "foreign.tar.lz4"
    pack_plainly(tmp_path, "top", file)
    desk.restore(source=file, replace=True)
    notes = desk.context.workspace.state
    assert not (notes / "base.json").exists() or (notes / "base.json").read_text() != "{}"
    assert (desk.work / "top/work/file").read_text() == "theirs"


def test_a_closed_workspace_comes_back_closed(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.write("work/a", "1")
    desk.work.chmod(0o555)
    desk.backup()
    desk.work.rename(desk.scratch / "gone")
    desk.restore()
    assert desk.work.stat().st_mode & 0o777 == 0o555
