"""Runs something in a process of its own that may be killed at one of Python's calls that change a disk."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import traceback
from collections.abc import Callable
from typing import Literal

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.testing.dying import DIED, Moment, _Countdown

REFUSED = 3
Outcome = Literal["done", "refused", "killed"]
Wait = Callable[[], Outcome]


class ChildFailed(AssertionError):
    """The child ended with something that is no error of ours."""


def in_a_child(action: Callable[[], object], at_call: int = 0, moment: Moment = "before") -> Wait:
    """Starts the action in a child; the result waits for it. `at_call` 0 kills nothing."""
    child = os.fork()
    if child == 0:
        _become(action, at_call, moment)
    return lambda: _outcome(child)


def _become(action: Callable[[], object], at_call: int, moment: Moment) -> None:
    code = 1
    leave = os._exit
    try:
        os.setpgrp()
        if at_call:
            _Countdown(at_call, moment).install()
        action()
        code = 0
    except ScratchflowError:
        code = REFUSED
    except BaseException:  # noqa: BLE001 - the parent only sees the code
        traceback.print_exc()
    finally:
        leave(code)


def _outcome(child: int) -> Outcome:
    _, status = os.waitpid(child, 0)
    end_helpers(child)
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, DIED, REFUSED}:
        raise ChildFailed(f"the command failed with exit code {code}")
    return "done" if code == 0 else "killed" if code == DIED else "refused"


def end_helpers(group: int) -> None:
    """What the child had forked goes with it, as with the power."""
    deadline = time.monotonic() + 30
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(group, signal.SIGKILL)
            time.sleep(0.001)
