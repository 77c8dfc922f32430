"""What the agent's room needs of a transport. `scratchflow.ssh.transport.base` has it and more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


class FarCompleted(Protocol):
    """A command that ended by itself."""

    @property
    def returncode(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...


class FarStream(Protocol):
    """The lines of a running command's stdout, without their ends.

    After the last one `returncode` and `stderr_tail` are set. A connection that breaks raises
    `ConnectionLost` from the iteration. Closing lets the far command meet the end of its input.
    """

    @property
    def returncode(self) -> int | None: ...
    @property
    def stderr_tail(self) -> bytes: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def close(self) -> None: ...


class Far(Protocol):
    """A host where commands can be run."""

    @property
    def host(self) -> str: ...

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> FarCompleted: ...

    def stream(
        self, argv: Sequence[str], *, stdin: bytes = b"", hold_stdin: bool = False
    ) -> FarStream: ...
