"""Without a scheduler the tmux session on this machine is the allocation."""

from __future__ import annotations

import pytest

from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.cluster.tmux.server import Tmux
from scratchflow.model.allocation import ThisMachine

# A child that was cut off is collected late, and the warning of that would fail whichever test comes next.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_without_a_scheduler_the_session_is_the_allocation(tmux: Tmux) -> None:
    assert none.allocation(tmux, "local", "here") is None
    got = none.allocate(tmux, "local", "scratchflow", "here", "/bin/sh")
    assert got == ThisMachine(name="scratchflow", nodes=("here",))
    assert none.allocate(tmux, "local", "scratchflow", "here", "/bin/sh") == got
    assert none.allocation(tmux, "local", "here") == got
    assert none.release(tmux, "local") is True
    assert none.release(tmux, "local") is False
