"""What is there twice, or missing, or superseded, is told at the end and in words."""

from __future__ import annotations

import random

from scratchflow.archive.read.chunk_check import ChunkCheck
from scratchflow.archive.read.member_check import MAX_PROBLEMS, MemberChecker
from scratchflow.archive.tree.tree import REGULAR
from tests.unit.archive.conftest import Bench, fill


def checker(bench: Bench) -> MemberChecker:
    fill(bench.work)
    index = bench.backup("A")
    return MemberChecker(index, 0, ChunkCheck(index.seed))


def test_all_members_once_are_right(bench: Bench) -> None:
    check = checker(bench)
    check.take_right(iter(range(len(check.index))))
    assert check.result() == []


def test_a_member_twice_is_a_problem_and_so_is_one_too_many(bench: Bench) -> None:
    check = checker(bench)
    check.take_right(iter(range(len(check.index))))
    check.take_right(iter([check.index.find(b"work/data") or 0]))
    twice, too_many = check.result()
    assert twice == "`work/data` is in the tar stream twice"
    assert "more or fewer members" in too_many


def test_files_that_are_missing_are_counted(bench: Bench) -> None:
    check = checker(bench)
    files = [
        entry
        for entry in check.index.of_kind(REGULAR)
        if entry not in check.index.hardlinks and check.index.archive[entry] == 0
    ]
    check.take_right(entry for entry in range(len(check.index)) if entry not in files[:2])
    check.members += 2
    assert check.result() == ["2 files of the index are not in the tar stream"]


def test_only_the_first_problems_are_told(bench: Bench) -> None:
    check = checker(bench)
    for _ in range(MAX_PROBLEMS + 5):
        check.take_right(iter([1]))
    assert len(check.problems) == MAX_PROBLEMS


def test_every_path_is_found_whatever_came_before(bench: Bench) -> None:
    check = checker(bench)
    index = check.index
    paths = [index.path(entry) for entry in range(len(index))]
    dice = random.Random(1)  # noqa: S311 - the same every time
    for _ in range(500):
        path = dice.choice(paths)
        assert check._find(path) == index.find(path)
        assert check._find(path + b"/no") is None
        assert check._find(b"no" + path) is None
