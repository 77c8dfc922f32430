"""`kill -9` at random moments of a loop of backups: whatever was confirmed stays, whole."""

from __future__ import annotations

import os
import random
import secrets
import select
import signal
import time
import traceback
from pathlib import Path

import pytest

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.retention.sweep import sweep
from scratchflow.testing.store import make_id, make_lock, make_manifest

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

KILLS = 120


def content_of(snapshot: str) -> bytes:
    return random.Random(snapshot).randbytes(100_000)  # noqa: S311 - repeatable on purpose


def back_up_forever(place: StoreDirectory, confirm: int) -> None:
    while True:
        snapshot = make_id(len(read_catalogue(place).snapshots), secrets.token_hex(3))
        with make_lock(place).acquired() as lock:
            sweep(lock, time.time())
            with NewSnapshot(lock, snapshot) as new:
                content = content_of(snapshot)
                for start in range(0, len(content), 8192):
                    new.file.write(content[start : start + 8192])
                digest = WholeDigest().text(content)
                new.commit(make_manifest(snapshot, archive_digest=digest))
        os.write(confirm, snapshot.encode())


def start(place: StoreDirectory) -> tuple[int, int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            back_up_forever(place, writer)
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(1)
    os.close(writer)
    return child, reader


def kill_after(child: int, reader: int, seconds: float) -> list[str]:
    """Kills the child and returns the ids it had confirmed."""
    confirmed = b""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reader], [], [], left)[0]:
            piece = os.read(reader, 4096)
            assert piece, "the loop of backups ended by itself"
            confirmed += piece
    os.kill(child, signal.SIGKILL)
    while piece := os.read(reader, 4096):
        confirmed += piece
    os.close(reader)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    size = len(make_id())
    return [confirmed[at : at + size].decode() for at in range(0, len(confirmed), size)]


def one_backup_s(place: StoreDirectory) -> float:
    """How long one takes on this disk: the kills have to fall into it."""
    child, reader = start(place)
    began = time.monotonic()
    os.read(reader, len(make_id()))
    took_s = time.monotonic() - began
    kill_after(child, reader, 0)
    return took_s


def test_killed_at_random_nothing_confirmed_is_lost(tmp_path: Path) -> None:
    place = open_place(tmp_path / "store", "work")
    dice = random.Random(20261115)  # noqa: S311 - repeatable on purpose
    confirmed: set[str] = set()
    checked: set[str] = set()
    longest_s = max(0.1, 3 * one_backup_s(place))
    for _ in range(KILLS):
        confirmed.update(kill_after(*start(place), dice.uniform(0.001, longest_s)))
        listed = read_catalogue(place)
        assert listed.skipped == ()
        assert listed.damaged == {}
        ids = {one.id for one in listed.snapshots}
        assert confirmed <= ids
        for snapshot in ids - checked:
            assert place.archive(snapshot).read_bytes() == content_of(snapshot)
        checked |= ids
    assert len(checked) > KILLS / 4, "the kills came too early to mean anything"
    with make_lock(place).acquired() as lock:
        sweep(lock, time.time() + 400)
    expected = {f"{one}{suffix}" for one in checked for suffix in (".json", ".tar.lz4")}
    assert set(os.listdir(place.directory)) == expected
