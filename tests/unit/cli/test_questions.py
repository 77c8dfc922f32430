"""Questions on the terminal: every way in which an answer can fail to come."""

from __future__ import annotations

import errno
import io
import sys
from types import SimpleNamespace

import pytest

from scratchflow.cli.questions import TerminalAsker, agreed, where_somebody_is
from scratchflow.model.errors.base import Declined


class _ClosedTerminal(io.BytesIO):
    """What reading from a terminal gives whose window was closed."""

    def readline(self, *_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("keyboard", [io.BytesIO(b""), _ClosedTerminal()])
def test_the_end_of_the_input_is_a_no(
    monkeypatch: pytest.MonkeyPatch, keyboard: io.BytesIO
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=keyboard))
    asker = TerminalAsker(lambda _: None, may_ask=True, yes=False)
    with pytest.raises(Declined, match=r"^nothing was changed$"):
        asker.confirm("Save this?")


def typing(monkeypatch: pytest.MonkeyPatch, *lines: str) -> TerminalAsker:
    keyboard = io.BytesIO("".join(f"{line}\n" for line in lines).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=keyboard))
    return TerminalAsker(lambda _: None, may_ask=True, yes=False)


@pytest.mark.parametrize("answer", ["n", ""])
def test_a_no_ends_the_command_where_somebody_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    asker = typing(monkeypatch, answer)
    nobody = [TerminalAsker(lambda _: None, may_ask=False, yes=yes) for yes in (False, True)]
    assert [agreed(one, "Sure?") for one in nobody] == [False, True]
    monkeypatch.setattr(TerminalAsker, "can_ask", True)
    with pytest.raises(Declined) as declined:
        agreed(asker, "Sure?")
    assert declined.value.is_choice
    assert agreed(typing(monkeypatch, "y"), "Sure?")


def test_what_is_none_of_the_choices_is_said_and_asked_again(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asker = typing(monkeypatch, "banana", "scratchflow up logn", "7", "2")
    assert asker.choose("Which?", ["a cluster", "this machine"]) == "this machine"
    said = capfd.readouterr().err
    for answer in ("banana", "scratchflow up logn", "7"):
        assert f"`{answer}` is none of these; type `1` or `2`\n" in said
    assert typing(monkeypatch, "").choose("Which?", ["a", "b"]) == "a"


def test_other_text_is_an_answer_only_where_it_is_taken(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asker = typing(monkeypatch, "9", "me@host")
    assert asker.choose("Which?", ["uni", "lab", "aws"], takes_text=True) == "me@host"
    assert "`9` is none of these; type `1`, `2` or `3`\n" in capfd.readouterr().err


def test_a_letter_that_is_none_of_them_is_answered_with_those_there_are(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert typing(monkeypatch, "x", "c").letter("Go on?", "ydc") == "c"
    assert "answer `y`, `d` or `c`; Enter is `y`\n" in capfd.readouterr().err


@pytest.mark.parametrize("stray", ["clear", "yesterday", "yd", "no thanks"])
def test_a_word_counts_only_where_the_question_shows_it(
    monkeypatch: pytest.MonkeyPatch, stray: str
) -> None:
    question = "Save this? [Y]es, [c]hange a value, [n]o"
    assert typing(monkeypatch, stray, "Change").letter(question, "ycn") == "c"
    assert typing(monkeypatch, stray, "n").letter(question, "ycn") == "n"


def test_the_answer_stands_apart_from_a_question_of_several_lines(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    asker = typing(monkeypatch, "n")
    assert not asker.confirm("Save what is left? The larger snapshot goes by and by")
    lines = capfd.readouterr().err.split("\n")
    assert lines[-1].endswith(" [Y/n]: ")
    assert all(len(line) <= 40 for line in lines)


@pytest.mark.parametrize(
    ("answer", "is_terminal", "yes", "goes_on"),
    [
        ("n", True, False, False),
        ("", True, False, False),
        ("y", True, False, True),
        ("n", False, False, True),
        ("n", True, True, True),
    ],
)
def test_what_goes_on_by_itself_stops_only_at_a_no_of_somebody(
    monkeypatch: pytest.MonkeyPatch, answer: str, is_terminal: bool, yes: bool, goes_on: bool
) -> None:
    keyboard = SimpleNamespace(
        buffer=io.BytesIO(f"{answer}\n".encode()), isatty=lambda: is_terminal
    )
    monkeypatch.setattr(sys, "stdin", keyboard)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    assert where_somebody_is(lambda _: None, True, yes=yes)("End it?") is goes_on
