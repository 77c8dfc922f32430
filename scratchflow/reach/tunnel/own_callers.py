"""Who connects to a local port: on a host with many users, every one of them can.

Linux says which user has the other end of a connection on the loopback.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

import msgspec

# The words of the kernel's question and answer: linux/netlink.h, linux/inet_diag.h.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _REQUEST = 4, 20, 1
_HEAD = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBxI")
_NO_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
_STATE_AT, _UID_AT = _HEAD.size + 1, _HEAD.size + 64
_ALL_STATES = 0xFFFFFFFF
_ANSWER_S = 5.0

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
# An IPv4 address as a socket for both kinds of addresses has it.
_MAPPED = b"0000000000000000FFFF0000"
_ESTABLISHED, _LISTENING = 1, 10
_ROOT = 0

Address = tuple[str, int]
_NOBODY: Address = ("0.0.0.0", 0)  # noqa: S104 - what a listener's other end is called


class Found(msgspec.Struct, frozen=True):
    """A socket of this host: its state, and whose it is."""

    state: int
    uid: int


# Finds the socket with this address of its own and this one at the other end.
Look = Callable[[Address, Address], Found | None]


def own_callers(listener: socket.socket) -> Callable[[socket.socket], bool] | None:
    """Says of a connection whether its other end is this user's; None where the system does not tell.

    It does where it tells that we listen. The table is long on large machines, and the kernel answers at once.
    """
    us = Found(state=_LISTENING, uid=os.getuid())
    for look in (asked, looked_up):
        with suppress(OSError):
            if look(listener.getsockname(), _NOBODY) == us:
                return lambda connection: _is_own(connection, look)
    return None


def _is_own(connection: socket.socket, look: Look) -> bool:
    """Root may do everything here anyway.

    An end that is closed already has no user any more, and counts as root's: nobody waits for an answer there.
    """
    found = look(connection.getpeername(), connection.getsockname())
    if found is None:
        return False
    return found.uid == os.getuid() or (found.uid == _ROOT and found.state == _ESTABLISHED)


def asked(own: Address, other: Address) -> Found | None:
    """The socket, asked of the kernel. OSError where it is not to be asked."""
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        return None
    pair = struct.pack(">HH", own[1], other[1]) + _as_bytes(own) + _as_bytes(other)
    question = _QUESTION.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, _ALL_STATES)
    question += pair + _NO_COOKIE
    size = _HEAD.size + len(question)
    with socket.socket(family, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_ANSWER_S)
        kernel.send(_HEAD.pack(size, _SOCK_DIAG_BY_FAMILY, _REQUEST, 0, 0) + question)
        answer = kernel.recv(4096)
    if len(answer) < _UID_AT + 4 or _HEAD.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None
    return Found(state=answer[_STATE_AT], uid=struct.unpack_from("=I", answer, _UID_AT)[0])


def _as_bytes(address: Address) -> bytes:
    return socket.inet_aton(address[0]) + bytes(12)


def looked_up(own: Address, other: Address) -> Found | None:
    """The socket, looked up in the table of all of them. OSError where there is none."""
    caller, ours = _written(own), _written(other)
    for name in _TABLES:
        with open(name, "rb") as file:
            table = file.read()
        for prefix in (b"", _MAPPED):
            _, mark, after = table.partition(b" %b%b %b%b " % (prefix, caller, prefix, ours))
            if mark:
                # state, queues, timer, retransmissions, user
                state, _, _, _, uid, *_ = after.split(maxsplit=5)
                return Found(state=int(state, 16), uid=int(uid))
    return None


def _written(address: Address) -> bytes:
    """An address and its port as the table has them."""
    host, port = address
    number = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    return f"{number:08X}:{port:04X}".encode()
