"""The configuration file on disk: where it is, its text in, its text out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from scratchflow.disk.durable import replace_file
from scratchflow.model.errors.config import (
    ConfigBadValue,
    ConfigMissing,
    ConfigUnreadable,
    ConfigUnwritable,
)
from scratchflow.model.text import printable

UsersDirectory = Literal["cache", "config", "data", "state"]

PATH_VARIABLE = "SCRATCHFLOW_CONFIG"
# Far beyond any real file; keeps an endless pipe from eating the memory.
MAX_BYTES = 1 << 20


def config_path(flag: str | None, environment: Mapping[str, str]) -> tuple[Path, bool]:
    """The file to use, and whether somebody asked for just this one."""
    asked = flag or environment.get(PATH_VARIABLE)
    if asked:
        return _absolute(os.path.expanduser(asked)), True
    return users_directory("config") / "config.toml", False


def users_directory(kind: UsersDirectory) -> Path:
    """Where the user's programs keep such things; never a place beneath the current directory."""
    directory = _plain_directory(kind) or _platform_directory(kind)
    if not directory.is_absolute():
        problem = "no home directory is known; set HOME to an absolute path"
        raise ConfigBadValue(key="HOME", origin="environment", problem=problem)
    return directory


def _plain_directory(kind: UsersDirectory) -> Path | None:
    """What `platformdirs` says in the usual case, without the 3 ms that its import costs every command."""
    home = os.environ.get("HOME", "")
    asked = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    if sys.platform != "linux" or not os.path.isabs(home) or asked != asked.strip():
        return None
    if asked and not os.path.isabs(asked):
        return None
    default = {
        "cache": ".cache",
        "config": ".config",
        "data": ".local/share",
        "state": ".local/state",
    }[kind]
    return Path(asked or f"{home.rstrip('/')}/{default}", "scratchflow")


def _platform_directory(kind: UsersDirectory) -> Path:
    import platformdirs

    find = {
        "cache": platformdirs.user_cache_path,
        "config": platformdirs.user_config_path,
        "data": platformdirs.user_data_path,
        "state": platformdirs.user_state_path,
    }[kind]
    try:
        return find("scratchflow", appauthor=False)
    except RuntimeError:  # newer ones refuse; older ones answer `~/.config`
        return Path()


def utf8_text(path: Path | str) -> str:
    """The path as it is when it is UTF-8 text; else for reading only, its other bytes escaped."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return printable(text)
    return text


def _absolute(path: str) -> Path:
    try:
        return Path(os.path.abspath(path))
    except FileNotFoundError:
        raise ConfigUnreadable(path=path, reason="the current directory is gone") from None


def is_there(path: Path) -> bool:
    """Whether there is a file; a directory above it that we may not enter is an error."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigUnreadable(path=path, reason=_reason(error)) from None
    return True


def read_text(path: Path, *, required: bool) -> str | None:
    """The file's text; None when there is no file and none is required."""
    try:
        raw = _read_bytes(path)
    except FileNotFoundError:
        if required:
            raise ConfigMissing(path=path) from None
        return None
    except OSError as error:
        raise ConfigUnreadable(path=path, reason=_reason(error)) from None
    if len(raw) > MAX_BYTES:
        raise ConfigUnreadable(path=path, reason="it is larger than 1 MiB")
    return _decode(raw, path)


def write_text(path: Path, text: str) -> None:
    """Replaces the file durably; a symlink keeps pointing at it, its mode stays."""
    require_replaceable(path)
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, text.encode("utf-8"), mode=_mode_of(target))
    except OSError as error:
        raise ConfigUnwritable(path=path, reason=_reason(error)) from None


def require_replaceable(path: Path) -> None:
    """Refuses what is there but is no plain file: put in its place, ours would destroy it."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigUnwritable(path=path, reason=_reason(error)) from None
    if not stat.S_ISREG(mode):
        raise ConfigUnwritable(path=path, reason="it is not a regular file")


def _mode_of(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0o600


def _read_bytes(path: Path) -> bytes:
    _refuse_device(path)
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _refuse_device(path: Path) -> None:
    """A pipe may carry a configuration, and /dev/null an empty one; no other device does."""
    status = path.stat()
    if stat.S_ISSOCK(status.st_mode):
        raise ConfigUnreadable(path=path, reason="it is a socket")
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    if is_device and status.st_rdev != os.stat(os.devnull).st_rdev:
        raise ConfigUnreadable(path=path, reason="it is a device")


def _decode(raw: bytes, path: Path) -> str:
    if b"\0" in raw:
        raise ConfigUnreadable(path=path, reason="it is a binary file, not text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8 text (byte {error.start})"
        raise ConfigUnreadable(path=path, reason=reason) from None


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
