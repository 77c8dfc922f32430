"""The lock on disk: of any number who come for it one gets it, and whatever lies there is read."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from scratchflow.store.lock.chain import (
    Touch,
    claim,
    is_free,
    put_whole_lock,
    read_head,
    set_aside,
)
from scratchflow.store.lock.owner import Owner, this_process

touch: Touch = os.utime


def _owner(letter: str) -> Owner:
    me = msgspec.structs.asdict(this_process())
    return Owner(**me, token=letter * 32, job_id=None, since="now", doing="backup")


def _take(place: Path, letter: str) -> bool:
    """Whether this owner has the lock now."""
    put_whole_lock(place, place / "lock.d", _owner(letter), touch)
    head = read_head(place / "lock.d")
    return head is not None and head.is_held_by(letter * 32)


def test_the_first_gets_it_and_the_second_leaves_nothing(tmp_path: Path) -> None:
    assert is_free(tmp_path / "lock.d", read_head(tmp_path / "lock.d"))
    assert _take(tmp_path, "a")
    assert not is_free(tmp_path / "lock.d", read_head(tmp_path / "lock.d"))
    assert not _take(tmp_path, "b")
    assert os.listdir(tmp_path) == ["lock.d"]
    assert os.listdir(tmp_path / "lock.d") == ["owner.json"]


def test_an_empty_directory_is_a_free_lock(tmp_path: Path) -> None:
    (tmp_path / "lock.d").mkdir()
    assert is_free(tmp_path / "lock.d", read_head(tmp_path / "lock.d"))
    assert _take(tmp_path, "a")


def test_of_two_who_take_over_one_succeeds(tmp_path: Path) -> None:
    lock = tmp_path / "lock.d"
    assert _take(tmp_path, "a")
    head = read_head(lock)
    assert head
    assert claim(lock, head.successor, _owner("b"), touch)
    assert not claim(lock, head.successor, _owner("c"), touch)
    now = read_head(lock)
    assert now
    assert now.is_held_by("b" * 32)
    assert sorted(os.listdir(lock)) == [f"after-{'a' * 32}.json", "owner.json"]


def test_a_claim_on_a_lock_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert not claim(tmp_path / "lock.d", tmp_path / "lock.d/owner.json", _owner("a"), touch)


def test_a_lock_is_set_aside_by_its_holder_and_put_back_for_another(tmp_path: Path) -> None:
    lock = tmp_path / "lock.d"
    assert _take(tmp_path, "a")
    head = read_head(lock)
    assert head
    claim(lock, head.successor, _owner("b"), touch)
    set_aside(tmp_path, lock, "a" * 32)
    now = read_head(lock)
    assert now
    assert now.is_held_by("b" * 32)
    set_aside(tmp_path, lock, "b" * 32)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", msgspec.json.encode(_owner("a")).replace(b"a" * 32, b"../../x")],
    ids=["empty", "half", "list", "bytes", "path as token"],
)
def test_an_owner_file_that_cannot_be_understood_has_no_owner_and_can_be_succeeded(
    tmp_path: Path, content: bytes
) -> None:
    lock = tmp_path / "lock.d"
    lock.mkdir()
    (lock / "owner.json").write_bytes(content)
    head = read_head(lock)
    assert head
    assert head.owner is None
    assert not head.is_half_made
    assert not is_free(lock, head)
    assert head.successor.parent == lock
    assert claim(lock, head.successor, _owner("b"), touch)
    now = read_head(lock)
    assert now
    assert now.is_held_by("b" * 32)


def test_a_chain_that_leads_back_to_itself_ends(tmp_path: Path) -> None:
    lock = tmp_path / "lock.d"
    assert _take(tmp_path, "a")
    os.link(lock / "owner.json", lock / f"after-{'a' * 32}.json")
    head = read_head(lock)
    assert head
    assert head.is_held_by("a" * 32)


@pytest.mark.parametrize("what", ["link", "fifo"])
def test_what_is_no_file_is_not_followed_and_does_not_hang(tmp_path: Path, what: str) -> None:
    lock = tmp_path / "lock.d"
    lock.mkdir()
    if what == "fifo":
        os.mkfifo(lock / "owner.json")
        head = read_head(lock)
        assert head
        assert head.owner is None
    else:
        (tmp_path / "real").write_bytes(msgspec.json.encode(_owner("a")))
        (lock / "owner.json").symlink_to(tmp_path / "real")
        with pytest.raises(OSError, match="symbolic links"):
            read_head(lock)
