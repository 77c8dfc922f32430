"""The place: made race-safe, private under any umask, refused when it is not ours alone."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from scratchflow.model.errors.store import StoreUnusable
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place, open_place
from scratchflow.store.nodes import NodeRecord, record_node
from scratchflow.testing.store import commit_bytes, make_id, make_lock


@contextmanager
def umask(mask: int) -> Iterator[None]:
    old = os.umask(mask)
    try:
        yield
    finally:
        os.umask(old)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077, 0o777])
def test_everything_in_the_place_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        place = open_place(tmp_path / "deep" / "store", "work")
        with make_lock(place).acquired() as lock:
            modes = {mode_of(path) for path in place.lock.iterdir()}
            assert mode_of(place.lock) == 0o700
            commit_bytes(lock, make_id(), b"bytes")
        record_node(
            place,
            NodeRecord(node="n1", snapshot=make_id(), workspace_path="/s", job_id=1, time="t"),
        )
    assert modes == {0o600}
    for path in [tmp_path / "deep", *(tmp_path / "deep").rglob("*")]:
        assert mode_of(path) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("mask", [0o022, 0o077])
@pytest.mark.parametrize("above", [0o1777, 0o777, 0o775, 0o755, 0o700])
def test_a_directory_above_the_users_own_is_as_open_as_the_one_it_is_made_in(
    tmp_path: Path, mask: int, above: int
) -> None:
    fsx = tmp_path / "fsx"
    fsx.mkdir()
    os.chmod(fsx, above)
    name = pwd.getpwuid(os.geteuid()).pw_name
    with umask(mask):
        open_place(fsx / "users" / name / "deep" / "scratchflow", "work")
        open_place(fsx / "of-mine" / "scratchflow", "work")
    sticky = stat.S_ISVTX if above & 0o022 else 0
    assert mode_of(fsx / "users") == above | sticky
    assert mode_of(fsx / "users" / name) == mode_of(fsx / "users" / name / "deep") == 0o700
    assert mode_of(fsx / "of-mine") == above & 0o755  # nobody else writes to it
    assert mode_of(fsx / "of-mine/scratchflow") == 0o700


def test_temp_archive_is_private_while_it_is_written(tmp_path: Path) -> None:
    from scratchflow.store.commit.commit import NewSnapshot

    with umask(0):
        place = open_place(tmp_path / "store", "work")
        with make_lock(place).acquired() as lock, NewSnapshot(lock, make_id()) as new:
            new.file.write(b"secret")
            assert mode_of(place.temp_archive(make_id())) == 0o600


def test_many_may_make_the_place_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(lambda _: open_place(tmp_path / "a/b/store", "x/y"), range(40)))
    assert {place.directory for place in places} == {tmp_path / "a/b/store/x/y"}


def test_reading_creates_nothing(tmp_path: Path) -> None:
    place = find_place(tmp_path / "store", "work")
    assert read_catalogue(place).snapshots == ()
    assert list(tmp_path.iterdir()) == []


def test_a_place_readable_by_others_is_closed(tmp_path: Path) -> None:
    place = open_place(tmp_path / "store", "work")
    os.chmod(place.directory, 0o2755)  # noqa: S103 - the case
    open_place(tmp_path / "store", "work")
    assert mode_of(place.directory) == 0o2700


def test_a_place_that_its_owner_closed_to_writing_stays_closed(tmp_path: Path) -> None:
    directory = open_place(tmp_path / "store", "work").directory
    directory.chmod(0o555)
    assert open_place(tmp_path / "store", "work").directory == directory
    assert stat.S_IMODE(directory.stat().st_mode) == 0o500


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_place_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    place = open_place(tmp_path / "store", "work")
    os.chmod(place.directory, mode)
    for look in (open_place, find_place):
        with pytest.raises(StoreUnusable, match="others may write") as caught:
            look(tmp_path / "store", "work")
        assert "chmod go-w" in caught.value.shown_hint


def test_a_shared_store_is_fine_only_with_the_sticky_bit(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    os.chmod(store, 0o1777)  # noqa: S103 - the case
    assert open_place(store, "work").directory == store / "work"
    os.chmod(store, 0o777)  # noqa: S103 - the case
    with pytest.raises(StoreUnusable):
        open_place(store, "work")


def test_a_link_or_file_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store"
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    store.mkdir(mode=0o700)
    (store / "work").symlink_to(tmp_path / "elsewhere")
    (store / "file").touch()
    for name in ("work", "file"):
        with pytest.raises(StoreUnusable, match="not a directory"):
            open_place(store, name)


def test_the_store_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "store").symlink_to(tmp_path / "real")
    assert open_place(tmp_path / "store", "work").directory == tmp_path / "real" / "work"


@pytest.mark.parametrize(
    "name", ["", "..", "a/../b", "/a", "a//b", "work/nodes", "a/lock.d", "a\0b"]
)
def test_a_workspace_name_that_is_no_plain_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreUnusable):
        open_place(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_relative_store_is_refused() -> None:
    with pytest.raises(StoreUnusable, match="absolute"):
        find_place(Path("store"), "work")


@pytest.mark.parametrize("bad", ["../../etc/passwd", "", "latest", "20261115T093000Z-3f2a9c/x"])
def test_only_an_id_becomes_a_path(tmp_path: Path, bad: str) -> None:
    place = find_place(tmp_path, "work")
    for name in (place.archive, place.manifest, place.temp_archive, place.temp_manifest):
        with pytest.raises(ValueError, match="not a snapshot id"):
            name(bad)
