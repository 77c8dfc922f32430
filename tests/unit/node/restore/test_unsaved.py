"""What the workspace has newer than a snapshot is told before an older version is taken for it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scratchflow.model.errors.snapshots import PathKeptOut, PathLeadsOut, PathMissing, PathUnsaved
from scratchflow.model.requests import Cat, Newer
from scratchflow.model.results.transfer import NewerFound
from scratchflow.node.contents.content import send_content
from scratchflow.node.restore.unsaved import NEWER, find_newer, is_in_workspace, words_of
from tests.unit.conftest import Desk


def newer(desk: Desk, *paths: str) -> NewerFound:
    return find_newer(desk.context, desk.notify, Newer(snapshot="latest", paths=paths))


def test_a_file_that_changed_since_is_named_and_one_that_did_not_is_not(desk: Desk) -> None:
    desk.write("work/result.csv", "one")
    snapshot = desk.backup().snapshot
    assert newer(desk, "result.csv", "src").changed == 0
    desk.write("work/result.csv", "two")  # of the same size
    os.utime(desk.work / "result.csv", ns=(1, 1))
    found = newer(desk, "result.csv", "src")
    assert (found.changed, found.changed_paths) == (1, ["result.csv"])
    assert (found.snapshot, found.host) == (snapshot, desk.context.node)
    assert newer(desk, "work/*.csv").changed == 1
    assert newer(desk, "src").changed == 0
    (desk.work / "result.csv").unlink()
    assert newer(desk, "result.csv").changed == 0, "the snapshot has the newest of it"


def test_what_is_behind_a_link_by_now_is_nothing_that_a_backup_saves(
    desk: Desk, tmp_path: Path
) -> None:
    desk.write("work/results/x", "one")
    desk.backup()
    (desk.work / "results").rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/x").write_text("two, and longer")
    (desk.work / "results").symlink_to(tmp_path / "elsewhere")
    assert newer(desk, "results/x").changed == 0


@pytest.mark.parametrize("is_saved", [True, False])
def test_what_is_behind_a_link_is_not_said_to_be_saved_by_a_backup(
    desk: Desk, tmp_path: Path, is_saved: bool
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/x").write_text("x")
    if not is_saved:
        desk.backup()
    (desk.work / "link").symlink_to(tmp_path / "elsewhere")
    if is_saved:
        desk.backup()
    wanted = PathLeadsOut if is_saved else PathMissing
    with pytest.raises(wanted) as caught:
        desk.restore(paths=("link/x",))
    with pytest.raises(wanted):
        send_content(desk.context, desk.notify, Cat(path="work/link/x", snapshot="latest"))
    if is_saved:
        assert f"`link` in snapshot `{desk.ids[-1]}` is a symlink to" in str(caught.value)
        desk.restore(paths=("link",))  # as proposed


def test_the_words_name_the_first_files_and_what_to_do() -> None:
    found = NewerFound(snapshot="s", host="node-1", changed=5, changed_paths=["a", "b", "c"])
    (words,) = words_of(found)
    assert words.startswith("5 files (`a`, `b`, `c`, …) changed on `node-1` since snapshot s")
    assert "`scratchflow backup`" in words
    assert words_of(NewerFound(snapshot="s", host="node-1")) == []


def test_the_words_name_a_new_file_and_what_to_do() -> None:
    found = NewerFound(snapshot="s", host="node-2", added=1, added_paths=["results/final.csv"])
    (words,) = words_of(found)
    assert words.startswith("1 file (`results/final.csv`) is on `node-2` and not in snapshot s: ")
    assert words.endswith("`scratchflow backup` saves it, then run this command again")
    both = NewerFound(snapshot="s", host="n", changed=1, changed_paths=["a"], added=2)
    assert [words.split(" (")[0] for words in words_of(both)] == ["1 file", "2 files"]


@pytest.mark.parametrize("path", ["results", "work/results", ".", "results/*.csv", None])
def test_a_new_file_beneath_a_directory_is_named(desk: Desk, path: str | None) -> None:
    desk.write("work/results/a.csv")
    desk.backup()
    paths = (path,) if path else ()
    assert newer(desk, *paths).added == 0
    desk.write("work/results/final.csv")
    found = newer(desk, *paths)
    assert (found.added, found.added_paths, found.changed) == (1, ["results/final.csv"], 0)
    assert newer(desk, "src").added == 0, "it lies elsewhere"
    assert newer(desk, "results/a.csv").added == 0


def test_a_whole_new_directory_is_counted_by_its_files(desk: Desk) -> None:
    desk.backup()
    desk.write("work/results/deep/a.csv")
    desk.write("work/results/b.csv")
    (desk.work / "results/link").symlink_to("b.csv")
    (desk.work / "results/empty").mkdir()
    assert newer(desk, ".").added == 3


def test_what_is_excluded_on_purpose_is_not_called_new(desk: Desk) -> None:
    desk.write("work/.scratchignore", "results/*.tmp\n/cache/\n")
    desk.write("work/results/a.csv")
    desk.backup()
    desk.write("work/results/b.tmp")
    desk.write("work/cache/c.csv")
    assert newer(desk, "results").added == 0
    assert newer(desk).added == 0


def test_a_file_made_since_is_known_to_be_in_the_workspace(desk: Desk, tmp_path: Path) -> None:
    old = str(desk.backup().snapshot)
    desk.write("work/late.csv")
    assert newer(desk, "late.csv", "no.csv").unsaved == ["late.csv"]
    for to in (None, tmp_path / "out"):
        with pytest.raises(PathUnsaved) as caught:
            desk.restore(paths=("late.csv",), to=to)
        assert "`scratchflow backup` saves it" in caught.value.shown_hint
    with pytest.raises(PathMissing):
        desk.restore(paths=("no.csv",))
    with pytest.raises(PathMissing):
        desk.restore(old, paths=("late.csv",))


@pytest.mark.parametrize("path", ["results/b.tmp", "cache/c.csv", "closed.csv", "pipe"])
def test_a_path_that_no_backup_takes_is_not_said_to_be_saved_by_one(
    desk: Desk, tmp_path: Path, path: str
) -> None:
    desk.write("work/.scratchignore", "results/*.tmp\n/cache/\n")
    desk.backup()
    for name in ("results/b.tmp", "cache/c.csv", "closed.csv"):
        desk.write(f"work/{name}")
    (desk.work / "closed.csv").chmod(0)
    os.mkfifo(desk.work / "pipe")
    assert (newer(desk, path).unsaved, newer(desk, path).kept_out) == ([path], [path])
    with pytest.raises(PathKeptOut):
        desk.restore(paths=(path,), to=tmp_path / "out")
    with pytest.raises(PathKeptOut):
        send_content(desk.context, desk.notify, Cat(path=path, snapshot="latest"))


def test_a_newer_file_that_cannot_be_read_is_not_said_to_be_saved_by_a_backup(desk: Desk) -> None:
    for name in ("a.csv", "b.csv"):
        desk.write(f"work/{name}", "one")
    desk.backup()
    desk.write("work/a.csv", "newer")
    (desk.work / "a.csv").chmod(0)
    (words,) = words_of(newer(desk, "a.csv"))
    assert "it cannot be read there, and no backup saves that" in words
    desk.write("work/b.csv", "newer")
    (words,) = words_of(newer(desk, "*.csv"))
    assert "1 of them cannot be read there" in words
    desk.write("work/c.csv")
    (desk.work / "c.csv").chmod(0)
    assert newer(desk, "*.csv").added == 0, "no backup saves it either"


def test_a_time_that_no_snapshot_holds_is_no_change(desk: Desk) -> None:
    far_ns = 9_300_000_000 * 10**9  # in 2264
    desk.write("work/far.csv")
    os.utime(desk.work / "far.csv", ns=(far_ns, far_ns))
    if (desk.work / "far.csv").stat().st_mtime_ns != far_ns:
        pytest.skip("this file system holds no such time")
    desk.backup()
    assert newer(desk, "far.csv").changed == 0


@pytest.mark.parametrize("path", ["", ".", "..", "../other", "/etc/passwd", "src/../../other"])
def test_only_paths_of_the_workspace_are_looked_for(desk: Desk, path: str) -> None:
    desk.write("other/file")
    found = is_in_workspace(desk.context, path)
    assert found is (path == ".")
    assert is_in_workspace(desk.context, "README")
    assert is_in_workspace(desk.context, "work/README")
    assert is_in_workspace(desk.context, str(desk.work / "README"))


def test_a_restore_elsewhere_on_the_node_warns_too(desk: Desk, tmp_path: Path) -> None:
    old = str(desk.backup().snapshot)
    desk.write("work/README", "newer")
    desk.restore(paths=("README",), to=tmp_path / "one")
    assert desk.warnings == [NEWER]
    desk.restore(old, paths=("README",), to=tmp_path / "two")
    assert desk.warnings == [NEWER], "an older one was asked for"


@pytest.mark.parametrize("paths", [("src",), ()])
def test_a_restore_elsewhere_on_the_node_warns_of_a_new_file(
    desk: Desk, tmp_path: Path, paths: tuple[str, ...]
) -> None:
    desk.backup()
    desk.write("work/src/final.csv")
    desk.restore(paths=paths, to=tmp_path / "out")
    assert desk.warnings == [NEWER]


@pytest.mark.parametrize("gone", ["work", "."])
def test_without_a_workspace_nothing_is_newer(desk: Desk, tmp_path: Path, gone: str) -> None:
    desk.backup()
    shutil.move(desk.scratch.resolve() if gone == "." else desk.work, tmp_path / "moved away")
    desk.restore(to=tmp_path / "out")
    assert desk.warnings == []
    assert (tmp_path / "out/work/README").read_text() == "hello"
