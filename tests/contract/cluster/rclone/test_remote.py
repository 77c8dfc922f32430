"""A remote behind a real sshd and behind `rclone serve webdav`, also when it is cut off in the middle."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.cluster.rclone.remote import Remote, beneath
from scratchflow.cluster.rclone.words import is_in_the_way
from scratchflow.model.errors.transfer import MirrorFailed, RcloneMissing
from tests.mirrors import SERVED, Directory, Server, at

# Each starts rclone several times.

# More than the buffers of a connection hold.
LARGE_BYTES = 32 << 20


@pytest.fixture(params=list(SERVED))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    one = SERVED[request.param](tmp_path / "server")
    one.start()
    yield one
    one.kill()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "source"
    directory.mkdir()
    (directory / "small").write_bytes(b"small")
    (directory / "large").write_bytes(os.urandom(LARGE_BYTES))
    return directory


def test_what_is_sent_is_listed_and_read_back(server: Server, source: Path, tmp_path: Path) -> None:
    remote = at(server)
    assert remote.listed() == {}
    remote.send(source, ["small", "large"])
    assert remote.listed() == {"small": 5, "large": LARGE_BYTES}
    whole = (source / "large").read_bytes()
    assert b"".join(remote.pieces("large")) == whole
    assert b"".join(remote.pieces("large", LARGE_BYTES - 7)) == whole[-7:]
    target = tmp_path / "target"
    target.mkdir()
    remote.fetch(["small", "absent"], target)
    assert [file.name for file in target.iterdir()] == ["small"]
    remote.remove("large")
    assert remote.listed() == {"small": 5}


def test_a_file_that_is_there_is_never_replaced(server: Server, source: Path) -> None:
    remote = at(server)
    remote.send(source, ["small"])
    (source / "small").write_bytes(b"something else")
    failed = remote.send(source, ["small", "large"])
    assert list(failed) == ["small"]
    assert is_in_the_way(failed["small"])
    assert b"".join(remote.pieces("small")) == b"small"
    assert remote.listed() == {"small": 5, "large": LARGE_BYTES}


def test_a_server_that_dies_while_it_is_sent_to_is_an_error_and_can_be_used_again(
    server: Server, source: Path
) -> None:
    slowly = at(server, RCLONE_BWLIMIT="8M")
    seen: list[int] = []

    def cut(done: int) -> None:
        if done and not seen:
            server.kill()
        seen.append(done)

    try:
        failed = slowly.send(source, ["large"], cut)
    except MirrorFailed:
        failed = {"large": "rclone named no file"}
    assert list(failed) == ["large"]
    assert seen
    server.start()
    remote = at(server)
    if "large" in remote.listed():
        remote.remove("large")
    remote.send(source, ["large"])
    assert b"".join(remote.pieces("large")) == (source / "large").read_bytes()


def test_a_server_that_dies_while_it_is_read_from_is_no_end_of_the_file(
    server: Server, source: Path
) -> None:
    at(server).send(source, ["large"])
    pieces = at(server, RCLONE_BWLIMIT="8M").pieces("large")
    next(pieces)
    server.kill()
    with pytest.raises(MirrorFailed):
        list(pieces)


def test_a_place_that_is_away_is_told_in_rclones_words(server: Server) -> None:
    server.kill()
    with pytest.raises(MirrorFailed, match="connection refused"):
        at(server).listed()


def test_a_place_that_cannot_be_written_to_is_told_in_rclones_words(
    tmp_path: Path, source: Path
) -> None:
    server = Directory(tmp_path / "server")
    server.files.chmod(0o500)
    if os.access(server.files, os.W_OK):
        pytest.skip("root may write anywhere")
    assert "permission denied" in at(server).send(source, ["small"])["small"]


def test_what_is_sent_to_a_directory_of_this_machine_is_for_its_owner_alone(
    tmp_path: Path, source: Path
) -> None:
    server = Directory(tmp_path / "server")
    (source / "small").chmod(0o644)
    assert at(server).send(source, ["small"]) == {}
    made = Path(server.remote)
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / "small").stat().st_mode & 0o777 == 0o600


def test_a_remote_that_nobody_configured_is_told_in_rclones_words() -> None:
    remote = Remote(directory="absent:x", program="rclone", environment=os.environ)
    with pytest.raises(MirrorFailed, match="didn't find section in config file"):
        remote.listed()


def test_without_rclone_it_says_what_to_install(tmp_path: Path) -> None:
    remote = Remote(directory="box:x", program=str(tmp_path / "rclone"), environment=os.environ)
    with pytest.raises(RcloneMissing, match="No such file"):
        remote.listed()
    with pytest.raises(RcloneMissing, match="No such file"):
        remote.send(tmp_path, ["a"])


def test_the_top_of_a_remote_has_no_slash_before_a_name() -> None:
    assert [beneath(top, "a") for top in ("box:", "box:b", "/mnt/")] == [
        "box:a",
        "box:b/a",
        "/mnt/a",
    ]
