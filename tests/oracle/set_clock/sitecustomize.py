"""Python runs this first in a program whose clock is set wrong: libfaketime 0.9.10 makes `time.sleep` fail."""

from __future__ import annotations

import select
import time
from typing import SupportsIndex


def _sleep(seconds: SupportsIndex | float) -> None:
    select.select([], [], [], float(seconds))


time.sleep = _sleep
