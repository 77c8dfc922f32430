"""`attach` in a real terminal: which node it shows, and how one gets out of it."""

from __future__ import annotations

import pytest

from tests.cluster.laptop import Laptop
from tests.terminal import ENTER, LARGE, Terminal


def attached(laptop: Laptop) -> Terminal:
    return Terminal(laptop.argv("attach"), laptop.environment, size=LARGE)


def ask_node(terminal: Terminal, mark: str) -> str:
    """What the shell there says of its node; the mark tells this answer from earlier ones."""
    terminal.press(f"echo {mark}=$SLURMD_NODENAME.{ENTER}")
    rows = terminal.wait_for(f"{mark}=node-")
    return next(row for row in rows if row.startswith(f"{mark}=node-"))


def test_exit_gives_the_terminal_back_and_the_next_attach_has_a_fresh_shell(laptop: Laptop) -> None:
    laptop.data("up", "--node", "1")
    for mark in ("first", "second"):
        with attached(laptop) as terminal:
            assert ask_node(terminal, mark) == f"{mark}=node-1."
            terminal.press(f"exit{ENTER}")
            assert terminal.end() == 0
    assert laptop.data("status")["allocation"]["node"] == "node-1"


@pytest.mark.slow
def test_after_a_hop_it_shows_the_new_node_though_the_old_shell_still_dies(laptop: Laptop) -> None:
    laptop.data("up", "--node", "1")
    with attached(laptop) as terminal:
        assert ask_node(terminal, "old") == "old=node-1."
        terminal.press(f"trap '' TERM HUP{ENTER}")  # until Slurm kills it
        laptop.data("hop", "--node", "2")
        with attached(laptop) as second:
            assert ask_node(second, "new") == "new=node-2."
        assert ask_node(terminal, "still") == "still=node-2."
        terminal.press(f"exit{ENTER}")
        assert terminal.end() == 0
