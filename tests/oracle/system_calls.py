"""Kills a program at one of its system calls, with strace."""

from __future__ import annotations

import functools
import shutil
import subprocess
from typing import Literal

SystemCall = Literal[
    "write", "rename", "unlink", "open", "fsync", "link", "mkdir", "truncate", "copy", "chmod",
    "utime", "xattr",
]  # fmt: skip

# The kernel's names, of which each architecture has some, and the highest number at which a small backup is killed.
_CALLS: dict[SystemCall, tuple[str, int]] = {
    "write": ("?write,?pwrite64,?writev,?pwritev", 12),
    "rename": ("?rename,?renameat,?renameat2", 6),
    "unlink": ("?unlink,?rmdir,?unlinkat", 8),
    "open": ("?openat", 300),
    "fsync": ("?fsync,?fdatasync,?syncfs", 16),
    "link": ("?link,?linkat,?symlink,?symlinkat", 3),
    "mkdir": ("?mkdir,?mkdirat", 8),
    "truncate": ("?ftruncate,?fallocate", 1),
    "copy": ("?copy_file_range,?sendfile", 1),
    "chmod": ("?fchmod,?chmod,?fchmodat", 8),
    "utime": ("?utimensat", 5),
    "xattr": ("?setxattr,?fsetxattr,?lsetxattr,?removexattr,?fremovexattr", 1),
}
SYSTEM_CALLS: tuple[SystemCall, ...] = tuple(_CALLS)
# Python opens about so many files before the command begins.
_OPENED_AT_START = 290


def killed_at(call: SystemCall, number: int, *, longer: int = 1) -> tuple[str, ...]:
    """Words before a command: whichever process of it makes this call for the n-th time dies before it.

    The names of a call count apart. A number that is too high for a small backup begins again at 1;
    `longer`: how much more than that the command does.
    """
    names, most = _CALLS[call]
    when = (number - 1) % (most * longer) + 1 + (_OPENED_AT_START if call == "open" else 0)
    inject = f"inject={names}:signal=SIGKILL:when={when}"
    tracing = ("-e", f"trace={names}", "-e", inject)
    # Not with --seccomp-bpf, which would be quicker: strace 6.1 then forgets the signal.
    return ("strace", "-f", "-qq", "-o", "/dev/null", *tracing)


@functools.cache
def why_no_kills() -> str:
    """Why nothing can be killed at a system call here; empty when it can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    tried = subprocess.run(
        [*killed_at("write", 1), "echo", "x"], capture_output=True, text=True, check=False
    )
    return "" if tried.returncode == -9 else f"strace cannot trace here: {tried.stderr.strip()}"
