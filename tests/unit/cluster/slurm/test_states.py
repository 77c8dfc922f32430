"""Slurm's words for a job's state: every one that its manual lists is known, and no strange one is an end."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.states import CAUSE_TEXTS, base_state, state_of

# JOB STATE CODES of squeue(1), 20.11 to 24.05.
OPEN = {
    "CONFIGURING": "configuring",
    "COMPLETING": "completing",
    "PENDING": "pending",
    "REQUEUED": "pending",
    "REQUEUE_FED": "pending",
    "REQUEUE_HOLD": "pending",
    "RESIZING": "running",
    "RESV_DEL_HOLD": "pending",
    "RUNNING": "running",
    "SIGNALING": "running",
    "SPECIAL_EXIT": "pending",
    "STAGE_OUT": "completing",
    "STOPPED": "suspended",
    "SUSPENDED": "suspended",
}
ENDS = ["BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"]
ENDS += ["PREEMPTED", "REVOKED", "TIMEOUT", "LAUNCH_FAILED", "RECONFIG_FAIL"]


@pytest.mark.parametrize(("word", "state"), OPEN.items())
def test_what_lives_is_not_ended(word: str, state: str) -> None:
    assert state_of(word) == state_of(word.lower()) == (state, None)


@pytest.mark.parametrize("word", ENDS)
def test_every_end_has_a_cause_in_words(word: str) -> None:
    state, cause = state_of(word)
    assert state == "ended"
    assert cause is not None
    assert CAUSE_TEXTS[cause]


@pytest.mark.parametrize("word", ["", " ", "SOMETHING_NEW", "UPDATE_DB", "COMPLETEDX", "\0"])
def test_a_word_that_nobody_knows_is_never_an_end(word: str) -> None:
    assert state_of(word) == ("unknown", None)


@pytest.mark.parametrize("cut", ["+", "C+", "COMPLET+", "RE+", "S+"])
def test_a_word_cut_so_short_that_it_fits_several_is_never_an_end(cut: str) -> None:
    assert state_of(cut) == ("unknown", None)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("CANCELLED by 20001", "CANCELLED"),
        ("CANCELLED+", "CANCELLED"),
        ("OUT_OF_ME+", "OUT_OF_MEMORY"),
        ("NODE_FAIL", "NODE_FAIL"),
        ("RUN+", "RUNNING"),
        ("NEW_WORD+", "NEW_WORD"),
    ],
)
def test_a_cut_word_is_completed(text: str, word: str) -> None:
    assert base_state(text) == word
