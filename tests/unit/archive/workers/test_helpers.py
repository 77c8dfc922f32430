"""Helpers make a scan quicker; they never change what it finds, and never outlive it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import Scan
from tests.unit.archive.conftest import Bench, helpers_of_a_killed_asker, wait_until_gone
from tests.unit.archive.scan.conftest import bushy, content, scan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers are forked on Linux only")


@pytest.mark.parametrize("helpers", [1, 3])
def test_helpers_find_what_one_process_finds(bench: Bench, helpers: int) -> None:
    bushy(bench)
    alone, warned_alone = scan(bench, 0)
    helped, warned_helped = scan(bench, helpers)
    assert content(helped) == content(alone)
    assert len(alone.hardlinks) > 100
    assert sorted(warned_helped) == sorted(warned_alone)
    assert len(warned_alone) > 100


def test_what_a_killed_helper_had_taken_is_found_all_the_same(bench: Bench) -> None:
    bushy(bench)
    alone, _ = scan(bench, 0)
    with Scan(bench.scratch, ["work"], IgnoreRules(["*.o"]), 3) as begun:
        for process in begun.helper_processes:
            os.kill(process, signal.SIGKILL)
        assert content(begun.finish(lambda *_: None)) == content(alone)


def test_a_scan_that_is_given_up_leaves_no_process(bench: Bench) -> None:
    bushy(bench)
    with Scan(bench.scratch, ["work"], IgnoreRules(), 3) as begun:
        processes = begun.helper_processes
        assert processes
    for process in processes:
        assert not Path(f"/proc/{process}").exists()


SLOW = """
import sys, time
from pathlib import Path
from scratchflow.archive.scan import walk as walking
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import Scan
beneath = walking.Walk.beneath
walking.Walk.beneath = lambda *given: time.sleep(0.3) or beneath(*given)
scan = Scan(Path(sys.argv[1]), ["work"], IgnoreRules(), 2)
print(*scan.helper_processes, flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_helpers_do_not_outlive_the_one_who_asked(bench: Bench) -> None:
    bushy(bench)
    helpers = helpers_of_a_killed_asker(SLOW, bench.scratch)
    assert len(helpers) == 2
    wait_until_gone(helpers)
