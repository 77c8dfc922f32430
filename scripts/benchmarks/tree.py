"""A realistic workspace for measuring: sources, Python packages and shared objects of this machine."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

SOURCES = ("/usr/include", "/usr/lib/python3", "/usr/share", "/usr/lib")
SMALL_BYTES = 128 * 1024


def make_tree(target: Path, *, files: int, size_bytes: int) -> None:
    """Fills `target` with copies of the machine's own files: mostly small ones, the bytes in big ones.

    The same machine gives the same tree. What is too few is taken again under another name.
    """
    small, big = _candidates()
    left_bytes = size_bytes
    for number in range(files):
        pool = big if _needs_big(number, files, left_bytes, size_bytes) else small
        source = pool[number % len(pool)]
        left_bytes -= _copy(source, target / f"part-{number // len(small)}", number)
    _link_and_nest(target)


def make_small_files(target: Path, *, files: int) -> None:
    """`files` files of about 1 kB, 250 to a directory: for growth, where only the count matters."""
    content = random.Random(1).randbytes(512).hex().encode()  # noqa: S311 - not for secrets
    for number in range(files):
        directory = target / f"{number // 62500:03d}" / f"{number // 250:06d}"
        if number % 250 == 0:
            directory.mkdir(parents=True)
        with open(directory / f"file-{number:08d}.py", "wb") as file:
            file.write(b"%d\n" % number)
            file.write(content)


def change_some(target: Path, *, share: float, seed: int) -> int:
    """Appends a line to a share of the small files; returns how many."""
    names = sorted(path for path in target.rglob("*") if path.is_file() and not path.is_symlink())
    names = [path for path in names if path.stat().st_size < SMALL_BYTES]
    chosen = random.Random(seed).sample(names, max(1, int(len(names) * share)))  # noqa: S311
    for path in chosen:
        os.chmod(path, 0o644)
        with open(path, "ab") as file:
            file.write(b"# changed %d\n" % seed)
    return len(chosen)


def _candidates() -> tuple[list[str], list[str]]:
    small: list[str] = []
    big: list[str] = []
    for path in sorted(set(_regular_files())):
        size = os.lstat(path).st_size
        (small if size < SMALL_BYTES else big).append(path)
    # Big files in a fixed shuffle, so that libraries, data and binaries mix.
    random.Random(0).shuffle(big)  # noqa: S311 - not for secrets
    return small, big


def _regular_files() -> Iterator[str]:
    for source in SOURCES:
        for directory, _, names in os.walk(source):
            for name in names:
                path = os.path.join(directory, name)
                if os.path.isfile(path) and not os.path.islink(path) and os.access(path, os.R_OK):
                    yield path


def _needs_big(number: int, files: int, left_bytes: int, size_bytes: int) -> bool:
    """One in fifty is big, as long as the bytes last."""
    return number % 50 == 0 and left_bytes > size_bytes * (1 - number / files) * 0.3


def _copy(source: str, part: Path, number: int) -> int:
    """Copies under `part`, never twice to one name; returns the size."""
    relative = source.lstrip("/")
    target = part / relative
    if target.exists():
        target = target.with_name(f"{number}-{target.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    return target.stat().st_size


def _link_and_nest(target: Path) -> None:
    (target / "python").symlink_to("/usr/bin/python3")
    (target / "empty").mkdir()
