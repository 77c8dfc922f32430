"""What programs get: one line for each event, hello first, one outcome last, no gap."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.errors.config import ConfigMissing
from scratchflow.model.events import (
    Event,
    Hello,
    Item,
    Log,
    Progress,
    Warned,
    path_fields,
)
from scratchflow.model.results.base import VersionShown
from scratchflow.report.jsonl import JsonLines

RESULT = VersionShown(version="1")

HELLO = Hello(version="1", pid=1, host="h", role="laptop")


class Lines:
    """A JsonLines reporter whose lines are kept, with a clock that is set by hand."""

    def __init__(self, *, verbose: bool = False) -> None:
        self.raw: list[bytes] = []
        self.now_s = 100.0
        self.reporter = JsonLines(
            hello=HELLO,
            write=self.raw.append,
            timestamp=lambda: "2026-01-01T00:00:00.000Z",
            monotonic=lambda: self.now_s,
            uninterrupted=nullcontext,
            verbose=verbose,
        )

    @property
    def parsed(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw]

    @property
    def types(self) -> list[str]:
        return [line["type"] for line in self.parsed]


def test_hello_comes_first_and_summary_last_with_no_gap_in_seq() -> None:
    lines = Lines()
    lines.reporter.begin("backup")
    lines.reporter.emit(Warned(code="files.changed", message="m", path="p"))
    assert lines.reporter.succeed(RESULT, []) == 101
    assert lines.types == ["hello", "warning", "summary"]
    assert [line["seq"] for line in lines.parsed] == [0, 1, 2]
    assert {line["op"] for line in lines.parsed} == {"backup"}
    assert lines.parsed[-1]["exit_code"] == 101
    assert lines.parsed[-1]["warnings"] == 1


def test_a_failure_before_the_verb_is_known_still_says_hello() -> None:
    lines = Lines()
    assert lines.reporter.fail(ConfigMissing(path="x")) == 10
    assert lines.types == ["hello", "error"]
    assert lines.parsed[-1]["code"] == "config.missing"


def test_at_most_five_progress_lines_a_second() -> None:
    lines = Lines()
    for tick in range(1000):
        lines.now_s = 100 + tick / 100
        lines.reporter.emit(Progress(phase="read", files_done=tick))
    assert lines.types.count("progress") <= 50


def test_items_and_debug_logs_only_with_verbose() -> None:
    events: list[Event] = [
        Item(action="add", path="p"),
        Log(level="debug", message="d"),
        Log(level="info", message="i"),
    ]
    quiet, verbose = Lines(), Lines(verbose=True)
    for event in events:
        quiet.reporter.emit(event)
        verbose.reporter.emit(event)
    assert quiet.types == ["hello", "log"]
    assert verbose.types == ["hello", "item", "log", "log"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_message_stays_on_one_line_and_reads_back(message: str) -> None:
    lines = Lines()
    lines.reporter.emit(Warned(code="x", message=message))
    assert b"\n" not in lines.raw[-1][:-1]
    assert lines.parsed[-1]["message"] == message


@given(st.binary(min_size=1))
def test_a_path_travels_whatever_its_bytes(path: bytes) -> None:
    lines = Lines(verbose=True)
    lines.reporter.emit(Item(action="add", **path_fields(path)))
    line = lines.parsed[-1]
    assert ("path" in line) != ("path_b64" in line)
