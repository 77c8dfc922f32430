"""The home of its own in which the real program runs."""

from __future__ import annotations

from tests.contract.test_json_protocol import environment

__all__ = ["environment"]
