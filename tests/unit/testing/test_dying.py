"""A process that is to die at a call dies exactly there, with what it did before it on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.testing.dying import run_and_die


def two_files(folder: Path) -> None:
    for name in ("first", "second"):
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"0123456789")
        os.close(descriptor)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_call_is_a_place_to_die_and_the_last_one_is_the_end(tmp_path: Path) -> None:
    seen = []
    for at_call in range(1, 20):
        folder = tmp_path / str(at_call)
        folder.mkdir()
        died = run_and_die(lambda folder=folder: two_files(folder), at_call, "before")  # type: ignore[misc]
        seen.append(contents(folder))
        if not died:
            break
    whole = b"0123456789"
    assert seen == [
        {},
        {"first": b""},
        {"first": whole},
        {"first": whole},
        {"first": whole, "second": b""},
        {"first": whole, "second": whole},
        {"first": whole, "second": whole},
    ]


def test_after_the_call_it_has_happened(tmp_path: Path) -> None:
    assert run_and_die(lambda: two_files(tmp_path), 2, "after")
    assert contents(tmp_path) == {"first": b"0123456789"}


def test_a_torn_write_leaves_half(tmp_path: Path) -> None:
    assert run_and_die(lambda: two_files(tmp_path), 2, "torn")
    assert contents(tmp_path) == {"first": b"0123456789", "second": b"01234"}


def test_an_action_that_fails_by_itself_is_no_death(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(RuntimeError, match="failed by itself"):
        run_and_die(fail, 99, "before")
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_the_calls_of_the_one_who_watches_stay_as_they_are(tmp_path: Path) -> None:
    before = os.write
    run_and_die(lambda: two_files(tmp_path), 1, "before")
    assert os.write is before
