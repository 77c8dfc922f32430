"""This machine as a transport: what cannot be started is told as a shell would tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.ssh.transport.local import LocalTransport


@pytest.fixture
def broken(tmp_path: Path) -> dict[int, str]:
    """Programs that cannot be started, by the code that a shell gives for them."""
    (tmp_path / "not-executable").write_text("#!/bin/sh\n")
    return {127: str(tmp_path / "gone"), 126: str(tmp_path / "not-executable")}


@pytest.mark.parametrize("code", [126, 127])
def test_a_program_that_cannot_be_started_has_a_shells_code(
    broken: dict[int, str], code: int
) -> None:
    done = LocalTransport().run([broken[code]], timeout_s=20)
    assert done.returncode == code
    assert done.stderr.startswith(broken[code].encode())
    with LocalTransport().stream([broken[code]], stdin=b"x", hold_stdin=True) as lines:
        assert list(lines) == []
        assert (lines.returncode, lines.stderr_tail) == (code, done.stderr)


def test_words_of_any_bytes_arrive_as_they_are() -> None:
    word = b"\xff$HOME `x`\n".decode("utf-8", "surrogateescape")
    done = LocalTransport().run(["printf", "%s", word], timeout_s=20)
    assert done.stdout == b"\xff$HOME `x`\n"


def test_a_missing_program_of_any_name_is_told() -> None:
    name = b"no-\xff-such".decode("utf-8", "surrogateescape")
    assert b"no-\xff-such: no such file" in LocalTransport().run([name], timeout_s=20).stderr


def test_it_is_known_by_the_name_it_was_given() -> None:
    assert LocalTransport("login", "we are there").describe() == "local (we are there)"
    assert LocalTransport("login").host == "login"
