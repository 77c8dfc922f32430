"""An address on the clipboard: given to a program on its stdin, or told as not copied."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.flows.serve.clipboard import copy_text
from scratchflow.model.events import Event, Warned

URL = "http://127.0.0.1:8888/lab?token=secret"


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scratchflow.flows.serve.clipboard._given_to_terminal", lambda _: False)


def program(directory: Path, name: str, last_line: str = "") -> dict[str, str]:
    """A program that notes its words and its input; the environment in which it is found."""
    file = directory / name
    file.write_text(
        f'#!/bin/sh\necho "$@" > {directory}/words\ncat > {directory}/text\n{last_line}\n'
    )
    file.chmod(0o755)
    return {"PATH": f"{directory}:/usr/bin:/bin"}


def test_a_program_gets_the_address_on_its_stdin_and_not_in_its_words(tmp_path: Path) -> None:
    environment = {**program(tmp_path, "wl-copy"), "WAYLAND_DISPLAY": "wayland-0"}
    assert copy_text(URL, lambda _: None, environment)
    assert (tmp_path / "text").read_text() == URL
    assert "secret" not in (tmp_path / "words").read_text()


def test_a_program_that_fails_is_followed_by_the_next(tmp_path: Path) -> None:
    program(tmp_path, "wl-copy", "exit 1")
    environment = {**program(tmp_path, "xclip"), "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}
    assert copy_text(URL, lambda _: None, environment)
    assert (tmp_path / "words").read_text() == "-selection clipboard\n"


def test_one_that_stays_to_hold_the_text_is_not_waited_for(tmp_path: Path) -> None:
    environment = {**program(tmp_path, "xclip", "sleep 60 &"), "DISPLAY": ":0"}
    assert copy_text(URL, lambda _: None, environment)


def test_without_a_program_or_a_terminal_it_is_told(tmp_path: Path) -> None:
    heard: list[Event] = []
    assert not copy_text(URL, heard.append, {"PATH": os.fspath(tmp_path)})
    assert [one.code for one in heard if isinstance(one, Warned)] == ["clipboard.failed"]
    assert "secret" not in str(heard)
