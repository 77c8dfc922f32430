"""The labs of the transports' tests."""

from tests.contract.ssh.conftest import lab, no_thread_is_left

__all__ = ["lab", "no_thread_is_left"]
