"""What rclone 1.60 prints, as it was seen."""

from __future__ import annotations

import pytest

from scratchflow.cluster.rclone.words import (
    bytes_done,
    complaint,
    file_complaint,
    is_in_the_way,
    read_listing,
)

STATS = b'{"level":"warning","msg":"\\nTransferred: 2","stats":{"bytes":3000003,"errors":0}}\n'
MISMATCH = b'{"level":"error","msg":"Source and destination exist but do not match: immutable file modified","object":"b"}\n'
NOTE = b'{"level":"warning","msg":"Config file not found - using defaults"}\n'
FAILED = b"2026/11/16 21:31:55 Failed to copy: immutable file modified\n"


def test_a_listing_gives_names_and_sizes() -> None:
    printed = b'[\n{"Path":"a","Name":"a","Size":3,"ModTime":"","IsDir":false}\n]\n'
    assert read_listing(printed) == {"a": 3}
    assert read_listing(b"") == {}
    with pytest.raises(ValueError, match="cannot be read"):
        read_listing(b"[")


def test_progress_is_in_the_lines_with_stats_alone() -> None:
    assert [bytes_done(line) for line in (STATS, NOTE, FAILED)] == [3000003, None, None]


def test_the_last_complaint_counts_without_its_time_stamp() -> None:
    assert complaint([NOTE, FAILED]) == "Failed to copy: immutable file modified"
    assert complaint([MISMATCH, NOTE, STATS]).startswith("b: Source and destination")
    assert (
        complaint([b"2026/11/16 21:31:55 ERROR : a: permission denied"]) == "a: permission denied"
    )
    assert complaint([NOTE]) == ""


def test_a_complaint_about_a_file_is_worth_more_than_the_summary() -> None:
    assert complaint([NOTE, MISMATCH, FAILED]).startswith("b: Source and destination")
    assert [file_complaint(line) for line in (NOTE, FAILED, STATS, b"x")] == [None] * 4
    name, words = file_complaint(MISMATCH) or ("", "")
    assert name == "b"
    assert is_in_the_way(words)


def test_what_is_no_utf8_and_no_json_is_shown_all_the_same() -> None:
    assert complaint([b"\xff\n"]) == "\ufffd"
