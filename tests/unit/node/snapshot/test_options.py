"""A snapshot of what did not change is taken only where something would be lost without it."""

from __future__ import annotations

import pytest

from scratchflow.node.snapshot.options import SnapshotOptions, is_wanted_anyway
from scratchflow.store.catalogue import read_catalogue
from scratchflow.testing.store import make_id, make_manifest
from tests.unit.conftest import Desk


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (SnapshotOptions(), False),
        (SnapshotOptions(message="first results"), True),
        (SnapshotOptions(message="named"), False),  # it has that name
        (SnapshotOptions(message="every 30 minutes", purpose="auto"), False),
        (SnapshotOptions(even_unchanged=True), True),
    ],
)
def test_a_new_name_is_a_reason_and_the_same_one_is_not(
    options: SnapshotOptions, *, wanted: bool
) -> None:
    parent = make_manifest(make_id(), message="named", purpose="asked")
    assert is_wanted_anyway(options, parent) is wanted


def test_a_name_that_a_machine_gave_does_not_count_as_a_persons() -> None:
    parent = make_manifest(make_id(), message="before the move", purpose="safety")
    assert is_wanted_anyway(SnapshotOptions(message="before the move"), parent)


def test_what_is_a_fork_becomes_the_newest_when_a_person_saves_it(desk: Desk) -> None:
    desk.backup()
    desk.write("work/README", "another node's")
    fork = desk.backup(beside=True, purpose="auto")
    assert fork.beside
    assert desk.backup(purpose="auto").snapshot == fork.snapshot
    taken = desk.backup()
    assert (taken.kind, taken.changed_files, taken.beside) == ("incremental", 0, False)
    assert read_catalogue(desk.place).newest_id == taken.snapshot
    assert desk.backup().kind == "unchanged"


def test_a_named_backup_of_an_unchanged_workspace_is_listed_under_its_name(desk: Desk) -> None:
    desk.backup()
    assert desk.backup(message="submitted").kind == "incremental"
    assert desk.backup(message="submitted").kind == "unchanged"
    assert len(desk.ids) == 2
