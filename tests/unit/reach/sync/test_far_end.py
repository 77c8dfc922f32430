"""What runs beside unison: it starts any program in its place, and ends it when nobody listens any more."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from scratchflow.process.waiting import looks
from scratchflow.reach.sync.frames import (
    DATA,
    END,
    GONE,
    MARK,
    OPEN,
    PEER,
    TEXT,
    Ended,
    Frames,
    Start,
    frame,
)

TOKEN = "abc"  # noqa: S105 - of no secret


class Far:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self.process, self.stdin, self.stdout = process, process.stdin, process.stdout
        self._frames = Frames()
        self._kept: list[tuple[int, int, bytes]] = []

    def send(self, kind: int, stream: int, content: bytes = b"") -> None:
        self.stdin.write(frame(kind, stream, content))
        self.stdin.flush()

    def next(self, kind: int, stream: int) -> bytes:
        """The content of the next frame of this kind; others are kept for later."""
        while True:
            for place, (found_kind, found_stream, content) in enumerate(self._kept):
                if (found_kind, found_stream) == (kind, stream):
                    del self._kept[place]
                    return content
            piece = os.read(self.stdout.fileno(), 65536)
            assert piece, "it ended"
            self._kept += [(one, two, bytes(three)) for one, two, three in self._frames.take(piece)]

    def ended(self) -> Ended:
        return msgspec.json.decode(self.next(GONE, TEXT), type=Ended)


@contextmanager
def far_end(home: Path, words: list[str], *, leads: bool = False) -> Iterator[Far]:
    start = Start(token=TOKEN, words=words, leads=leads, variables={"SF_TEST": "given"})
    environment = {**os.environ, "HOME": str(home)}
    environment.pop("UNISON", None)
    with subprocess.Popen(
        [sys.executable, "-m", "scratchflow", "sync-end"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        far = Far(process)
        far.stdin.write(msgspec.json.encode(start) + b"\n")
        far.stdin.flush()
        assert far.stdout.readline() == MARK + TOKEN.encode() + b"\n"
        yield far
        far.stdin.close()
        far.stdout.close()


@pytest.mark.slow
def test_the_other_unison_hears_and_is_heard(tmp_path: Path) -> None:
    with far_end(tmp_path, ["sh", "-c", "echo oops >&2; echo $SF_TEST; exec cat"]) as far:
        assert far.next(DATA, PEER) == b"given\n"
        assert far.next(DATA, TEXT) == b"oops\n"
        far.send(DATA, PEER, b"hello")
        assert far.next(DATA, PEER) == b"hello"
        far.send(END, PEER)
        assert far.ended() == Ended(code=0)


def test_the_first_unison_has_a_terminal_and_what_it_takes_for_ssh(tmp_path: Path) -> None:
    """The last word is the program that leads to the other."""
    script = 'read word; echo "heard $word"; echo hello | "$2" aws -e none unison -server new'
    with far_end(tmp_path, ["sh", "-c", script, "sh"], leads=True) as far:
        far.send(DATA, TEXT, b"yes\n")
        assert far.next(DATA, TEXT) == b"heard yes\n"
        words = msgspec.json.decode(far.next(OPEN, PEER), type=list[str])
        assert words == ["aws", "-e", "none", "unison", "-server", "new"]
        assert far.next(DATA, PEER) == b"hello\n"
        far.send(DATA, PEER, b"an answer\n")
        assert far.next(DATA, TEXT) == b"an answer\n"
        far.send(END, PEER)
        assert far.ended() == Ended(code=0)


def test_it_ends_unison_when_the_near_end_is_gone(tmp_path: Path) -> None:
    with far_end(tmp_path, ["sh", "-c", "echo $$; exec cat"]) as far:
        unison = int(far.next(DATA, PEER))
    for _ in looks(10, 0.05):
        if not Path(f"/proc/{unison}").exists():
            return
    raise AssertionError("unison still runs")


def test_the_exit_code_is_said(tmp_path: Path) -> None:
    with far_end(tmp_path, ["sh", "-c", "exit 3"]) as far:
        assert far.ended().code == 3


def test_the_files_that_it_makes_are_the_users_alone(tmp_path: Path) -> None:
    with far_end(tmp_path, ["true"], leads=True) as far:
        far.ended()
    relay = tmp_path / ".local/share/scratchflow/sync/relay"
    assert relay.stat().st_mode & 0o777 == 0o700
    assert relay.parent.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / ".unison/scratchflow.prf").exists()
