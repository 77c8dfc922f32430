"""A path as people type it means the same in every command that looks into a snapshot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.model.errors.snapshots import PathAmbiguous
from scratchflow.model.requests import Show
from scratchflow.node.contents.paths import follow, matching, require_one, typed
from scratchflow.node.history.history import show_snapshot
from tests.unit.conftest import Desk


def saved(desk: Desk) -> Index:
    return open_index(desk.place.archive(desk.backup().snapshot or ""))


@pytest.mark.parametrize(
    "path", ["src/main.py", "work/src/main.py", "/src/main.py", "src/*.py", "src/./main.py"]
)
def test_a_path_from_scratch_or_the_workspace_down_or_a_glob(desk: Desk, path: str) -> None:
    index = saved(desk)
    entry = require_one(index, path, matching(index, path, desk.context.workspace))
    assert index.path(entry) == b"work/src/main.py"


def test_a_whole_path_of_the_machine(desk: Desk) -> None:
    index = saved(desk)
    (entry,) = matching(index, str(desk.work / "README"), desk.context.workspace)
    assert index.path(entry) == b"work/README"


def test_a_glob_that_fits_several_is_refused_with_a_few_of_them(desk: Desk) -> None:
    for name in "abcd":
        desk.write(f"work/many/{name}")
    index = saved(desk)
    with pytest.raises(PathAmbiguous) as caught:
        require_one(index, "many/?", matching(index, "many/?", desk.context.workspace))
    assert "fits 4 paths" in str(caught.value)
    assert caught.value.shown_hint.startswith(
        "they are `work/many/a`, `work/many/b`, `work/many/c`, …;"
    )


def test_a_name_that_is_not_utf8_is_listed_with_a_glob_that_means_it(desk: Desk) -> None:
    directory = desk.work / os.fsdecode(b"d\xff[1]")
    directory.mkdir()
    (directory / os.fsdecode(b"caf\xe9\xc3\xa9*")).write_text("x")
    (directory / "plain").write_text("x")
    desk.backup()
    inside = next(one for one in listed(desk, ".") if one.kind == "directory" and one.typed)
    assert (inside.path, inside.typed) == (None, "work/d?[[]1]")
    names = [one.typed for one in listed(desk, inside.typed or "")]
    assert names == ["work/d?[[]1]/caf?é[*]", "work/d?[[]1]/plain"]
    (file,) = listed(desk, names[0] or "")
    assert file.size == 1


def listed(desk: Desk, path: str) -> list:  # type: ignore[type-arg]  # of entries
    return show_snapshot(desk.context, desk.notify, Show(path=path)).entries


def test_a_glob_lists_all_that_it_fits(desk: Desk) -> None:
    desk.write("work/src/a.py")
    desk.backup()
    assert [one.path for one in listed(desk, "src/*.py")] == ["work/src/a.py", "work/src/main.py"]


def test_what_is_utf8_needs_no_glob() -> None:
    assert typed("work/é".encode()) == "work/é"


@pytest.mark.parametrize(
    ("link", "target", "found"),
    [
        ("work/l", "README", "work/README"),
        ("work/l", "./src/../README", "work/README"),
        ("work/src/l", "../README", "work/README"),
        ("work/l", "{scratch}/work/README", "work/README"),
        ("work/l", "src", "work/src"),
        ("work/l", "/etc/passwd", None),
        ("work/l", "../../../etc/passwd", None),
        ("work/l", "{scratch}", None),
        ("work/l", "none", None),
        ("work/l", "l", None),
        ("work/l", "README/x", None),
    ],
)
def test_links_are_followed_inside_the_snapshot_alone(
    desk: Desk, link: str, target: str, found: str | None
) -> None:
    (desk.scratch / link).symlink_to(target.format(scratch=desk.scratch))
    index = saved(desk)
    entry = follow(index, os.fsencode(link), os.fsencode(desk.scratch))
    assert (index.path(entry).decode() if entry is not None else None) == found


def test_a_path_through_a_linked_directory(desk: Desk) -> None:
    (desk.work / "linked").symlink_to("src")
    index = saved(desk)
    entry = follow(index, b"work/linked/main.py", b"/")
    assert entry is not None
    assert Path(os.fsdecode(index.path(entry))) == Path("work/src/main.py")
