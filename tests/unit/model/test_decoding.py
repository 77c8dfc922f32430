"""Whatever lies in a file of JSON, one error says that it cannot be read."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.model.decoding import decoded


class Note(msgspec.Struct):
    """As those of the store."""

    id: str


JUNK = [
    b"",
    b"null",
    b"not JSON",
    b"\x00\xff\xfe",
    b'{"id": 7}',
    b'{"id": "\xff"}',
    b'{"other": ' + b"[" * 60_000,
    b'{"id": "' + b"a" * 200_000,
]


@pytest.mark.parametrize("content", JUNK, ids=range(len(JUNK)))
def test_junk_is_always_the_same_error(content: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decoded(content, Note)


def test_what_is_right_is_read() -> None:
    assert decoded(b'{"id": "x", "more": [1]}', Note).id == "x"
