"""What a person reads after `setup --remove`."""

from __future__ import annotations

from scratchflow.cli.setup import _removed
from scratchflow.model.results.setup import LeftBehind, SetupRemoved
from scratchflow.model.wrap import Whole, broken

COMMAND = "`rm -rf /scratch/$USER/work /scratch/$USER/.scratchflow`"


def test_no_line_about_what_is_left_breaks_inside_a_word() -> None:
    how = f"{COMMAND} in a job on each, or leave them to the cluster's own clean-up"
    left = LeftBehind(what="copies of the workspace on the scratch of node-1", how=how)
    done = SetupRemoved(ssh_config_diff="", agent_removed=True, kept=[], left=[left])
    lines = list(_removed(done))
    shown = [one for line in lines for one in _at(line, 80)]
    assert max(map(len, shown)) <= 80
    assert sum(COMMAND in one for one in shown) == 1


def _at(line: str, width: int) -> list[str]:
    """As the terminal gets it."""
    return [line] if isinstance(line, Whole) else broken(line, width, "    ")
