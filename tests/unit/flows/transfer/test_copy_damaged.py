"""`snapshots copy` and damage: what is said of it is true of both stores."""

from __future__ import annotations

import os

from scratchflow.cli.transfer_words import copied
from scratchflow.node.history import verify_snapshots
from tests.unit.conftest import Desk
from tests.unit.flows.transfer.conftest import Two, rot


def _with_its_own_file(desk: Desk) -> str:
    """One more snapshot, and none that is taken later needs its archive."""
    desk.write("work/only here", os.urandom(700_000))
    snapshot = desk.backup().snapshot or ""
    (desk.work / "only here").unlink()
    return snapshot


def _check(desk: Desk, *names: str) -> None:
    assert verify_snapshots(desk.context, desk.notify, list(names)).bad


def test_a_dry_run_leaves_out_what_is_known_to_be_damaged_as_the_copy_does(two: Two) -> None:
    damaged = _with_its_own_file(two.here)
    whole = two.here.backup().snapshot or ""
    rot(two.here.place.archive(damaged))
    _check(two.here)
    said = two.copy(dry_run=True)
    assert (said.damaged, said.exit_code()) == ([damaged], 31)
    assert whole in said.copied
    lines = list(copied(said))
    assert lines[0].startswith("would not be copied, because it is damaged: snapshot ")
    assert lines[1].startswith("would copy 4 snapshots (")
    alone = two.copy(damaged, dry_run=True)
    assert (alone.copied, alone.damaged, alone.along) == ([], [damaged], two.here.ids[:1])
    done = two.copy()
    assert (done.copied, done.damaged, done.sent_bytes) == (
        said.copied,
        said.damaged,
        said.sent_bytes + two.here.place.archive(damaged).stat().st_size,
    )


def test_a_dry_run_counts_what_needs_nothing_of_a_damaged_archive_from_here(two: Two) -> None:
    """The other store has that archive whole, so it is not read here."""
    two.copy()
    two.here.write("work/next", "1")
    newest = two.here.backup().snapshot or ""
    rot(two.here.place.archive(two.here.ids[0]))
    _check(two.here)
    said = two.copy(dry_run=True)
    assert (said.copied, said.damaged) == ([newest], [])
    assert two.copy().copied == [newest]
