"""For all tests: property tests have no time limit, since machines that run them are shared."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("scratchflow", deadline=None)
settings.load_profile("scratchflow")
