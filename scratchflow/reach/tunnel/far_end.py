"""The end of a tunnel that is on the node: it connects to the server for every connection of the near end.

Its first line of input says where to; then frames go both ways, until the input ends.
"""

from __future__ import annotations

import errno
import os
import pwd
import select
import signal
import socket
import stat

import msgspec

from scratchflow.reach.tunnel.job_watch import JobWatch
from scratchflow.reach.tunnel.multiplexer import Multiplexer

WORD = "tunnel-end"
"""What starts it, in place of a verb; in no `--help`."""
MARK = b"scratchflow-tunnel "
"""Stands before the token in our first line: login shells and `srun` may talk before it."""
REMARK = b"scratchflow-remark "
"""Stands before the token, a space and what `remark_on` has to say, in a line before our first one."""
_MOST_BYTES = 1 << 16
_LOOK_MS = 50
_LISTENING = "0A"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where the tunnel leads, and the token by which the near end knows our first line."""

    token: str
    socket: str = ""
    port: int = 0
    # The tunnel ends when nobody listens there any more.
    ends_with_server: bool = False
    # It ends with this job: over ssh Slurm may not end it.
    job_id: int | None = None


def main() -> int:
    """Reads where to, says that we are here, and carries."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    target = msgspec.json.decode(_first_line(0), type=Target)
    if not is_there(target):  # another node than the server's, or it has just ended
        return 1
    job = None if target.job_id is None else JobWatch(target.job_id)
    if job is not None and not job.begins():
        return 1
    # A writer of our own: nothing else may ever write into the stream.
    writer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    token, remark = target.token.encode(), remark_on(target)
    if remark:
        os.write(writer, REMARK + token + b" " + remark.encode() + b"\n")
    os.write(writer, MARK + token + b"\n")
    lives = (lambda: is_there(target)) if job is None else job.runs
    Multiplexer(0, writer, connect=lambda: connect(target), is_there=lives).run()
    return 0


def is_there(target: Target) -> bool:
    """Whether somebody listens; not asked of what may come and go, nor where the system does not say."""
    if not target.ends_with_server:
        return True
    try:
        if target.socket:
            with open("/proc/net/unix", "rb") as table:
                return any(
                    line.endswith(b" " + os.fsencode(target.socket) + b"\n") for line in table
                )
        return _has_listener(target.port)
    except OSError:
        return True


def remark_on(target: Target) -> str:
    """What its user should know of a socket that is none of `serve`: it may come later, and may be somebody else's."""
    if not target.socket or target.ends_with_server:
        return ""
    try:
        found = os.stat(target.socket)
    except OSError as error:
        return f"cannot be opened there now ({error.strerror})"
    if not stat.S_ISSOCK(found.st_mode):
        return "is no socket there"
    return (
        ""
        if found.st_uid == os.geteuid()
        else f"belongs to `{_user(found.st_uid)}` there, not to you"
    )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _has_listener(port: int) -> bool:
    suffix = f":{port:04X}"
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(name, encoding="ascii") as table:
            for fields in (line.split() for line in table):
                if fields[1].endswith(suffix) and fields[3] == _LISTENING:
                    return True
    return False


def connect(target: Target) -> socket.socket:
    """A new connection to the server. OSError when it is not there, EAGAIN when it is busy."""
    if target.socket:
        own = socket.socket(socket.AF_UNIX)
        own.settimeout(0)
        try:
            own.connect(target.socket)
        except OSError:
            own.close()
            raise
        return own
    try:
        return _to_port(socket.AF_INET, "127.0.0.1", target.port)
    except ConnectionRefusedError:
        return _to_port(socket.AF_INET6, "::1", target.port)


def _to_port(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    own = socket.socket(family)
    own.settimeout(0)
    code = own.connect_ex((host, port))
    if code == errno.EINPROGRESS:
        poll = select.poll()
        poll.register(own, select.POLLOUT)
        code = own.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if poll.poll(_LOOK_MS) else 0
    if code:
        own.close()
        raise OSError(code, os.strerror(code))
    return own


def _first_line(descriptor: int) -> bytes:
    """Byte by byte: what follows belongs to the frames."""
    line = bytearray()
    while len(line) < _MOST_BYTES:
        byte = os.read(descriptor, 1)
        if byte in {b"", b"\n"}:
            break
        line += byte
    return bytes(line)
