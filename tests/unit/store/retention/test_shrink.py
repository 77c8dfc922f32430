"""The shrink guard, as a user would expect it of small and large workspaces."""

from __future__ import annotations

import pytest

from scratchflow.archive.tree.root_sizes import RootSize
from scratchflow.store.retention.shrink import Loss, Shrink, find_shrink, is_shrunk
from scratchflow.testing.store import make_id

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("before", "after", "is_guarded"),
    [
        ((1000, 100 * MIB), (499, 90 * MIB), True),
        ((1000, 100 * MIB), (500, 90 * MIB), False),
        ((1000, 100 * MIB), (1000, 49 * MIB), True),
        ((1000, 100 * MIB), (1000, 50 * MIB), False),
        ((1000, 100 * MIB), (5000, 900 * MIB), False),
        ((1000, 100 * MIB), (0, 0), True),
        ((1, 5), (0, 0), True),
        ((1, 0), (0, 0), True),
        ((2, 10), (1, 5), False),
        ((2, 10), (0, 0), True),
        ((3, 30), (1, 10), True),
        # One small file was rewritten shorter: an edit.
        ((1, 60_000), (1, 10), False),
        ((1, 70_000), (1, 10), True),
        # Every file is empty now: what a full disk does to an editor's files.
        ((5, 3000), (5, 0), True),
        ((0, 0), (0, 0), False),
        ((0, 0), (3, 30), False),
    ],
)
def test_less_than_half_is_guarded(
    before: tuple[int, int], after: tuple[int, int], is_guarded: bool
) -> None:
    assert is_shrunk(RootSize(*before), RootSize(*after)) == is_guarded
    roots = {"work": RootSize(*before)}
    assert (find_shrink(roots, {"work": RootSize(*after)}) is not None) == is_guarded
    assert find_shrink(roots, {"env": RootSize()}) is None


def test_the_message_says_what_was_lost() -> None:
    shrink = Shrink("work", RootSize(12, 3 * MIB), RootSize(1, 100))
    refusal = shrink.refusal(make_id())
    assert "from 12 files (3.00 MiB) to 1 file (100 B)" in str(refusal)
    assert make_id() in str(refusal)


@pytest.mark.parametrize(
    ("lost", "is_one", "words"),
    [
        (Loss("work/big.bin", 3 * MIB, is_gone=True), True, ": `work/big.bin` (3.00 MiB) is gone;"),
        (Loss("work/big.bin", 3 * MIB, is_gone=False), True, ": `work/big.bin` lost 3.00 MiB;"),
        (
            Loss("work/big.bin", MIB, is_gone=True),
            False,
            ": `work/big.bin` (1.00 MiB) is gone, among others;",
        ),
    ],
)
def test_the_message_names_the_file_that_lost_most(lost: Loss, *, is_one: bool, words: str) -> None:
    before, after = RootSize(24, 4 * MIB), RootSize(23 if is_one else 9, MIB)
    shrink = Shrink("work", before, after, largest=lost)
    assert f"`{make_id()}`{words} nothing was saved" in str(shrink.refusal(make_id()))
