"""Mounts that an ordinary user may make: in a user and mount namespace of this process.

A child of this process keeps the right to mount, and mounts when it is asked to. This process itself has no right
that its user does not have: modes of files still count, and the program may look at what this process has mapped, which the
kernel refuses for a process with more rights.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import struct
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


# Where the mounter is asked, and where it answers.
_mounter: list[tuple[int, int]] = []


def can_mount() -> bool:
    """Whether this process has entered its namespace."""
    return bool(_mounter)


def enter_namespace() -> None:
    """Must come before the process has threads. Raises OSError where users may not do this."""
    user, group = os.geteuid(), os.getegid()
    _check(_libc.unshare(_NEW_NAMESPACES))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE_ALL), None))
    _mounter.append(_start_mounter())
    _keep_rights(0)


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
    _ask_mounter(b"bind", source, target)


def unmount(target: bytes) -> None:
    """`umount`."""
    _ask_mounter(b"unmount", target)


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


def _ask_mounter(*words: bytes) -> None:
    asking, answers = _mounter[0]
    os.write(asking, b"\0".join(words))
    number = int(os.read(answers, 16))
    if number:
        raise OSError(number, os.strerror(number))


def _start_mounter() -> tuple[int, int]:
    """A child with the right to mount, which ends when nothing can be asked of it any more."""
    questions, asking = os.pipe()
    answers, answering = os.pipe()
    if os.fork():
        os.close(questions)
        os.close(answering)
        return asking, answers
    os.close(asking)
    os.close(answers)
    _keep_rights(_RIGHT_TO_MOUNT)
    while words := os.read(questions, 65536).split(b"\0"):
        if words == [b""]:
            break
        os.write(answering, b"%d" % _mounted(*words))
    os._exit(0)


def _mounted(verb: bytes, *paths: bytes) -> int:
    """The error number; 0 when it was done."""
    if verb == b"bind":
        result = _libc.mount(*paths, None, ctypes.c_ulong(_BIND), None)
    else:
        result = _libc.umount2(*paths, _DETACH)
    return ctypes.get_errno() if result else 0


def _keep_rights(rights: int) -> None:
    """Gives up every right but these, for good."""
    header = struct.pack("Ii", _VERSION_3, 0)
    _check(_libc.capset(header, struct.pack("6I", rights, rights, 0, 0, 0, 0)))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
