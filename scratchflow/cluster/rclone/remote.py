"""A directory of a remote that rclone reaches: listed, sent to, read from.

When we are killed, rclone ends within a second: it meets a pipe that nobody reads.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from scratchflow.cluster.rclone.words import (
    NO_DIRECTORY,
    bytes_done,
    complaint,
    file_complaint,
    read_listing,
)
from scratchflow.model.errors.transfer import MirrorFailed, RcloneMissing
from scratchflow.process.child import ChildTimedOut, Completed, end_child, run_child

DIRECTORY = -1
"""What is listed instead of a size."""

_SHORT_S = 180.0
_PIECE_BYTES = 1 << 20
_LAST_LINES = 50
_WORDS_BYTES = 1 << 16
# We try again ourselves, after a while; nobody is there to type a password.
_COMMON = (
    *("--retries", "1", "--low-level-retries", "3", "--contimeout", "20s", "--timeout", "2m"),
    *("--ask-password=false", "--use-json-log", "--log-level", "NOTICE"),
)
# Several streams into one file would leave one of full length when they are cut.
_SENDING = ("--immutable", "--multi-thread-streams", "0", "--no-traverse")
# For a mirror in a directory of this machine: as private as the store.
_PRIVATE = 0o077
_STATS = ("--stats", "1s", "--stats-log-level", "NOTICE")


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """One directory, like `box:backup/work`, and the rclone that knows the way there."""

    directory: str
    program: str
    environment: Mapping[str, str]

    def listed(self) -> dict[str, int]:
        """What lies in it, with the sizes of files and DIRECTORY for a directory; nothing when there is no such directory."""
        done = self._done(["lsjson", "--no-modtime", "--no-mimetype", self._all()])
        if done.returncode == NO_DIRECTORY:
            return {}
        self._require(done)
        try:
            return read_listing(done.stdout)
        except ValueError as error:
            raise self._failed(str(error)) from None

    def send(
        self, source: Path, names: Sequence[str], on_bytes: Callable[[int], None] = lambda _: None
    ) -> dict[str, str]:
        """Copies these files into it; returns those that could not be copied, with rclone's words. MirrorFailed when it names none.

        One that is there with another content is never replaced. Killed in between, a file may be there in part.
        """
        with _list_of(names) as listing:
            words = ["copy", *_SENDING, *_STATS, "--files-from-raw", listing]
            return self._run_on([*words, str(source), self._all()], on_bytes, about=names)

    def fetch(self, names: Sequence[str], target: Path) -> None:
        """Copies these small files from it; those that are not there are passed over."""
        with _list_of(names) as listing:
            words = ["copy", "--no-traverse", "--files-from-raw", listing]
            self._run_on([*words, self._all(), str(target)], lambda _: None)

    def remove(self, name: str) -> None:
        """Deletes one file."""
        done = self._done(["deletefile", self._file(name)])
        if done.returncode != 0:
            raise self._failed(f"{name}: {complaint(done.stderr.splitlines())}")

    def pieces(self, name: str, offset: int = 0) -> Iterator[bytes]:
        """The content of a file from `offset` on; MirrorFailed at the end when not all of it came."""
        with tempfile.TemporaryFile() as said:
            words = ["cat", "--offset", str(offset), self._file(name)]
            process = self._started(words, stdout=subprocess.PIPE, stderr=said)
            try:
                while piece := process.stdout.read(_PIECE_BYTES) if process.stdout else b"":
                    yield piece
                process.wait()
            finally:
                end_child(process)
            if process.returncode != 0:
                said.seek(0)
                raise self._failed(complaint(said.read(_WORDS_BYTES).splitlines()))

    def _run_on(
        self,
        words: Sequence[str],
        on_bytes: Callable[[int], None],
        about: Collection[str] = (),
    ) -> dict[str, str]:
        """Runs it for as long as it takes; rclone itself gives up on a line that is dead. Returns which of `about` failed, and why."""
        failed: dict[str, str] = {}
        process = self._started(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        last: deque[bytes] = deque(maxlen=_LAST_LINES)
        try:
            for line in process.stderr or ():
                done = bytes_done(line)
                if done is not None:
                    on_bytes(done)
                    continue
                last.append(line)
                if (said := file_complaint(line)) and said[0] in about:
                    failed[said[0]] = said[1]
            process.wait()
        finally:
            end_child(process)
        if process.returncode != 0 and not failed:
            raise self._failed(complaint(last))
        # A copy that failed may have been repeated, with success.
        return failed if process.returncode != 0 else {}

    def _done(self, words: Sequence[str]) -> Completed:
        try:
            return run_child(
                self._argv(words), timeout_s=_SHORT_S, environment=dict(self.environment)
            )
        except ChildTimedOut:
            raise self._failed(f"rclone gave no answer within {_SHORT_S:g} s") from None
        except OSError as error:
            raise self._missing(error) from None

    def _started(
        self, words: Sequence[str], *, stdout: int, stderr: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._argv(words),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=dict(self.environment),
                start_new_session=True,
                umask=_PRIVATE,
            )
        except OSError as error:
            raise self._missing(error) from None

    def _argv(self, words: Sequence[str]) -> list[str]:
        command, *rest = words
        return [self.program, command, *_COMMON, *rest]

    def _require(self, done: Completed) -> None:
        if done.returncode != 0:
            raise self._failed(complaint(done.stderr.splitlines()))

    def _all(self) -> str:
        return self.directory

    def _file(self, name: str) -> str:
        return beneath(self.directory, name)

    def _failed(self, words: str) -> MirrorFailed:
        return MirrorFailed(mirror=self.directory, words=words or "rclone failed without a word")

    def _missing(self, error: OSError) -> RcloneMissing:
        return RcloneMissing(program=self.program, reason=error.strerror or str(error))


def beneath(directory: str, name: str) -> str:
    """The path of a name in a directory as rclone writes it: `box:` has no slash after it."""
    return f"{directory}{name}" if directory.endswith((":", "/")) else f"{directory}/{name}"


@contextmanager
def _list_of(names: Sequence[str]) -> Iterator[str]:
    """A file with these names, one a line."""
    with tempfile.NamedTemporaryFile("w", prefix="scratchflow-", suffix=".list") as file:
        file.write("".join(f"{name}\n" for name in names))
        file.flush()
        yield file.name
