"""A scratch directory that somebody else made is refused, and says what to do."""

from __future__ import annotations

import os

import pytest

from tests.root.conftest import NOBODY, Machine

SOMEBODY = 12345


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_a_scratch_made_by_somebody_else_is_refused(others: Machine, verb: str) -> None:
    others.backup()
    os.chown(others.scratch, SOMEBODY, SOMEBODY)
    others.scratch.chmod(0o777)
    ended = others.run(verb)
    assert (ended.exit_code, ended.last["code"]) == (10, "scratch.unsafe")
    assert str(SOMEBODY) in ended.last["message"]


def test_a_scratch_that_root_made_for_the_user_will_do(others: Machine) -> None:
    assert others.scratch.stat().st_uid == NOBODY
    others.backup()


@pytest.mark.parametrize("planted", [".scratchflow", "work"])
def test_what_somebody_planted_in_a_shared_directory_is_refused(
    others: Machine, planted: str
) -> None:
    os.chown(others.scratch, 0, 0)
    others.scratch.chmod(0o1777)
    (others.scratch / planted).mkdir(exist_ok=True)
    os.chown(others.scratch / planted, SOMEBODY, SOMEBODY)
    (others.scratch / planted).chmod(0o777)
    ended = others.run("backup")
    assert (ended.exit_code, ended.last["code"]) == (10, "scratch.unsafe")
