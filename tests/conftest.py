"""For all tests: property tests have no time limit, and write nothing into the checkout; Ctrl-C counts.

What commands remember for later ones goes to a directory of the run, not to the home of whoever runs the tests.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

if "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ:
    set_hypothesis_home_dir(Path(tempfile.gettempdir()) / f"hypothesis-{os.geteuid()}")
settings.register_profile("scratchflow", deadline=None)
settings.load_profile("scratchflow")

# Whoever may not write into the checkout keeps the compiled tests at home: each worker of each part reads them, and to
# compile them takes twice as long as all the rest of loading.
if not os.access(__file__, os.W_OK):
    sys.pycache_prefix = str(Path.home() / ".cache" / "scratchflow-tests")
    sys.dont_write_bytecode = False

# A shell without job control starts what it puts in the background with Ctrl-C ignored, and children inherit that:
# tests that send one would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under `nohup`
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


UNIT = Path(__file__).parent / "unit"
CLUSTER = Path(__file__).parent / "cluster"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow",
        choices=("with", "without", "only"),
        default="with",
        help="whether unit and cluster tests marked as slow run; `only` leaves out the others of these",
    )
    parser.addoption(
        "--brief",
        action="store_true",
        help="leave out tests of other kinds that are marked as slow",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the unit and cluster tests that `--slow` does not ask for, and others with `--brief`."""
    asked: str = config.getoption("--slow")
    is_brief: bool = config.getoption("--brief")

    def is_left_out(item: pytest.Item) -> bool:
        is_slow = item.get_closest_marker("slow") is not None
        if {UNIT, CLUSTER} & set(item.path.parents):
            return asked != "with" and is_slow != (asked == "only")
        return is_brief and is_slow

    config.hook.pytest_deselected(items=[item for item in items if is_left_out(item)])
    items[:] = [item for item in items if not is_left_out(item)]


@pytest.fixture(scope="session", autouse=True)
def state_of_this_run() -> Iterator[None]:
    """For the program as tests start it, and for flows that they call; a test may set its own."""
    # Not pytest's own directory: whoever runs a suite on another file system may not write there.
    with (
        tempfile.TemporaryDirectory(prefix="state-") as state,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("XDG_STATE_HOME", state)
        yield
