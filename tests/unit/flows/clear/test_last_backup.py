"""What is said of the last backup of a node: what it would store, and what it could not hold."""

from __future__ import annotations

import pytest

from scratchflow.flows.clear.last_backup import SavedCopy, foretold_words, forks_of, warn_of_loss
from scratchflow.model.events import Event, Warned
from scratchflow.model.results.backup import NodeSaved


def test_forks_are_what_only_further_nodes_had() -> None:
    stored = NodeSaved(snapshot="a", stored=True)
    copies = [
        SavedCopy("node-2", stored, beside=True),
        SavedCopy("node-3", NodeSaved(snapshot="b"), beside=True),
        SavedCopy("node-1", stored),
    ]
    assert forks_of(copies) == {"node-2": "a"}


@pytest.mark.parametrize(("name_node", "where"), [(True, "`n`"), (False, "the node")])
def test_a_node_without_a_workspace_is_told_as_that(name_node: bool, where: str) -> None:
    copy = SavedCopy("n", NodeSaved(snapshot=None))
    (words,) = foretold_words(copy, "work", name_node=name_node)
    assert words == f"there is no workspace on {where}: nothing to back up"


@pytest.mark.parametrize(
    ("count", "goes", "words"),
    [
        (1, False, "1 path on `n` stays behind"),
        (2, False, "2 paths on `n` stay behind"),
        (1, True, "1 path on `n` goes with the job"),
        (2, True, "2 paths on `n` go with the job"),
    ],
)
def test_what_is_left_is_told_in_grammar(count: int, goes: bool, words: str) -> None:
    told: list[Event] = []
    saved = NodeSaved(snapshot=None, unsaved=count, unsaved_paths=["x"], goes_with_job=goes)
    warn_of_loss(told.append, "n", saved)
    (warned,) = told
    assert isinstance(warned, Warned)
    assert warned.message.startswith(words)
