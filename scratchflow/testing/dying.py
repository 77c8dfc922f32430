"""Processes that die at a chosen system call: what `kill -9` or a power cut would do there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

DIED = 77

# Everything that changes a disk, and the calls around it.
CALLS = (
    "open", "write", "fsync", "close", "fchmod", "chmod", "utime",
    "link", "rename", "replace", "unlink", "mkdir", "rmdir",
)  # fmt: skip

Moment = Literal["before", "torn", "after"]


def run_and_die(action: Callable[[], object], at_call: int, moment: Moment) -> bool:
    """Runs the action in a forked child that dies at its n-th call; False when it got to its end.

    `torn` counts writes alone, and lets the n-th write half of its bytes.
    An exception of the action is an error here, so that no test passes for a wrong reason.
    """
    child = os.fork()
    if child == 0:
        _become_dying(action, at_call, moment)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, DIED}:
        raise RuntimeError(f"the action failed by itself (exit code {code})")
    return code == DIED


def _become_dying(action: Callable[[], object], at_call: int, moment: Moment) -> None:
    code = 1
    leave = os._exit
    try:
        _Countdown(at_call, moment).install()
        action()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
        raise
    finally:
        leave(code)


class _Countdown:
    def __init__(self, at_call: int, moment: Moment) -> None:
        self._left = at_call
        self._moment = moment

    def install(self) -> None:
        for name in ("write",) if self._moment == "torn" else CALLS:
            setattr(os, name, self._wrapped(getattr(os, name)))

    def _wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left != 0:
                return real(*args, **options)
            if self._moment == "torn":
                real(args[0], args[1][: len(args[1]) // 2])
            if self._moment == "after":
                real(*args, **options)
            os._exit(DIED)

        return call
