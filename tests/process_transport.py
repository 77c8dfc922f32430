"""A transport of pipes and processes, enough for the agent: here, or behind a command like ssh."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: bytes
    stderr: bytes


class ProcessStream:
    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, *, hold_stdin: bool) -> None:
        self.process = process
        self.returncode: int | None = None
        self.stderr_tail = b""
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(stdin)
            process.stdin.flush()
            if not hold_stdin:
                process.stdin.close()
        self._drain = threading.Thread(target=self._read_stderr)
        self._drain.start()

    def __iter__(self) -> Iterator[bytes]:
        assert self.process.stdout
        for line in self.process.stdout:
            yield line.removesuffix(b"\n")
        self.returncode = self.process.wait()
        self._drain.join()

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


class ProcessTransport:
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

    def run(self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float) -> Done:
        done = subprocess.run(
            self._argv(argv),
            input=stdin or b"",
            env=self._environment,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def stream(
        self, argv: Sequence[str], *, stdin: bytes = b"", hold_stdin: bool = False
    ) -> ProcessStream:
        process = subprocess.Popen(
            self._argv(argv),
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return ProcessStream(process, stdin, hold_stdin=hold_stdin)

    def _argv(self, argv: Sequence[str]) -> list[str]:
        return [*self._through, shlex.join(argv)] if self._through else list(argv)


def bare_environment(home: object) -> dict[str, str]:
    """What a host has that nobody prepared: a home and a path."""
    return {"HOME": str(home), "PATH": os.defpath, "LANG": "C"}
