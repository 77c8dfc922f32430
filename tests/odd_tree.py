"""A directory with what file systems allow and programs forget, and a digest of all of it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

# As text, because it also runs on hosts that have Python and nothing else.
DIGEST = """
import hashlib, os, stat, sys
top, digest = os.fsencode(sys.argv[1]), hashlib.sha256()
for directory, inside, files in os.walk(top):
    inside.sort()
    for name in sorted(inside + files):
        path = os.path.join(directory, name)
        found = os.lstat(path)
        digest.update(repr((os.path.relpath(path, top), found.st_mode)).encode())
        if stat.S_ISLNK(found.st_mode):
            digest.update(os.readlink(path))
            continue
        digest.update(repr(found.st_mtime_ns).encode())
        digest.update(repr([(x, os.getxattr(path, x)) for x in sorted(os.listxattr(path))]).encode())
        if stat.S_ISREG(found.st_mode):
            digest.update(repr((found.st_size, found.st_nlink)).encode())
            with open(path, "rb") as file:
                digest.update(file.read())
print(digest.hexdigest())
"""


def tree_digest(top: Path) -> str:
    """One SHA-256 for names, kinds, modes, times, attributes, links and content beneath a directory."""
    argv = [sys.executable, "-c", DIGEST, str(top)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def make_odd_tree(directory: Path, *, big_bytes: int = 0) -> None:
    """Odd names, modes and times, links of every kind, a sparse file, an empty and a closed directory."""
    top = os.fsencode(directory)
    chance = random.Random(7)  # noqa: S311 - data
    for name in (b"src/deep/er", b"empty", b"closed"):
        os.makedirs(os.path.join(top, name))
    names = [
        b"plain",
        b"not \xff\xfe utf-8",
        b"new\nline",
        b" lead",
        b"-dash",
        b"a*?[x]",
        b"\xc3\xa9",
    ]
    for name in [*names, b"src/deep/er/file", b"closed/file", b"n" * 255]:
        content = chance.randbytes(chance.randrange(9000))
        with open(os.path.join(top, name), "wb") as file:
            file.write(content)
    os.chmod(os.path.join(top, b"plain"), 0o751)  # noqa: S103 - data
    os.chmod(os.path.join(top, b"-dash"), 0o400)
    os.utime(os.path.join(top, b" lead"), ns=(1, 1_234_567_890_123_456_789))
    os.symlink(b"../nowhere\xff", os.path.join(top, b"dangling"))
    os.symlink(b"/etc/hostname", os.path.join(top, b"absolute"))
    os.symlink(b"src", os.path.join(top, b"to-directory"))
    os.link(os.path.join(top, b"plain"), os.path.join(top, b"src/same"))
    with open(os.path.join(top, b"sparse"), "wb") as file:
        file.truncate(32 << 20)
        file.seek(3 << 20)
        file.write(b"data between two holes")
    with open(os.path.join(top, b"big"), "wb") as file:
        file.writelines(chance.randbytes(1 << 20) for _ in range(0, big_bytes, 1 << 20))
    os.chmod(os.path.join(top, b"closed"), 0o555)  # noqa: S103 - data
