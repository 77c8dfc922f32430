"""A running `salloc`, wherever it runs: the seam, and the one that needs no tmux."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from scratchflow.cluster.command import CommandMissing

STOP_S = 5.0
"""How long a `salloc` gets to withdraw its request by itself before it is killed."""

# Left to wait after we have gone; referred to here so that nobody complains of a lost process.
_left_running: list[subprocess.Popen[bytes]] = []


class Holder(Protocol):
    """Starts one `salloc` and can stop it again. What it holds, Slurm alone knows."""

    def start(self, argv: Sequence[str]) -> None:
        """Starts it; CommandMissing or TmuxFailed when that is impossible."""

    def said(self) -> str:
        """All that it has written so far; empty before the start."""

    def exit_code(self) -> int | None:
        """None while it runs; above 0 also when it is gone and left no code."""

    def stop(self) -> None:
        """Ends it, if it runs, and returns when it is gone. It may leave its job behind."""

    def leave(self) -> None:
        """Lets it run on without us."""


class DirectHolder:
    """`salloc` as a process of ours in a session of its own: nobody's terminal ends it.

    For `hold = "detached"` without tmux. What it says goes to a file without a name, so that it can
    go on writing when we are gone, and nothing is left to clean up.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._output = -1

    def start(self, argv: Sequence[str]) -> None:
        import tempfile  # only where something is started

        with tempfile.TemporaryFile() as output:
            try:
                self._process = subprocess.Popen(
                    argv,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except (FileNotFoundError, PermissionError) as error:
                raise CommandMissing(argv[0]) from error
            self._output = os.dup(output.fileno())

    def said(self) -> str:
        if self._output < 0:
            return ""
        size = os.fstat(self._output).st_size
        return os.pread(self._output, size, 0).decode("utf-8", "surrogateescape")

    def exit_code(self) -> int | None:
        code = self._process.poll() if self._process else None
        return 128 - code if code is not None and code < 0 else code

    def stop(self) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def leave(self) -> None:
        if self._process is not None and self._process.poll() is None:
            _left_running.append(self._process)
        self._close()

    def _close(self) -> None:
        if self._output >= 0:
            os.close(self._output)
            self._output = -1
