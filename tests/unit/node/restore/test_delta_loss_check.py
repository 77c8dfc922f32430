"""Whatever a restore replaces or removes is in a snapshot, or stays on disk under another name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scratchflow.archive.restore import apply_delta as deltas
from scratchflow.archive.restore.file_restorer import FileRestorer
from scratchflow.disk import exchange
from scratchflow.model.errors.restore import NotSaved
from scratchflow.workspace.notes import read_restoring
from tests.unit.conftest import Desk, make_desk


@pytest.fixture(params=["exchange", "plain rename"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system call that swaps two names, and on file systems that lack it."""
    if request.param == "plain rename":
        monkeypatch.setattr(exchange, "_renameat2", lambda *_, **__: False)


@pytest.fixture
def reopened(tmp_path: Path) -> Iterator[None]:
    """Lets pytest remove what a test closed."""
    yield
    for directory, names, _ in os.walk(tmp_path):
        for name in names:
            if not os.path.islink(os.path.join(directory, name)):
                os.chmod(os.path.join(directory, name), 0o700)


def is_kept(desk: Desk, content: bytes, place: Path) -> bool:
    """Whether this content lies anywhere on scratch, or in any snapshot."""
    place.mkdir(exist_ok=True)
    for number, snapshot in enumerate(desk.ids):
        desk.restore(snapshot, to=place / str(number))
    for top in (desk.scratch, place):
        for path in top.rglob("*"):
            if path.is_file() and not path.is_symlink() and _read(path) == content:
                return True
    return False


def _read(path: Path) -> bytes:
    mode = path.stat().st_mode
    path.chmod(0o600)
    try:
        return path.read_bytes()
    finally:
        path.chmod(mode)


def during(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, do: Callable[[], Any]
) -> None:
    """Does something once, right before a step."""
    step = getattr(owner, name)
    left = [do]

    def with_company(*arguments: Any, **more: Any) -> Any:
        while left:
            left.pop()()
        return step(*arguments, **more)

    monkeypatch.setattr(owner, name, with_company)


def test_a_path_over_a_file_that_is_excluded_now_leaves_that_file_aside(desk: Desk) -> None:
    desk.write("work/a.o", "saved")
    taken = desk.backup()
    desk.write("work/.scratchignore", "*.o\n")
    desk.write("work/a.o", "in no snapshot")
    restored = desk.restore(str(taken.snapshot), paths=("work/a.o",))
    assert (desk.work / "a.o").read_text() == "saved"
    assert (desk.work / f"a.o.before-{taken.snapshot}").read_text() == "in no snapshot"
    assert restored.moved_aside == [str(desk.work / f"a.o.before-{taken.snapshot}")]
    assert "files.moved_aside" in desk.warnings


def test_a_second_file_moved_aside_gets_a_name_of_its_own(desk: Desk) -> None:
    desk.write("work/a.o", "saved")
    taken = desk.backup()
    desk.write("work/.scratchignore", "*.o\n")
    for content in ("one", "two"):
        desk.write("work/a.o", content)
        desk.restore(str(taken.snapshot), paths=("work/a.o",))
    aside = desk.work / f"a.o.before-{taken.snapshot}"
    assert (aside.read_text(), Path(f"{aside}.2").read_text()) == ("one", "two")


def test_a_path_over_a_file_that_may_not_be_read_keeps_it(desk: Desk, tmp_path: Path) -> None:
    taken = desk.backup()
    file = desk.write("work/README", "in no snapshot")
    file.chmod(0)
    desk.restore(str(taken.snapshot), paths=("work/README",))
    assert file.read_text() == "hello"
    assert is_kept(desk, b"in no snapshot", tmp_path / "all")


