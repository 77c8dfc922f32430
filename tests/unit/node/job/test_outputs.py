"""What a job has made, sent and put elsewhere: the same bytes, and nothing is overwritten."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.jobs import OutputsDiffer
from scratchflow.model.errors.transfer import FileFailed
from scratchflow.model.events import Data, Event
from scratchflow.model.requests import PutOutputs
from scratchflow.node.job.outputs import put_in, put_outputs, send_outputs, unpack
from scratchflow.node.progress import Notifier
from scratchflow.store.directory import find_place
from scratchflow.store.jobs.outputs import Output
from scratchflow.store.jobs.records import make_job_directory
from tests.unit.conftest import Desk
from tests.unit.store.jobs.test_outputs import JOB


def sent(tmp_path: Path, *files: Path) -> tuple[Path, str]:
    """The tar that was sent, and the digest that was told."""
    events: list[Event] = []
    found = [Output(file.name, file, 0, 0) for file in files]
    sha256 = send_outputs(found, events.append)
    content = b"".join(event.content for event in events if isinstance(event, Data))
    assert hashlib.sha256(content).hexdigest() == sha256
    archive = tmp_path / "received.tar"
    archive.write_bytes(content)
    return archive, sha256


def test_odd_names_links_times_and_large_files_arrive_as_they_were(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff " + b"x" * 150))
    large, link = tmp_path / "large", tmp_path / "link"
    odd.write_bytes(b"odd")
    large.write_bytes(os.urandom(1_000_000))
    os.utime(large, (1_700_000_000, 1_700_000_000))
    large.chmod(0o700)
    link.symlink_to("/nowhere")
    room = tmp_path / "room"
    names = unpack(sent(tmp_path, odd, large, link)[0], room)
    assert names == [odd.name, "large", "link"]
    assert (room / odd.name).read_bytes() == b"odd"
    assert (room / "large").read_bytes() == large.read_bytes()
    assert (room / "large").stat().st_mtime == 1_700_000_000
    assert os.access(room / "large", os.X_OK)
    assert os.readlink(room / "link") == "/nowhere"


def test_a_file_with_holes_takes_no_more_room_there(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("xb") as file:
        file.write(b"begin")
        file.truncate(8 << 20)
    room = tmp_path / "room"
    unpack(sent(tmp_path, sparse)[0], room)
    assert (room / "sparse").read_bytes() == sparse.read_bytes()
    assert (room / "sparse").stat().st_blocks * 512 < 1 << 20


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x"])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "bad.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(StreamBroken):
        unpack(archive, tmp_path / "room")


def fill(room: Path) -> list[str]:
    (room / "a").write_text("new")
    (room / "b").write_text("other")
    return ["a", "b"]


def test_a_second_time_there_is_nothing_to_write(tmp_path: Path) -> None:
    target = tmp_path / "job-41"
    first, second = put_in(target, fill), put_in(target, fill)
    assert (first.written_files, first.written_bytes, first.same_files) == (2, 8, 0)
    assert (second.written_files, second.same_files) == (0, 2)
    assert sorted(os.listdir(target)) == ["a", "b"]


def test_a_file_that_differs_stays_and_nothing_else_is_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(OutputsDiffer, match=r"made 1 file: `a`; nothing was changed"):
        put_in(tmp_path, fill)
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "mine"


def test_what_an_earlier_call_brought_grows_with_the_job_unless_it_was_changed_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    target = tmp_path / "job-41"

    def longer(room: Path) -> list[str]:
        (room / "a").write_text("new and more")
        return ["a"]

    put_in(target, fill)
    done = put_in(target, longer)
    assert (done.written_files, done.same_files, (target / "a").read_text()) == (
        1,
        0,
        "new and more",
    )
    (target / "a").write_text("mine")
    with pytest.raises(OutputsDiffer):
        put_in(target, longer)
    assert (target / "a").read_text() == "mine"


def test_a_dry_run_makes_nothing(tmp_path: Path) -> None:
    assert put_in(tmp_path / "new", fill, dry_run=True).dry_run
    assert not (tmp_path / "new").exists()


def test_a_target_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileFailed):
        put_in(tmp_path / "file", fill)


def test_on_the_node_they_are_put_into_a_directory_of_the_job(desk: Desk, tmp_path: Path) -> None:
    place = find_place(desk.context.store, desk.context.workspace.name)
    desk.backup()
    where = make_job_directory(place, JOB)
    file = where.outputs(0) / "outputs" / "result.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    asked = PutOutputs(job=JOB.id, to=str(tmp_path / "there"))
    done = put_outputs(desk.context, Notifier(lambda _: None), asked)
    assert (tmp_path / "there/job-41/outputs/result.json").read_text() == "{}"
    assert (done.written_files, done.target) == (1, str(tmp_path / "there/job-41"))
