"""The umask, read without changing it.

`os.umask` can only tell it by setting another one, and the umask belongs to the whole process: for that moment
every file that another thread creates gets the wrong mode, and two threads that ask at once leave the wrong one behind.
"""

from __future__ import annotations

import os
from pathlib import Path

_STATUS = Path("/proc/self/status")


def current_umask() -> int:
    """What the kernel says. Before Linux 4.7 it does not, so ask before there are threads."""
    try:
        for line in _STATUS.read_text().splitlines():
            key, _, value = line.partition(":")
            if key == "Umask":
                return int(value, 8)
    except OSError:
        pass  # no /proc: it is told the other way
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
