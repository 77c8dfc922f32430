"""The mirror holds whole snapshots at every moment, whatever cuts a run off."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scratchflow.cli.transfer_words import mirrored
from scratchflow.model.ages import named
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.transfer import (
    MirrorFailed,
    MirrorForeign,
    MirrorUnset,
    RcloneMissing,
)
from scratchflow.model.events import Event, Progress
from scratchflow.model.requests import DryRun, Prune
from scratchflow.node.mirror.send import mirror_snapshots
from scratchflow.node.progress import Notifier
from scratchflow.node.retention import prune_snapshots
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import Verification, record_verified
from scratchflow.store.mirror import read_state
from tests.contract.node.mirror.conftest import (
    LARGE_BYTES,
    desk_with,
    mirror,
    mirror_files,
    whole_on,
)
from tests.mirrors import SERVED, Server
from tests.unit.conftest import Desk, make_desk

# Each starts rclone several times.

UP_S = 60.0


def state(desk: Desk) -> tuple[list[str], str]:
    """Which snapshots are noted as mirrored, and why the last run failed."""
    found = read_state(desk.place, desk.context.profile.backup.mirror)
    return found.there, found.error


def test_everything_arrives_once_and_can_be_restored_from_the_mirror_alone(
    server: Server, tmp_path: Path
) -> None:
    desk = desk_with(server, tmp_path / "desk")
    desk.backup()
    desk.write("work/README", "changed")
    desk.backup()
    foretold = mirror_snapshots(desk.context, desk.notify, DryRun(dry_run=True))
    assert whole_on(server, tmp_path / "alone") == []
    done = mirror(desk)
    assert done.sent == foretold.sent == desk.ids
    assert done.sent_bytes == foretold.sent_bytes
    assert whole_on(server, tmp_path / "alone") == desk.ids
    assert (mirror_files(server) / "rescue.py").exists()
    assert state(desk) == (desk.ids, "")
    again = mirror(desk)
    assert (again.sent, again.there, again.sent_bytes) == ([], 2, 0)
    desk.write("work/README", "changed again")
    desk.backup()
    assert mirror(desk).sent == desk.ids[2:]
    assert whole_on(server, tmp_path / "alone") == desk.ids


def test_a_server_that_dies_in_the_middle_of_an_archive_leaves_whole_snapshots(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = desk_with(server, tmp_path / "desk")
    desk.backup()
    mirror(desk)
    desk.write("work/large", os.urandom(LARGE_BYTES))
    desk.backup()
    seen: list[int] = []

    def cut(event: Event) -> None:
        if isinstance(event, Progress) and event.bytes_done and not seen:
            server.kill()
            seen.append(event.bytes_done)

    monkeypatch.setenv("RCLONE_BWLIMIT", "8M")
    with pytest.raises(MirrorFailed):
        mirror_snapshots(desk.context, Notifier(cut), DryRun())
    assert seen
    assert whole_on(server, tmp_path / "alone") == desk.ids[:1]
    there, error = state(desk)
    assert there == desk.ids[:1]
    assert error
    desk.write("work/README", "backups go on")
    desk.backup()
    server.start()
    monkeypatch.delenv("RCLONE_BWLIMIT")
    assert mirror(desk).sent == desk.ids[1:]
    assert whole_on(server, tmp_path / "alone") == desk.ids
    assert state(desk) == (desk.ids, "")


def test_an_archive_of_the_right_size_that_no_manifest_names_is_not_believed(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    mirror_files(directory).mkdir(parents=True)
    size = desk.place.archive(snapshot).stat().st_size
    (mirror_files(directory) / f"{snapshot}.tar.lz4").write_bytes(bytes(size))
    (mirror_files(directory) / f"{snapshot}.tar.lz4.abc.partial").write_bytes(b"half")
    mirror(desk)
    assert whole_on(directory, tmp_path / "alone") == [snapshot]
    assert not list(mirror_files(directory).glob("*.partial"))


def test_half_a_manifest_is_sent_again(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    mirror(desk)
    manifest = mirror_files(directory) / f"{snapshot}.json"
    manifest.write_bytes(manifest.read_bytes()[:100])
    assert mirror(desk).sent == [snapshot]
    assert whole_on(directory, tmp_path / "alone") == [snapshot]


def test_what_is_gone_from_the_mirror_is_sent_again(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    mirror(desk)
    (mirror_files(directory) / f"{snapshot}.tar.lz4").unlink()
    assert mirror(desk).sent == [snapshot]
    assert whole_on(directory, tmp_path / "alone") == [snapshot]


def test_pruned_snapshots_stay_and_a_rewritten_archive_leaves_the_mirrors_own_alone(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    kept = os.urandom(9 << 20)
    desk.write("work/large", kept)
    desk.write("work/other", os.urandom(20 << 20))
    first = desk.backup().snapshot or ""
    mirror(desk)
    (desk.work / "other").unlink()
    desk.write("work/README", "second")
    second = desk.backup(allow_shrink=True).snapshot or ""
    before = desk.place.archive(first).stat().st_size
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    assert desk.place.archive(first).stat().st_size < before
    assert mirror(desk).sent == [second]
    assert (mirror_files(directory) / f"{first}.tar.lz4").stat().st_size == before
    assert whole_on(directory, tmp_path / "alone") == [first, second]


def test_a_rewritten_archive_is_enough_for_a_mirror_that_begins_with_it(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.write("work/large", os.urandom(9 << 20))
    desk.write("work/other", os.urandom(20 << 20))
    first = desk.backup().snapshot or ""
    (desk.work / "other").unlink()
    second = desk.backup(allow_shrink=True).snapshot or ""
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    assert mirror(desk).sent == [second]
    assert whole_on(directory, tmp_path / "alone") == [second]
    assert mirror(desk).sent == []


def test_an_archive_that_only_pruned_snapshots_name_there_is_left_alone(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.write("work/large", os.urandom(9 << 20))
    first = desk.backup().snapshot or ""
    desk.write("work/README", "second")
    second = desk.backup().snapshot or ""
    desk.write("work/README", "third")
    third = desk.backup().snapshot or ""
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    assert mirror(desk).sent == [second, third]
    # Cut off before the last manifest: the first archive is there for the second snapshot alone.
    (mirror_files(directory) / f"{third}.json").unlink()
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(second,)))
    assert first in read_catalogue(desk.place).by_id(third).needs
    archive = mirror_files(directory) / f"{first}.tar.lz4"
    changed = archive.stat().st_ctime_ns
    assert mirror(desk).sent == [third]
    assert archive.stat().st_ctime_ns == changed
    assert whole_on(directory, tmp_path / "alone") == [second, third]


def test_a_damaged_snapshot_is_named_and_not_sent(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    desk.place.archive(snapshot).write_bytes(b"short")
    done = mirror(desk)
    assert (done.sent, done.damaged, done.sent_before) == ([], [snapshot], [])
    assert done.exit_code() == SnapshotDamaged.exit_code
    assert whole_on(directory, tmp_path / "alone") == []


def test_one_that_was_sent_and_found_to_be_damaged_later_is_not_called_unsent_nor_there(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    first = desk.backup().snapshot or ""
    desk.write("work/README", "second")
    second = desk.backup(full=True).snapshot or ""
    mirror(desk)
    found = Verification(snapshot=second, time="2026-11-15T09:30:00Z", problem="damaged")
    record_verified(desk.place, [found])
    done = mirror(desk)
    assert (done.sent, done.there, done.damaged, done.sent_before) == ([], 1, [second], [second])
    assert done.exit_code() == SnapshotDamaged.exit_code
    said = "\n".join(mirrored(done))
    assert f"sent before: snapshot {named(second)}" in said
    assert "has the other snapshot already" in said
    assert first not in said


def test_one_whose_manifest_cannot_be_read_is_named(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    mirror(desk)
    desk.write("work/README", "second")
    second = desk.backup().snapshot or ""
    desk.place.manifest(second).unlink()
    desk.place.manifest(second).mkdir()
    done = mirror(desk)
    assert (done.sent, done.there, list(done.unreadable)) == ([], 1, [second])
    assert done.exit_code() == SnapshotDamaged.exit_code
    first, last = mirrored(done)
    assert first.startswith(f"not sent: snapshot {named(second)} cannot be read: ")
    assert last.endswith("has the other snapshot already")


def test_the_mirror_of_another_store_gets_nothing(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    mirror(desk)
    other = desk_with(directory, tmp_path / "other")
    other.backup()
    with pytest.raises(MirrorForeign):
        mirror(other)
    assert whole_on(directory, tmp_path / "alone") == desk.ids


def test_another_archive_of_the_same_name_that_snapshots_need_is_never_replaced(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    mirror(desk)
    archive = mirror_files(directory) / f"{snapshot}.tar.lz4"
    archive.write_bytes(b"of another size")
    done = mirror(desk)
    assert (done.sent, done.blocked) == ([], [snapshot])
    assert archive.read_bytes() == b"of another size"
    assert done.exit_code() == SnapshotDamaged.exit_code


@pytest.mark.parametrize("is_pruned", [False, True])
def test_snapshots_that_need_an_archive_which_is_wrong_there_are_named_and_not_called_there(
    directory: Server, tmp_path: Path, *, is_pruned: bool
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    first = desk.backup().snapshot or ""
    desk.write("work/README", "second")
    second = desk.backup().snapshot or ""
    mirror(desk)
    wrong = mirror_files(directory) / f"{first}.tar.lz4"
    wrong.write_bytes(wrong.read_bytes()[:100])
    desk.write("work/README", "third")
    third = desk.backup().snapshot or ""
    assert first in read_catalogue(desk.place).by_id(third).needs
    if is_pruned:
        prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    blocked = [second, third] if is_pruned else [first, second, third]
    foretold = mirror_snapshots(desk.context, desk.notify, DryRun(dry_run=True))
    for done in (foretold, mirror(desk), mirror(desk)):
        assert (done.sent, done.there, done.blocked) == ([], 0, blocked)
        assert done.exit_code() == SnapshotDamaged.exit_code
    assert not (mirror_files(directory) / f"{third}.json").exists()
    there, error = state(desk)
    assert there == []
    assert wrong.name in error
    assert any(f"rclone deletefile {wrong}" in line for line in mirrored(done))
    for file in done.wrong:  # as it says
        Path(file).unlink()
    assert mirror(desk).sent == blocked
    assert state(desk) == (blocked, "")
    assert mirror(desk).exit_code() == 0
    assert whole_on(directory, tmp_path / "alone") == blocked


@pytest.mark.parametrize("kind", ["link", "directory", "filled directory"])
@pytest.mark.parametrize("suffix", ["tar.lz4", "json"])
def test_what_has_the_name_of_a_file_there_is_named_and_the_other_snapshots_are_sent(
    directory: Server, tmp_path: Path, kind: str, suffix: str
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    first = desk.backup().snapshot or ""
    mirror(desk)
    wrong = mirror_files(directory) / f"{first}.{suffix}"
    wrong.unlink()
    if kind == "link":
        wrong.symlink_to("/etc/passwd")
    else:
        wrong.mkdir()
        if kind == "filled directory":
            (wrong / "file").write_bytes(b"somebody's")
    desk.write("work/README", "second")
    second = desk.backup(full=True).snapshot or ""
    done = mirror(desk)
    assert (done.sent, done.blocked) == ([second], [first])
    assert done.exit_code() == SnapshotDamaged.exit_code
    assert mirror(desk).blocked == [first]
    there, error = state(desk)
    assert there == [second]
    assert wrong.name in error
    said = "\n".join(mirrored(done))
    step = printed_step(said)
    begin = f"rclone moveto {wrong} {wrong}.aside-"
    if kind == "link":
        begin = f"rclone delete --links {wrong.parent} --include '/{wrong.name}{{,.rclonelink}}'"
    assert step.startswith(begin)
    if kind != "link":
        assert step != printed_step("\n".join(mirrored(done))), "a name that may be there already"
    subprocess.run(shlex.split(step), check=True)  # as it says
    again = mirror(desk)
    assert (again.sent, again.exit_code()) == ([first], 0)
    assert whole_on(directory, tmp_path / "alone") == desk.ids
    assert state(desk) == (desk.ids, "")


def printed_step(said: str) -> str:
    """The command in what people read."""
    (step,) = (words for words in said.split("`") if words.startswith("rclone "))
    return step


def test_the_printed_command_leaves_what_a_link_to_a_directory_leads_to(tmp_path: Path) -> None:
    """Over sftp it looks like a directory."""
    server = SERVED["sftp"](tmp_path / "server")
    server.start()
    try:
        desk = desk_with(server, tmp_path / "desk")
        first = desk.backup().snapshot or ""
        mirror(desk)
        thesis = server.files / "thesis"
        thesis.mkdir()
        (thesis / "chapter").write_bytes(b"somebody's")
        wrong = mirror_files(server) / f"{first}.tar.lz4"
        wrong.unlink()
        wrong.symlink_to("../../thesis")
        (step,) = [line for line in mirrored(mirror(desk)) if "`rclone " in line]
        command = step[step.index("`rclone ") + 1 : -1]
        subprocess.run(shlex.split(command), check=True)  # as it says
        assert (thesis / "chapter").read_bytes() == b"somebody's"
        assert mirror(desk).sent == [first]
        assert whole_on(server, tmp_path / "alone") == [first]
    finally:
        server.kill()


@pytest.mark.parametrize("name", ["store.json", "rescue.py"])
def test_a_directory_instead_of_a_file_that_no_snapshot_needs_is_named_and_all_are_sent(
    directory: Server, tmp_path: Path, name: str
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    snapshot = desk.backup().snapshot or ""
    (mirror_files(directory) / name).mkdir(parents=True)
    done = mirror(desk)
    assert (done.sent, done.blocked) == ([snapshot], [])
    assert done.wrong == [f"{mirror_files(directory) / name}/"]
    assert done.exit_code() == SnapshotDamaged.exit_code
    assert name in state(desk)[1]


def test_an_id_on_the_mirror_that_cannot_be_read_is_replaced_with_a_warning(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    mirror(desk)
    (mirror_files(directory) / "store.json").write_text("hello")
    assert "mirror.id_replaced" not in desk.warnings
    mirror(desk)
    assert "mirror.id_replaced" in desk.warnings
    own = (desk.place.directory / "store.json").read_bytes()
    assert (mirror_files(directory) / "store.json").read_bytes() == own


def test_a_mirror_that_is_read_only_is_noted_with_rclones_words(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    directory.files.chmod(0o500)
    if os.access(directory.files, os.W_OK):
        pytest.skip("root may write anywhere")
    with pytest.raises(MirrorFailed, match="permission denied"):
        mirror(desk)
    assert "permission denied" in state(desk)[1]
    directory.files.chmod(0o700)
    mirror(desk)
    assert state(desk) == (desk.ids, "")


def test_without_a_mirror_or_without_rclone_it_says_what_is_missing(
    directory: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(MirrorUnset):
        mirror(make_desk(tmp_path / "plain"))
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    monkeypatch.setattr("scratchflow.node.mirror.target._found", lambda *_: ("", {}))
    with pytest.raises(RcloneMissing):
        mirror(desk)
    assert "no working `rclone`" in state(desk)[1]


def program(desk: Desk, **variables: str) -> subprocess.Popen[bytes]:
    """`snapshots mirror` as a process of its own."""
    config = desk.scratch.parent / "config.toml"
    return subprocess.Popen(
        [sys.executable, "-m", "scratchflow", "--config", config, "snapshots", "mirror"],
        env={**os.environ, "HOME": str(desk.scratch.parent), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def test_two_at_once_take_turns(directory: Server, tmp_path: Path) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.backup()
    both = [program(desk), program(desk)]
    said = [one.communicate()[1] for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert whole_on(directory, tmp_path / "alone") == desk.ids


def test_killed_in_the_middle_it_leaves_no_rclone_and_the_next_run_completes(
    directory: Server, tmp_path: Path
) -> None:
    desk = desk_with(directory, tmp_path / "desk")
    desk.write("work/large", os.urandom(LARGE_BYTES))
    snapshot = desk.backup().snapshot or ""
    running = program(desk, RCLONE_BWLIMIT="1M")
    archive = mirror_files(directory) / f"{snapshot}.tar.lz4"
    wait_until(lambda: archive.exists() and archive.stat().st_size > 0)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    wait_until(lambda: not rclones_at(str(mirror_files(directory))))
    assert whole_on(directory, tmp_path / "alone") == []
    assert archive.stat().st_size < desk.place.archive(snapshot).stat().st_size
    assert mirror(desk).sent == [snapshot]
    assert whole_on(directory, tmp_path / "alone") == [snapshot]


def rclones_at(path: str) -> list[str]:
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in shown.stdout.splitlines() if "rclone copy" in line and path in line]


def wait_until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + UP_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
