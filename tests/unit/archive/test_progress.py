"""The cores that a run may use: those that it was given, not those of the machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scratchflow.archive.progress import no_progress, usable_cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_a_process_that_was_given_one_core_uses_one() -> None:
    script = (
        "import os\n"
        "from scratchflow.archive.progress import usable_cores\n"
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "print(usable_cores())"
    )
    told = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    assert told.stdout == b"1\n"


def test_where_the_system_does_not_say_there_is_at_least_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


def test_nobody_has_to_watch() -> None:
    no_progress("restore", 0, 1, 0, 1)
