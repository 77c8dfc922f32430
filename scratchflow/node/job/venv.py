"""Makes a venv work at another path: its scripts and `activate` name the path that it was made at."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

_PLACE = re.compile(rb"^\s*(?:export )?VIRTUAL_ENV=(['\"]?)(/[^'\"\n]+)\1\s*$", re.MULTILINE)
_LIMIT_BYTES = 1 << 20


def move_venv(venv: Path) -> bool:
    """Rewrites the old path in the files of `bin`; whether there was anything to rewrite."""
    try:
        match = _PLACE.search((venv / "bin/activate").read_bytes())
    except OSError:
        return False
    old, new = (match[2] if match else b""), os.fsencode(venv)
    if not old or old == new:
        return False
    for file in sorted((venv / "bin").iterdir()):
        found = os.lstat(file)
        if stat.S_ISREG(found.st_mode) and found.st_size <= _LIMIT_BYTES:
            content = file.read_bytes()
            if old in content and b"\0" not in content:
                _rewrite(file, content.replace(old, new), stat.S_IMODE(found.st_mode))
    return True


def _rewrite(file: Path, content: bytes, mode: int) -> None:
    file.unlink()  # it may be closed to writing, or have a second name
    file.write_bytes(content)
    file.chmod(mode)
