"""For all tests: property tests have no time limit, and write nothing into the checkout."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

if "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ:
    set_hypothesis_home_dir(Path(tempfile.gettempdir()) / f"hypothesis-{os.geteuid()}")
settings.register_profile("scratchflow", deadline=None)
settings.load_profile("scratchflow")
