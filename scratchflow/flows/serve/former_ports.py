"""What each local port led to last: a page that is still open in a browser must not reach another server there.

One file for each port, shared by all profiles. Its time is when the tunnel was last known to live.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.config.file import users_directory
from scratchflow.disk.durable import replace_file
from scratchflow.disk.private import make_private_directories

REMEMBERED_S = 24 * 3600.0
"""How long a port stays with the name that had it. Pages are left open overnight."""
# No profile has such a name.
_DIRECTORY = ".ports"


class FormerPort(msgspec.Struct, frozen=True, kw_only=True):
    """The tunnel that a port belonged to last. The same name may have it again."""

    profile: str
    name: str
    to: str = ""


def note_port(port: int, led: FormerPort) -> None:
    """Notes that the port leads there from now on. OSError when the disk cannot be written."""
    file = _file(port)
    make_private_directories(file.parent)
    replace_file(file, msgspec.json.encode(led) + b"\n")


def note_end(port: int, now_s: float) -> None:
    """Counts from now. What somebody removed, perhaps with the whole home, is not made anew."""
    with suppress(OSError):
        os.utime(_file(port), (now_s, now_s))


def ports_of_others(profile: str, name: str, now_s: float) -> dict[int, FormerPort]:
    """The ports that led elsewhere a short time ago, or do so now."""
    found = {}
    try:
        files = [file for file in _file(0).parent.iterdir() if file.name.isdecimal()]
    except OSError:
        return {}
    for file in files:
        led = _read(file, now_s)
        if led is not None and (led.profile, led.name) != (profile, name):
            found[int(file.name)] = led
    return found


def host_directory() -> Path:
    """Of this host alone: the hosts of a cluster share a home, and neither ports nor process numbers."""
    # A Mac changes its name with the network, and shares no home.
    host = os.uname().nodename if sys.platform == "linux" else "here"
    return users_directory("state") / "tunnels" / host


def _read(file: Path, now_s: float) -> FormerPort | None:
    try:
        # Also of a time to come: a clock that was wrong once holds no port for ever.
        if abs(now_s - file.stat().st_mtime) > REMEMBERED_S:
            return None
        return msgspec.json.decode(file.read_bytes(), type=FormerPort)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _file(port: int) -> Path:
    return host_directory() / _DIRECTORY / str(port)
