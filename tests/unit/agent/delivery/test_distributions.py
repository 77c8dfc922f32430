"""What is installed here is copied only if it runs there, and only what belongs into the tree."""

from __future__ import annotations

import pytest

from scratchflow.agent.delivery.distributions import copy_installed, installed_version, is_wanted
from scratchflow.agent.delivery.target import Target
from tests.unit.agent.delivery.this_machine import this_target


def test_pure_python_is_copied_and_compiled_code_is_not_for_another_machine() -> None:
    here = this_target()
    machine = "aarch64" if here.machine == "x86_64" else "x86_64"
    other = Target(here.python, machine, here.glibc)
    assert copy_installed("rich", other) is not None
    assert copy_installed("msgspec", other) is None
    assert copy_installed("msgspec", here) is not None


def test_a_version_that_dropped_the_clusters_python_is_not_sent() -> None:
    assert installed_version("msgspec", Target((3, 6, 0), "x86_64", (2, 17))) is None
    assert installed_version("no-such-distribution", this_target()) is None


@pytest.mark.parametrize("path", ["../../bin/x", "/etc/x", "a/__pycache__/x.py", "x.pth", "bin/x"])
def test_nothing_lands_outside_the_tree(path: str) -> None:
    assert not is_wanted(path)
