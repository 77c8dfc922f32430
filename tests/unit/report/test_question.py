"""While a question is open, everything that draws on the terminal knows; however it ends."""

from __future__ import annotations

import pytest

from scratchflow.model.events import Answered, Asking, Event
from scratchflow.process.interrupted import Interrupted
from scratchflow.report.question import question_open


def test_the_question_is_announced_before_and_closed_after() -> None:
    told: list[Event] = []
    with question_open(told.append):
        assert told == [Asking()]
    assert told == [Asking(), Answered()]


@pytest.mark.parametrize("end", [EOFError(), KeyboardInterrupt(), Interrupted(15)])
def test_it_is_closed_whatever_ends_it(end: BaseException) -> None:
    told: list[Event] = []
    with pytest.raises(type(end)), question_open(told.append):
        raise end
    assert told[-1] == Answered()


def test_a_question_within_another_closes_its_own_only() -> None:
    told: list[Event] = []
    with question_open(told.append), question_open(told.append):
        assert told == [Asking(), Asking()]
    assert told[2:] == [Answered(), Answered()]
