"""Where a session lives is noted in the home that login hosts share; a note that is none says nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from scratchflow.cluster.tmux.host import (
    SessionNote,
    forget_session,
    note_session,
    read_session_note,
)

NOTE = SessionNote(host="login2.example", session="work")


def test_what_was_noted_last_is_read_for_its_profile_alone(tmp_path: Path) -> None:
    note_session(tmp_path, "aws", SessionNote(host="login1", session="old"))
    note_session(tmp_path, "aws", NOTE)
    assert read_session_note(tmp_path, "aws") == NOTE
    assert read_session_note(tmp_path, "uni") is None
    (file,) = (tmp_path / ".local/share/scratchflow/tmux").iterdir()
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_session_that_ended_is_forgotten_also_twice(tmp_path: Path) -> None:
    note_session(tmp_path, "aws", NOTE)
    forget_session(tmp_path, "aws")
    forget_session(tmp_path, "aws")
    assert read_session_note(tmp_path, "aws") is None


@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b'{"host": 7, "session": "s"}', b'{"host": "h"}', b"\xff\0"]
)
def test_a_damaged_note_is_no_note(tmp_path: Path, content: bytes) -> None:
    note_session(tmp_path, "aws", NOTE)
    (file,) = (tmp_path / ".local/share/scratchflow/tmux").iterdir()
    file.write_bytes(content)
    assert read_session_note(tmp_path, "aws") is None
    note_session(tmp_path, "aws", NOTE)
    assert read_session_note(tmp_path, "aws") == NOTE


def test_a_field_of_a_newer_version_is_passed_over(tmp_path: Path) -> None:
    note_session(tmp_path, "aws", NOTE)
    (file,) = (tmp_path / ".local/share/scratchflow/tmux").iterdir()
    file.write_bytes(file.read_bytes().replace(b"{", b'{"later":1,', 1))
    assert read_session_note(tmp_path, "aws") == NOTE
