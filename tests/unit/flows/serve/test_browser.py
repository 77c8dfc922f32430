"""An address in the browser: by way of a file that only its user can read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scratchflow.flows.serve.browser import open_in_browser
from scratchflow.model.events import Event, Warned

URL = 'http://127.0.0.1:8888/lab?token=a&b="c"'


def test_the_browser_is_given_a_file_that_nobody_else_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    given: list[str] = []

    def take(url: str) -> bool:
        given.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", take)
    assert open_in_browser(URL, lambda _: None, {"DISPLAY": ":0"})
    file = Path(given[0].removeprefix("file://"))
    assert "token=a&amp;b=&quot;c&quot;" in file.read_text()
    assert (file.stat().st_mode & 0o77, file.parent.stat().st_mode & 0o77) == (0, 0)


def test_that_none_was_opened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    heard: list[Event] = []
    assert not open_in_browser(URL, heard.append, {"DISPLAY": ":0"})
    assert [one.code for one in heard if isinstance(one, Warned)] == ["browser.failed"]


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"BROWSER": "helper", "VSCODE_IPC_HOOK_CLI": "/tmp/x.sock"}, "click on the address"),
        ({"TERM": "xterm"}, "this host has no display"),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has a display")
def test_where_a_file_of_this_host_reaches_no_browser_none_is_tried(
    environment: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr("webbrowser.open", tried.append)
    heard: list[Event] = []
    assert not open_in_browser(URL, heard.append, environment)
    assert [says in one.message for one in heard if isinstance(one, Warned)] == [True]
    assert tried == []
