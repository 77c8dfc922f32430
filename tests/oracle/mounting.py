"""Mounts that an ordinary user may make: in a user and mount namespace of this process.

The process keeps the right to mount, but holds it only while it mounts. Nothing else is allowed to it that is
not allowed to its user, so that the modes of files still count, and programs that it starts get no right at all.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_NEW_NAMESPACES = 0x10000000 | 0x00020000  # CLONE_NEWUSER, CLONE_NEWNS
_BIND = 4096
_PRIVATE_ALL = (1 << 18) | 16384  # MS_PRIVATE, MS_REC
_DETACH = 2
_RIGHT_TO_MOUNT = 1 << 21  # CAP_SYS_ADMIN
_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


class Mounted(NamedTuple):
    """One mount: its number, which stays when a directory above is renamed, and where it is now."""

    number: int
    point: bytes


_entered: list[bool] = []


def can_mount() -> bool:
    """Whether this process has entered its namespace."""
    return bool(_entered)


def enter_namespace() -> None:
    """Must come before the process has threads. Raises OSError where users may not do this."""
    user, group = os.geteuid(), os.getegid()
    _check(_libc.unshare(_NEW_NAMESPACES))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE_ALL), None))
    _hold(0)
    _entered.append(True)


@functools.cache
def why_no_mounts() -> str:
    """Why nothing can be mounted here; empty when it can."""
    child = os.fork()
    if child == 0:
        try:
            enter_namespace()
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"no user namespace: {os.strerror(number)}" if number else ""


def bind(source: bytes, target: bytes) -> None:
    """`mount --bind`."""
    with _right_to_mount():
        _check(_libc.mount(source, target, None, ctypes.c_ulong(_BIND), None))


def unmount(target: bytes) -> None:
    """`umount`."""
    with _right_to_mount():
        _check(_libc.umount2(target, _DETACH))


def mounts_in(directory: Path) -> list[Mounted]:
    """The mounts beneath a directory that a path leads to, by number."""
    top = os.fsencode(directory) + b"/"
    found = []
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        words = line.split(b" ", 5)
        point = re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), words[4])
        if point.startswith(top):
            found.append(Mounted(int(words[0]), point))
    return [one for one in found if not any(is_beneath(one.point, other.point) for other in found)]


def is_beneath(path: bytes, point: bytes) -> bool:
    return path.startswith(point + b"/")


@contextmanager
def _right_to_mount() -> Iterator[None]:
    _hold(_RIGHT_TO_MOUNT)
    try:
        yield
    finally:
        _hold(0)


def _hold(effective: int) -> None:
    """What this process may do now; the right to mount stays within its reach."""
    header = struct.pack("Ii", _VERSION_3, 0)
    rights = struct.pack("6I", effective, _RIGHT_TO_MOUNT, 0, 0, 0, 0)
    _check(_libc.capset(header, rights))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
