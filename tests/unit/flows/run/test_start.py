"""A command that cannot be sent is refused before anything is."""

from __future__ import annotations

import pytest

from tests.unit.flows.run.test_run import environment, run

__all__ = ["environment"]


@pytest.mark.slow
def test_a_command_that_is_too_long_is_refused_at_once(environment: dict[str, str]) -> None:
    done = run(environment, "--", "echo", "é" * 60_000)
    assert done.returncode == 2
    assert b"too long" in done.stderr
