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


def test_of_small_things_only_the_commands_are_shown_and_the_program_comes_last() -> None:
    left = [
        LeftBehind(what="1 snapshot", how="`rm -rf s`"),
        LeftBehind(what="notes", how="`rm -rf n`", is_small=True),
        LeftBehind(what="a file", how="`rm f`"),
        LeftBehind(what="the cache", how="`rm -rf c`", is_small=True),
        LeftBehind(what="scratchflow itself", how="`pipx uninstall scratchflow`"),
    ]
    done = SetupRemoved(ssh_config_diff="", agent_removed=True, removes=["x"], left=left)
    assert list(_removed(done)) == [
        "✓ removed x",
        "Left, and how to remove it:",
        "  1 snapshot",
        "    `rm -rf s`",
        "  a file",
        "    `rm f`",
        "  notes and caches, with nothing of yours:",
        "    `rm -rf n`",
        "    `rm -rf c`",
        "  scratchflow itself",
        "    `pipx uninstall scratchflow`",
    ]


def test_what_the_same_profile_uses_is_said_once() -> None:
    left = [LeftBehind(what=what, how="still used by profile `b`") for what in ("x", "y")]
    done = SetupRemoved(ssh_config_diff="", agent_removed=True, removes=["z"], left=left)
    assert list(_removed(done))[2:] == ["  x", "  y", "    still used by profile `b`"]


def _at(line: str, width: int) -> list[str]:
    """As the terminal gets it."""
    return [line] if isinstance(line, Whole) else broken(line, width, "    ")
