"""Durations and sizes read and print the human way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.units import (
    Duration,
    Span,
    format_duration,
    format_size,
    format_took,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("7d", 604800),
        ("2w", 1209600),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: int) -> None:
    assert Duration.parse(text).seconds == seconds


@pytest.mark.parametrize("text", ["", "30", "m", "30 minutes", "1.5h", "-5m", "5m!", "٣m"])
def test_anything_else_says_what_a_duration_looks_like(text: str) -> None:
    with pytest.raises(ValueError, match="a duration like"):
        Duration.parse(text)


def test_a_span_is_a_duration_or_for_ever() -> None:
    assert Span.parse(" Forever ").seconds is None
    assert str(Span.parse("forever")) == "forever"
    assert Span.parse("30d") == Span(30 * 86400)
    with pytest.raises(ValueError, match="or `forever`"):
        Span.parse("always")


@given(st.integers(min_value=0, max_value=10**9))
def test_a_printed_duration_reads_back_as_itself(seconds: int) -> None:
    assert Duration.parse(format_duration(seconds)).seconds == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.042, "0.04 s"),
        (0.35, "0.35 s"),
        (0.996, "1.0 s"),
        (2.51, "2.5 s"),
        (59.97, "1m"),
        (80.4, "1m20s"),
    ],
)
def test_what_took_less_than_a_second_is_told_apart(seconds: float, text: str) -> None:
    assert format_took(seconds) == text


def test_a_negative_duration_keeps_its_sign() -> None:
    assert format_duration(-90) == "-1m30s"


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("512", 512), ("32G", 32 << 30), ("1.5 GiB", 3 << 29), ("8mb", 8 << 20)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "12X", "1,5G", "-1G", "1e9"])
def test_anything_else_says_what_a_size_looks_like(text: str) -> None:
    with pytest.raises(ValueError, match="a size like"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (10_234, "9.99 KiB"),
        (1_333_000_000, "1.24 GiB"),
        (1023 * 1024, "0.999 MiB"),
        (1024 * 1024 - 1, "1.00 MiB"),
        (5 << 60, "5120 PiB"),
    ],
)
def test_sizes_print_with_three_digits(size: int, text: str) -> None:
    assert format_size(size) == text


@given(st.integers(min_value=1024, max_value=10**18))
def test_a_printed_size_is_within_half_a_percent(size: int) -> None:
    assert abs(parse_size(format_size(size)) - size) <= size * 0.005 + 1
