"""What `restore` says when it is cut short."""

from __future__ import annotations

import signal

import pytest

from scratchflow.cli.call import Call
from scratchflow.cli.restore import _telling_what_an_end_means
from scratchflow.model.errors import EndedBySignal
from scratchflow.model.events import Emit
from scratchflow.model.results import Restored
from scratchflow.process.interrupted import Interrupted


def test_an_end_in_the_middle_says_what_it_left_and_the_two_ways_on() -> None:
    def cut(_: Emit) -> Restored:
        raise Interrupted(signal.SIGINT)

    call = _telling_what_an_end_means(Call("restore", cut, lambda _: ()))
    with pytest.raises(EndedBySignal) as caught:
        call.flow(lambda _: None)
    assert str(caught.value).startswith("Cancelled. If files were written already")
    assert "`scratchflow restore --abandon`" in str(caught.value)
    assert caught.value.exit_code == 130
