"""A transport of pipes and processes, enough for the agent: here, or behind a command like ssh."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence

from scratchflow.process.child import Completed
from scratchflow.ssh.transport.base import Feed, Stream, Transport


class ProcessStream(Stream):
    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, *, hold_stdin: bool) -> None:
        self.process = process
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(stdin)
            process.stdin.flush()
            if not hold_stdin:
                process.stdin.close()
        self._drain = threading.Thread(target=self._read_stderr)
        self._drain.start()

    def __next__(self) -> bytes:
        assert self.process.stdout
        if line := self.process.stdout.readline():
            return line.removesuffix(b"\n")
        self.returncode = self.process.wait()
        self._drain.join()
        raise StopIteration

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._drain.join()

    def _read_stderr(self) -> None:
        assert self.process.stderr
        with self.process.stderr as stderr:
            self.stderr_tail = stderr.read()[-4096:]


class ProcessTransport(Transport):
    """Commands on this machine; with `through`, on the machine where that command leads."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        through: Sequence[str] = (),
        host: str = "here",
    ) -> None:
        self.host = host
        self._environment = environment
        self._through = list(through)

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        done = subprocess.run(
            self._argv(argv),
            input=stdin or b"",
            env=self._environment,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Completed(done.returncode, done.stdout, done.stderr)

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> ProcessStream:
        if feed is not None:
            raise AssertionError("no test feeds this one")
        process = subprocess.Popen(
            self._argv(argv),
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return ProcessStream(process, stdin, hold_stdin=hold_stdin)

    def describe(self) -> str:
        return "processes (for tests)"

    def _argv(self, argv: Sequence[str]) -> list[str]:
        return [*self._through, shlex.join(argv)] if self._through else list(argv)


def bare_environment(home: object) -> dict[str, str]:
    """What a host has that nobody prepared: a home and a path."""
    return {"HOME": str(home), "PATH": os.defpath, "LANG": "C"}
