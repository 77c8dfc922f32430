"""Who connects to a local port: on a host with many users, every one of them can.

Linux says in its table of connections which user has the other end of one on the loopback.
"""

from __future__ import annotations

import os
import socket
import sys

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING, _ESTABLISHED = b"0A", b"01"
_ANYBODY = b"00000000:0000"
# An IPv4 address as a socket for both kinds of addresses has it.
_MAPPED = b"0000000000000000FFFF0000"
_ROOT = 0


def can_tell(listener: socket.socket) -> bool:
    """Whether this system says who connects: then it also says that we listen."""
    return _found(_written(listener.getsockname()), _ANYBODY) == (_LISTENING, os.getuid())


def is_own_caller(connection: socket.socket) -> bool:
    """Whether the process at the other end is this user's; or root's, who may do everything here anyway.

    An end that is closed already has no user any more, and the table says root: nobody waits for an answer there.
    """
    caller, ours = _written(connection.getpeername()), _written(connection.getsockname())
    found = _found(caller, ours) or _found(_MAPPED + caller, _MAPPED + ours)
    if found is None:
        return False
    state, uid = found
    return uid == os.getuid() or (uid == _ROOT and state == _ESTABLISHED)


def _written(address: tuple[str, int]) -> bytes:
    """An address and its port as the table has them."""
    host, port = address
    number = int.from_bytes(socket.inet_aton(host), sys.byteorder)
    return f"{number:08X}:{port:04X}".encode()


def _found(caller: bytes, other: bytes) -> tuple[bytes, int] | None:
    """The state and the user of the socket with these two addresses."""
    for name in _TABLES:
        try:
            with open(name, "rb") as file:
                table = file.read()
        except OSError:
            continue
        _, mark, after = table.partition(b" " + caller + b" " + other + b" ")
        if mark:
            # state, queues, timer, retransmissions, user
            state, _, _, _, uid, *_ = after.split(maxsplit=5)
            return state, int(uid)
    return None
