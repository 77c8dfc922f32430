"""New snapshots go to the mirror by themselves, for as long as somebody takes them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.cluster.rclone.remote import Remote
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.errors.transfer import MirrorFailed
from scratchflow.model.requests import FetchSnapshots, Nothing
from scratchflow.model.times import iso_time
from scratchflow.node.mirror.fetch import fetch_snapshots
from scratchflow.node.mirror.keep import keep_mirrored
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.heartbeats import Heartbeat, beat
from scratchflow.store.identity import read_store_id
from scratchflow.store.mirror import mirror_place, read_state
from scratchflow.testing.store import make_lock
from tests.contract.node.mirror.conftest import desk_with, mirror, mirror_files, whole_on
from tests.mirrors import Directory, Server
from tests.unit.conftest import Desk

# Each starts rclone several times.

LIVING = Heartbeat(
    node="n1",
    job_id=7,
    step_id=1,
    pid=1,
    token="t",  # noqa: S106 - not a password
    every_s=60,
    phase="waiting",
    time="",
)


def keep(desk: Desk, sleep: Callable[[float], None]) -> int:
    return keep_mirrored(desk.context, desk.notify, Nothing(), sleep=sleep).runs


def never(_: float) -> None:
    pytest.fail("there is nothing to wait for")


def give_sign(desk: Desk, phase: str) -> None:
    now = iso_time(time.time()) or ""
    beat(desk.place, msgspec.structs.replace(LIVING, phase=phase, time=now))


def test_it_sends_what_there_is_and_ends(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    assert keep(desk, never) == 0
    desk.backup()
    assert keep(desk, never) == 1
    assert whole_on(directory, tmp_path / "alone") == desk.ids
    assert keep(desk, never) == 0


def test_while_an_auto_backup_lives_it_waits_for_its_snapshots(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    give_sign(desk, "waiting")
    rounds: list[float] = []

    def sleep(seconds: float) -> None:
        rounds.append(seconds)
        if len(rounds) == 2:
            desk.write("work/README", "the last words of the job")
            desk.backup()
            give_sign(desk, "ended")

    assert keep(desk, sleep) == 2
    assert len(rounds) == 2
    assert whole_on(directory, tmp_path / "alone") == desk.ids


def test_a_mirror_that_fails_is_tried_again_less_and_less_often(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    in_the_way = directory.files / "mirror"
    in_the_way.write_text("a file where the directory should be")
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            desk.write("work/README", "backups go on")
            desk.backup()
            in_the_way.unlink()

    assert keep(desk, sleep) == 4
    assert pauses == [30, 60, 120]
    assert whole_on(directory, tmp_path / "alone") == desk.ids
    assert read_state(desk.place, desk.context.profile.backup.mirror).error == ""


def test_a_mirror_that_stays_away_is_given_up_until_the_next_snapshot(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    (directory.files / "mirror").write_text("a file where the directory should be")
    pauses: list[float] = []
    keep(desk, pauses.append)
    assert 3600 / 2 < sum(pauses) < 2 * 3600
    assert read_state(desk.place, desk.context.profile.backup.mirror).error


def test_a_second_one_leaves_it_to_the_first(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    keeper = StoreDirectory(mirror_place(desk.place).directory / "keeper")
    keeper.directory.mkdir()
    with make_lock(keeper).acquired():
        assert keep(desk, never) == 0
    assert not mirror_files(directory).exists()
    assert keep(desk, never) == 1


def test_what_is_left_of_a_store_that_is_being_removed_gets_no_id_and_no_directory(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    left = desk.place.manifest(desk.ids[0])
    for path in desk.place.directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path != left:
            path.unlink()
    assert keep(desk, never) == 0
    with pytest.raises(StoreUnusable, match="no id"):
        mirror(desk)
    assert list(desk.place.directory.iterdir()) == [left]


@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_store_that_is_removed_while_it_is_sent_is_not_made_anew(
    directory: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_emptied: bool
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    content, ids, store_id = desk.content(), desk.ids, read_store_id(desk.place)
    assert keep(desk, never) == 1
    desk.write("work/README", "second")
    desk.backup()

    def removes(*_: object) -> None:
        shutil.rmtree(desk.context.store)
        if is_emptied:  # `rm -r` has not removed the directories yet
            desk.place.directory.mkdir(parents=True)
        raise MirrorFailed(mirror="box:", words="the files are gone")

    with monkeypatch.context() as patched:
        patched.setattr(Remote, "send", removes)
        assert keep(desk, lambda _: None) == 1
    left = list(desk.context.store.rglob("*")) if is_emptied else []
    assert left == ([desk.place.directory] if is_emptied else [])
    assert desk.context.store.exists() == is_emptied
    assert fetch_snapshots(desk.context, desk.notify, FetchSnapshots(every=True)).fetched == ids
    assert read_store_id(desk.place) == store_id
    desk.restore(to=desk.scratch / "out")
    assert desk.content(desk.scratch / "out/work") == content


def test_another_mirror_is_taken_up_by_the_one_that_runs(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    give_sign(desk, "waiting")
    other = Directory(tmp_path / "other")
    options = msgspec.structs.replace(desk.context.profile.backup, mirror=other.remote)
    profile = msgspec.structs.replace(desk.context.profile, backup=options)
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    changed = Desk(msgspec.structs.replace(desk.context, settings=settings))

    def sleep(_: float) -> None:
        keep(changed, never)
        give_sign(desk, "ended")

    assert keep(desk, sleep) == 2
    assert whole_on(other, tmp_path / "alone") == desk.ids
