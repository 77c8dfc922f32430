"""Without the memory for a report there is one line, and no traceback."""

from __future__ import annotations

import pytest

from scratchflow.cli import app
from scratchflow.cli.signals import SignalGate


def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(app, "claim_standard_descriptors", lambda: None)
    # This process has other tests to run.
    monkeypatch.setattr(SignalGate, "install", lambda _: None)
    monkeypatch.setattr(app, "_reporter", exhausted)
    assert app.run(["status"]) == 1
    said = capfd.readouterr().err
    assert said.startswith("error: there is not enough memory")
    assert said.count("\n") == 1
