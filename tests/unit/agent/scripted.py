"""A far end that says what the test wrote down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from scratchflow import __version__
from scratchflow.agent.request import Request, asking
from scratchflow.ssh.transport.base import Feed, Stream, Transport


class ScriptedStream(Stream):
    def __init__(
        self,
        lines: Iterable[bytes],
        *,
        returncode: int = 0,
        stderr: bytes = b"",
        breaks_with: Exception | None = None,
    ) -> None:
        self._lines = iter(lines)
        self._ends_with = returncode
        self._breaks_with = breaks_with
        self.stderr_tail = stderr
        self.closed = False

    def __next__(self) -> bytes:
        for line in self._lines:
            return line
        if self._breaks_with:
            raise self._breaks_with
        self.returncode = self._ends_with
        raise StopIteration

    def close(self) -> None:
        self.closed = True


class ScriptedTransport(Transport):
    """Gives one stream after the other, and remembers what it was asked."""

    host = "login"

    def __init__(self, *streams: ScriptedStream) -> None:
        self._streams = list(streams)
        self.asked: list[tuple[list[str], bytes, bool]] = []
        self.fed = b""

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> ScriptedStream:
        self.fed = b"".join(feed or ())
        self.asked.append((list(argv), stdin, hold_stdin))
        return self._streams[len(self.asked) - 1]

    def describe(self) -> str:
        return "what the test wrote down"

    def run(self, argv: Sequence[str], **_: Any) -> Any:
        raise AssertionError(f"{argv}: an agent is streamed")


def hello(version: str = __version__, **changed: Any) -> dict[str, Any]:
    return {"type": "hello", "version": version, "pid": 7, "host": "n1", "role": "node"} | changed


def summary(**data: Any) -> dict[str, Any]:
    return {"type": "summary", "data": data, "warnings": 0, "exit_code": 0}


def failure(code: str, **changed: Any) -> dict[str, Any]:
    return {
        "type": "error",
        "code": code,
        "message": "it {broke}",
        "hint": "mend {it}",
        "retryable": True,
        "exit_code": 34,
    } | changed


def said(*events: dict[str, Any]) -> list[bytes]:
    """The events in their envelopes, as an agent writes them."""
    envelope = {"v": 1, "ts": "2026-11-15T09:30:00.000Z", "op": "backup"}
    return [
        json.dumps({"v": 1, "seq": seq, **envelope, **event}, separators=(",", ":")).encode()
        for seq, event in enumerate(events)
    ]


def a_request(**changed: Any) -> Request:
    return asking("backup", {}, profile_name="p", profile={}, **changed)
