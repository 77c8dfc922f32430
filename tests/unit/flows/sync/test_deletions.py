"""When deletions are asked about."""

from __future__ import annotations

import pytest

from scratchflow.cluster.unison.words import Change
from scratchflow.flows.sync import deletions as module
from scratchflow.flows.sync.deletions import files_going, is_many
from scratchflow.model.requests import SyncCount
from scratchflow.model.results.sync import FilesCounted

GONE = Change(b"p/a", "to_other", "deleted", "")
LINK = Change(b"p/b", "to_other", "new link", "")
ELSEWHERE = Change(b"p/c", "to_first", "", "deleted")


@pytest.mark.parametrize(
    ("going", "total", "many"),
    [(1, 10, False), (2, 10, True), (999, 100_000, False), (1000, 100_000, True), (1, 1, True)],
)
def test_more_than_a_tenth_or_a_thousand_are_many(going: int, total: int, many: bool) -> None:
    assert is_many(FilesCounted(going=going, total=total)) is many


def test_only_what_goes_to_this_side_is_counted() -> None:
    asked: list[SyncCount] = []

    def count(request: SyncCount) -> FilesCounted:
        asked.append(request)
        return FilesCounted(going=5, total=50)

    found = files_going([GONE, LINK, ELSEWHERE], "to_other", ["p"], count)
    assert found == FilesCounted(going=10, total=50)
    assert asked == [
        SyncCount(deleted=(b"p/a",)),
        SyncCount(replaced=(b"p/b",)),
        SyncCount(folders=("p",)),
    ]


def test_nobody_is_asked_when_nothing_goes() -> None:
    def never(_: SyncCount) -> FilesCounted:
        raise AssertionError

    assert files_going([ELSEWHERE], "to_other", ["p"], never) is None


def test_many_paths_are_asked_about_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REQUEST_BYTES", 100)
    sizes = []

    def count(request: SyncCount) -> FilesCounted:
        sizes.append(len(request.deleted))
        return FilesCounted(going=len(request.deleted), total=100)

    changes = [Change(b"p/%04d" % number, "to_other", "deleted", "") for number in range(30)]
    assert files_going(changes, "to_other", ["p"], count) == FilesCounted(going=30, total=100)
    assert len(sizes) > 3
