"""logind's answer, written after busctl(1) and logind.conf(5)."""

from __future__ import annotations

import pytest

from scratchflow.cluster.command import CommandMissing
from scratchflow.cluster.logout import logout_kills
from scratchflow.process.child import Completed
from scratchflow.testing.command import completed


@pytest.mark.parametrize(
    ("said", "kills"),
    [
        ('b true\nas 0\nas 1 "root"\n', True),
        ('b false\nas 0\nas 1 "root"\n', False),
        ('b true\nas 0\nas 2 "root" "alice"\n', False),
        ('b true\nas 1 "bob"\nas 0\n', False),
        ('b true\nas 1 "alice"\nas 0\n', True),
        ("", None),
    ],
)
def test_who_is_killed_at_logout(said: str, kills: bool | None) -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        assert argv
        assert timeout_s > 0
        return completed(0 if said else 1, said)

    assert logout_kills(run, "alice") is kills


def test_without_logind_nobody_knows() -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        raise CommandMissing(f"{argv} {timeout_s}")

    assert logout_kills(run, "alice") is None
