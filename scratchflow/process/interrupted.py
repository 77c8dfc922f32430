"""The exception that an ending signal becomes."""

from __future__ import annotations


class Interrupted(BaseException):
    """A signal asked us to end. A BaseException, so that no handler for errors swallows it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum
