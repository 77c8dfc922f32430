"""The end on the node: it says that it is there, connects, and ends with its input or its server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from scratchflow.flows.serve.keeper import remark_in
from scratchflow.reach.tunnel.far_end import (
    MARK,
    REMARK,
    WORD,
    Target,
    connect,
    is_there,
    remark_on,
)
from scratchflow.reach.tunnel.frames import DATA, END, HEAD, OPEN, Frames, frame


@pytest.fixture
def path() -> Iterator[str]:
    """A socket that somebody listens on."""
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{directory}/s")
        server.listen()
        threaded = server.dup()
        yield f"{directory}/s"
        threaded.close()


def test_it_answers_with_the_token_then_carries_until_its_input_ends() -> None:
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{directory}/s")
        server.listen()
        argv = [sys.executable, "-m", "scratchflow", WORD]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            target = {"token": "abc", "socket": f"{directory}/s"}
            process.stdin.write(json.dumps(target).encode() + b"\n" + frame(OPEN, 1))
            process.stdin.write(frame(DATA, 1, b"question") + frame(END, 1))
            process.stdin.flush()
            assert process.stdout.readline() == MARK + b"abc\n"
            connection, _ = server.accept()
            with connection:
                assert connection.recv(100) == b"question"
                connection.sendall(b"answer")
            said = process.stdout.read(2 * HEAD.size + len(b"answer"))
            frames = [(*one, bytes(text)) for *one, text in Frames().take(said)]
            process.stdin.close()
        assert process.returncode == 0
    assert frames == [(DATA, 1, b"answer"), (END, 1, b"")]


def test_a_socket_that_is_missing_is_remarked_before_the_first_line(path: str) -> None:
    argv = [sys.executable, "-m", "scratchflow", WORD]
    target = json.dumps({"token": "abc", "socket": f"{path}-missing"}).encode() + b"\n"
    said = subprocess.run(argv, input=target, stdout=subprocess.PIPE, check=True).stdout
    remark, first, _ = said.split(b"\n", 2)
    assert remark == REMARK + b"abc cannot be opened there now (No such file or directory)"
    assert first + b"\n" == MARK + b"abc\n"
    assert remark_in(b"Welcome!\n" + said, "abc") == remark_on(
        Target(token="", socket=f"{path}-missing")
    )
    assert remark_in(said, "abd") == ""


def test_a_socket_of_another_user_and_a_file_are_remarked(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert remark_on(Target(token="", socket=path)) == ""
    assert remark_on(Target(token="", port=80)) == ""
    assert remark_on(Target(token="", socket="/etc/passwd")) == "is no socket there"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "not to you" in remark_on(Target(token="", socket=path))
    assert remark_on(Target(token="", socket=path, ends_with_server=True)) == ""


def test_a_port_of_either_loopback_is_reached() -> None:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as server:
            try:
                server.bind((host, 0))
            except OSError:
                pytest.skip("no IPv6 on this machine")
            server.listen()
            connect(Target(token="", port=server.getsockname()[1])).close()


def test_nobody_there_is_an_error(path: str) -> None:
    connect(Target(token="", socket=path)).close()
    with pytest.raises(OSError, match="No such file"):
        connect(Target(token="", socket=f"{path}-missing"))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match="refused"):
            connect(Target(token="", port=unused.getsockname()[1]))


def test_a_full_queue_is_told_apart(path: str) -> None:
    held = []

    def fill() -> None:
        while True:
            held.append(connect(Target(token="", socket=path)))

    with pytest.raises(BlockingIOError):
        fill()
    for connection in held:
        connection.close()


def test_whether_the_server_is_there_is_seen_without_asking_it(path: str) -> None:
    assert is_there(Target(token="", socket=path, ends_with_server=True))
    assert not is_there(Target(token="", socket=f"{path}-missing", ends_with_server=True))
    assert is_there(Target(token="", socket=f"{path}-missing"))
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        target = Target(token="", port=server.getsockname()[1], ends_with_server=True)
        assert not is_there(target)
        server.listen()
        assert is_there(target)
