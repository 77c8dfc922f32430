"""Bundles that were made before, in the user's cache directory."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from scratchflow.disk.durable import TEMP_PREFIX, replace_file

_KEPT = 8
_ABANDONED_AFTER_S = 3600
_SUFFIX = ".tar.gz"


class BundleCache:
    """A convenience: whatever is wrong with it, a bundle is made anew."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @classmethod
    def of_user(cls) -> BundleCache:
        """Where the system keeps such things."""
        import platformdirs

        return cls(platformdirs.user_cache_path("scratchflow", appauthor=False) / "bundles")

    def get(self, key: str) -> bytes | None:
        """The bundle, if it is there and still the bytes that were put there."""
        with contextlib.suppress(OSError):
            for path in self._directory.glob(f"{key}.*{_SUFFIX}"):
                content = path.read_bytes()
                if path.name == _name(key, content):
                    return content
        return None

    def put(self, key: str, content: bytes) -> None:
        """Keeps the bundle, and lets go of the oldest."""
        with contextlib.suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._directory.chmod(0o700)
            replace_file(self._directory / _name(key, content), content, mode=0o600)
            for path in self._old():
                path.unlink(missing_ok=True)

    def _old(self) -> Iterator[Path]:
        """All but the newest, and what killed runs left."""
        newest_first = sorted(self._directory.iterdir(), key=os.path.getmtime, reverse=True)
        whole = [path for path in newest_first if not path.name.startswith(TEMP_PREFIX)]
        yield from whole[_KEPT:]
        for path in newest_first:
            if path not in whole and time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
                yield path


def _name(key: str, content: bytes) -> str:
    return f"{key}.{hashlib.sha256(content).hexdigest()[:16]}{_SUFFIX}"
