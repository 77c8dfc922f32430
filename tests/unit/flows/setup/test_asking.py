"""An agreement is a yes, now or beforehand; silence is a no, with the way by hand."""

from __future__ import annotations

import pytest

from scratchflow.flows.setup.asking import require_agreement
from scratchflow.model.errors.base import Declined
from tests.unit.flows.setup.answers import Answers


def ask(asker: Answers) -> None:
    require_agreement(asker, "Make it?", "the change", "edit the file")


def test_a_yes_is_enough_and_is_asked_for_once() -> None:
    asker = Answers(True)
    ask(asker)
    assert asker.said == ["Make it?"]


def test_who_agreed_beforehand_is_not_asked() -> None:
    ask(Answers(agrees=True))
    ask(Answers(agrees=True, can_ask=False))


@pytest.mark.parametrize("asker", [Answers(False), Answers(can_ask=False)], ids=["no", "nobody"])
def test_a_no_and_nobody_leave_it_to_the_user(asker: Answers) -> None:
    with pytest.raises(Declined, match="the change") as declined:
        ask(asker)
    assert "edit the file" in declined.value.shown_hint
