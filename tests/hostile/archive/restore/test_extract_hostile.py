"""A target with traps in it: nothing is followed, nothing is overwritten."""

from __future__ import annotations

import os

import pytest

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.restore import extract
from scratchflow.model.errors.restore import TargetNotEmpty
from tests.hostile.archive.conftest import (
    Range,
    good_archive,
)


def test_existing_symlinks_in_the_target_are_not_followed(shooting_range: Range) -> None:
    good_archive(shooting_range)
    (shooting_range.target / "work").mkdir()
    (shooting_range.target / "work" / "d").symlink_to(shooting_range.home)
    with pytest.raises(TargetNotEmpty):
        shooting_range.extract()
    shooting_range.assert_nothing_outside()


def test_existing_files_in_the_target_are_not_overwritten(shooting_range: Range) -> None:
    good_archive(shooting_range)
    (shooting_range.target / "work").mkdir()
    (shooting_range.target / "work" / "b").write_bytes(b"mine")
    with pytest.raises(TargetNotEmpty):
        shooting_range.extract()
    assert (shooting_range.target / "work" / "b").read_bytes() == b"mine"


def test_target_may_be_a_descriptor(shooting_range: Range) -> None:
    good_archive(shooting_range)
    index = open_index(shooting_range.archive)
    descriptor = os.open(shooting_range.target, os.O_RDONLY | os.O_DIRECTORY)
    extract.extract(index, lambda _: shooting_range.archive, descriptor, warn=shooting_range.warn)
    os.close(descriptor)
    assert (shooting_range.target / "work" / "d" / "e").read_bytes() == b"e" * 3000
