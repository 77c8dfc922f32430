"""Commands that end with a job are named first, and nobody has to lose one by mistake."""

from __future__ import annotations

import pytest

from scratchflow.flows.clear.what_ends import agree_to_what_ends
from scratchflow.model.errors.base import Declined
from scratchflow.model.events import Event, Warned
from scratchflow.model.results.status import DetachedRun

RUNS = [DetachedRun("train", 7), DetachedRun("other", 8), DetachedRun("second", 7)]


def test_what_ends_with_a_job_is_named_and_nothing_else() -> None:
    heard: list[Event] = []
    agree_to_what_ends(heard.append, RUNS[:2], {7})
    (warned,) = heard
    assert isinstance(warned, Warned)
    assert "window `train`: it ends with job 7" in warned.message


def test_it_is_asked_once_after_all_are_named() -> None:
    heard: list[Event] = []
    asked: list[tuple[int, str]] = []

    def agrees(question: str) -> bool:
        asked.append((len(heard), question))
        return True

    agree_to_what_ends(heard.append, RUNS, {7}, agrees)
    agree_to_what_ends(heard.append, RUNS, {8}, agrees)
    agree_to_what_ends(heard.append, RUNS, {9}, agrees)
    assert asked == [(2, "Go on, and end them?"), (3, "Go on, and end it?")]


def test_a_no_ends_the_command() -> None:
    with pytest.raises(Declined, match="nothing was changed"):
        agree_to_what_ends(lambda _: None, RUNS, {7}, lambda _: False)
