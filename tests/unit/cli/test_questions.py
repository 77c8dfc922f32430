"""Questions on the terminal: every way in which an answer can fail to come."""

from __future__ import annotations

import errno
import io
import sys
from types import SimpleNamespace

import pytest

from scratchflow.cli.questions import TerminalAsker
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
    with pytest.raises(Declined):
        asker.confirm("Save this?")