def test_a_path_beside_an_empty_workspace_saves_what_it_replaces(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/a", "1")
    desk.write("env/x", "saved")
    taken = desk.backup()
    (desk.work / "a").unlink()
    desk.write("env/x", "in no snapshot")
    desk.restore(str(taken.snapshot), paths=("env/x",))
    assert (desk.scratch / "env/x").read_text() == "saved"
    assert is_kept(desk, b"in no snapshot", tmp_path / "all")


@pytest.mark.usefixtures("reopened")
def test_a_file_in_a_directory_that_may_not_be_read_is_kept(desk: Desk, tmp_path: Path) -> None:
    taken = desk.backup()
    desk.write("work/src/main.py", "in no snapshot")
    desk.write("work/README", "changed")
    (desk.work / "src").chmod(0)
    try:
        desk.restore(str(taken.snapshot))
    except NotSaved:
        assert read_restoring(desk.context.workspace) is None
    (desk.work / "src").chmod(0o700)
    assert is_kept(desk, b"in no snapshot", tmp_path / "all")


@pytest.mark.parametrize("path", ["README", "link", "twin", "extra"])
def test_a_file_written_while_the_difference_is_applied_is_kept(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (desk.work / "link").symlink_to("README")
    os.link(desk.work / "src/main.py", desk.work / "twin")
    first = str(desk.backup().snapshot)
    (desk.work / "link").unlink()
    (desk.work / "twin").unlink()
    for name in ("README", "link", "twin", "extra"):
        desk.write(f"work/{name}", "second")
    desk.backup()
    written = desk.work / path
    during(monkeypatch, FileRestorer, "restore", lambda: written.write_bytes(b"written meanwhile"))
    desk.restore(first)
    assert (desk.work / "README").read_text() == "hello"
    assert is_kept(desk, b"written meanwhile", tmp_path / "all")


def test_a_file_that_appears_where_nothing_was_is_kept(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = str(desk.backup().snapshot)
    (desk.work / "README").unlink()
    desk.backup()
    during(
        monkeypatch,
        FileRestorer,
        "restore",
        lambda: (desk.work / "README").write_bytes(b"appeared"),
    )
    desk.restore(first)
    assert (desk.work / "README").read_text() == "hello"
    assert is_kept(desk, b"appeared", tmp_path / "all")


def test_a_directory_that_appears_where_a_file_was_is_kept(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.backup()

    def turn() -> None:
        (desk.work / "README").unlink()
        desk.write("work/README/inside", "appeared")

    during(monkeypatch, FileRestorer, "restore", turn)
    desk.restore(first)
    assert (desk.work / "README").read_text() == "hello"
    assert is_kept(desk, b"appeared", tmp_path / "all")


def test_what_appears_in_a_directory_that_makes_room_for_a_file_is_kept(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = str(desk.backup().snapshot)
    (desk.work / "README").unlink()
    desk.write("work/README/inside", "second")
    desk.backup()
    during(monkeypatch, deltas, "apply", lambda: desk.write("work/README/new", "appeared"))
    desk.restore(first)
    assert (desk.work / "README").read_text() == "hello"
    assert is_kept(desk, b"appeared", tmp_path / "all")
    assert read_restoring(desk.context.workspace) is None


def test_an_excluded_file_of_the_same_size_and_time_is_not_taken_for_the_wanted_one(
    desk: Desk,
) -> None:
    file = desk.write("work/a.o", "saved")
    taken = desk.backup()
    stamps = file.stat()
    file.write_text("SAVED")
    os.utime(file, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    desk.write("work/.scratchignore", "*.o\n")
    with pytest.raises(NotSaved):
        desk.restore(str(taken.snapshot))
    assert file.read_text() == "SAVED"


def test_an_excluded_file_that_is_the_wanted_one_is_no_obstacle(desk: Desk) -> None:
    desk.write("work/a.o", "saved")
    taken = desk.backup()
    desk.write("work/.scratchignore", "*.o\n")
    restored = desk.restore(str(taken.snapshot))
    assert restored.moved_aside == []
    assert (desk.work / "a.o").read_text() == "saved"


def test_an_ignored_file_in_the_way_is_found_before_anything_is_deleted(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    (desk.work / "README").unlink()
    desk.write("work/README/sibling", "s")
    desk.write("work/README/x.o", "in no snapshot")
    desk.write("work/.scratchignore", "*.o\n")
    desk.backup()
    before = desk.content()
    with pytest.raises(NotSaved):
        desk.restore(first)
    assert desk.content() == before
    assert read_restoring(desk.context.workspace) is None
    assert desk.backup().kind == "unchanged"


def test_what_is_replaced_and_known_leaves_no_second_copy(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    names = sorted(path.name for path in desk.work.rglob("*"))
    desk.write("work/README", "second")
    desk.write("work/data/extra", "second")
    restored = desk.restore(first)
    assert restored.moved_aside == []
    assert sorted(path.name for path in desk.work.rglob("*")) == names


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_fifo_in_the_way_is_called_one_also_by_a_dry_run(desk: Desk, dry_run: bool) -> None:
    path = desk.write("work/file", b"old")
    first = str(desk.backup().snapshot)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(NotSaved, match="it is a FIFO, which no snapshot takes") as caught:
        desk.restore(first, dry_run=dry_run)
    assert "exclude" not in caught.value.shown_hint
    assert path.is_fifo()


def test_a_refused_restore_warns_of_each_unreadable_path_once(desk: Desk) -> None:
    desk.write("work/file")
    first = desk.backup().snapshot or ""
    desk.write("work/closed").chmod(0)
    with pytest.raises(NotSaved):
        desk.restore(first)
    assert desk.warnings.count("files.unreadable") == 1
