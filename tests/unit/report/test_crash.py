"""A crash report holds what finds the bug and none of the user's values, and never fails itself."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from scratchflow.report.crash import crash_text, write_crash_report


def test_a_crash_report_has_the_stack_but_no_values() -> None:
    def fails(password: str) -> None:
        raise KeyError(f"password={password}")

    with pytest.raises(KeyError) as caught:
        fails("canary-" + "1")
    text = crash_text(caught.value, ["run", "--token", "canary-2"])
    assert "canary-1" not in text
    assert "canary-2" not in text
    assert "in fails" in text


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/scratchflow/crashes"


def crashed(words: str) -> Exception:
    def fail() -> None:
        raise RuntimeError(words)

    with pytest.raises(RuntimeError) as caught:
        fail()
    return caught.value


def test_each_crash_has_a_private_file_of_its_own(state: Path) -> None:
    paths = [Path(write_crash_report(crashed("odd"), ["backup"])) for _ in range(2)]
    assert sorted(state.iterdir()) == sorted(paths)
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "RuntimeError: odd" in path.read_text()
        assert "['backup']" in path.read_text()
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_a_crash_that_cannot_be_written_is_told_in_a_line(state: Path) -> None:
    state.parent.parent.mkdir()
    state.parent.write_text("in the way")
    assert write_crash_report(crashed("odd\nsecond"), []) == "second"
    assert write_crash_report(crashed("why"), []) == "RuntimeError: why"


def test_words_that_are_no_text_do_no_harm(state: Path) -> None:
    report = Path(write_crash_report(crashed("a \udcff name"), ["restore", "\udcff"]))
    assert report.parent == state
    assert r"a \udcff name" in report.read_text()
