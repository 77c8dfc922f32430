"""The store's own id: made once, by whoever comes first, and never replaced."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from scratchflow.model.errors.store import StoreUnusable
from scratchflow.store.directory import STORE_NAME, StoreDirectory, open_place
from scratchflow.store.identity import ensure_store_id, read_store_id

MAKERS = 8


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def test_it_is_made_once_and_kept(place: StoreDirectory) -> None:
    assert read_store_id(place) is None
    first = ensure_store_id(place)
    assert first == ensure_store_id(place) == read_store_id(place)
    assert os.listdir(place.directory) == [STORE_NAME]


def _make(directory: Path) -> str:
    return ensure_store_id(StoreDirectory(directory))


@pytest.mark.slow
def test_of_many_who_make_it_at_once_all_get_the_same(place: StoreDirectory) -> None:
    with multiprocessing.get_context("spawn").Pool(MAKERS) as pool:
        assert len(set(pool.map(_make, [place.directory] * MAKERS))) == 1


def test_it_is_made_without_hard_links(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", no_link)
    assert ensure_store_id(place) == read_store_id(place)
    assert os.listdir(place.directory) == [STORE_NAME]


JUNK = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'{"id": "short"}',
    b'{"id": 7}',
    b'{"id": "\xff"}',
    b"\x00\xff",
    b'{"more": ' + b"[" * 60_000,
    b" " * 100_000 + b'{"id": "00000000000000000000000000000000"}',
]


@pytest.mark.parametrize("content", JUNK, ids=range(len(JUNK)))
def test_a_damaged_one_is_an_error_and_is_left_as_it_is(
    place: StoreDirectory, content: bytes
) -> None:
    file = place.directory / STORE_NAME
    file.write_bytes(content)
    with pytest.raises(StoreUnusable, match=r"store\.json") as caught:
        ensure_store_id(place)
    assert (
        f"`mv {file} {file}.damaged` on `{os.uname().nodename}` moves it away"
        in caught.value.shown_hint
    )
    assert file.read_bytes() == content


@pytest.mark.parametrize("kind", ["directory", "link", "fifo"])
def test_what_is_no_file_is_an_error_with_the_same_next_step(
    place: StoreDirectory, kind: str
) -> None:
    file = place.directory / STORE_NAME
    if kind == "directory":
        file.mkdir()
    elif kind == "link":
        file.symlink_to(place.directory / "elsewhere.json")
    else:
        os.mkfifo(file)
    with pytest.raises(StoreUnusable, match="does not hold a store's id") as caught:
        ensure_store_id(place)
    assert "moves it away" in caught.value.shown_hint
