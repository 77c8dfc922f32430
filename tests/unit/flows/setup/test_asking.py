"""An agreement is a yes, now or beforehand; where nobody can be asked, the way by hand is named."""

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


def test_where_nobody_can_be_asked_the_way_by_hand_is_named() -> None:
    with pytest.raises(Declined, match="the change") as declined:
        ask(Answers(can_ask=False))
    assert "edit the file" in declined.value.shown_hint


def test_who_says_no_is_not_told_how_to_do_it_all_the_same() -> None:
    with pytest.raises(Declined, match=r"^nothing was changed$") as declined:
        ask(Answers(False))
    assert (declined.value.code, declined.value.exit_code) == ("usage.declined", 2)
    assert (declined.value.is_choice, declined.value.shown_hint) == (True, "")
