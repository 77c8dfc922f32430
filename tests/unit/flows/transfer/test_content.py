"""`snapshots cat`: what comes goes to stdout, or into the result, and is all that was sent."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, cast

import pytest

from scratchflow.dispatch.cluster import Caller
from scratchflow.flows.transfer import content
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.events import Answered, Asking, Data, Event, Log
from scratchflow.model.requests import Cat
from scratchflow.model.results.snapshots import FileShown

CALLER = cast("Caller", None)
ASKED = Cat(path="a")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    found: list[bytes] = []
    monkeypatch.setattr(content, "write_stdout", found.append)
    return found


def sends(monkeypatch: pytest.MonkeyPatch, size: int) -> list[Cat]:
    """The other end sends six bytes, and says that the file has so many."""
    asked: list[Cat] = []

    def answer(
        _kind: Any, _do: str, request: Cat, _caller: Any, emit: Callable[[Event], None]
    ) -> FileShown:
        asked.append(request)
        for piece in (b"one", b"\xff\0\n"):
            emit(Data(content=piece))
            emit(Log(level="info", message="on its way"))
        return FileShown(snapshot="s", size=size, mode="0644", mtime="")

    monkeypatch.setattr(content, "at_workspace_as", answer)
    return asked


def test_pieces_go_to_stdout_as_they_come(
    written: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (told, asked) = ([], sends(monkeypatch, 6))  # type: tuple[list[Event], list[Cat]]
    shown = content.show_content(CALLER, told.append, ASKED, keep=False)
    assert written == [b"one", b"\xff\0\n"]
    assert (shown.content_b64, asked[0].most_bytes) == ("", 0)
    assert [type(one) for one in told] == [Asking, Log, Log, Answered]


def test_with_json_they_are_in_the_result(
    written: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = sends(monkeypatch, 6)
    shown = content.show_content(CALLER, lambda _: None, ASKED, keep=True)
    assert base64.b64decode(shown.content_b64) == b"one\xff\0\n"
    assert (written, asked[0].most_bytes) == ([], content.MOST_KEPT_BYTES)


@pytest.mark.parametrize("keep", [True, False])
def test_fewer_bytes_than_the_file_has_are_an_error(
    written: list[bytes], monkeypatch: pytest.MonkeyPatch, keep: bool
) -> None:
    sends(monkeypatch, 7)
    with pytest.raises(StreamBroken, match="6 of 7 bytes came"):
        content.show_content(CALLER, lambda _: None, ASKED, keep=keep)
    assert bool(written) is not keep
