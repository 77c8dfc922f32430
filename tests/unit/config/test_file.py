"""The configuration file on disk: whatever lies in its place is read or refused in words."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
import pytest

from scratchflow.config.file import UsersDirectory, users_directory
from scratchflow.config.settings import Asked, load_settings
from scratchflow.flows import config as flow
from scratchflow.model.errors.config import (
    ConfigBadValue,
    ConfigMissing,
    ConfigUnreadable,
    ConfigUnwritable,
)
from tests.unit.config.written import load


def test_a_directory_in_the_files_place_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigUnreadable, match="is a directory"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"\x00\x01", b"a = '\xff'", b"\x7fELF\x00"])
def test_a_binary_file_is_a_clear_error(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigUnreadable, match=r"binary file|not UTF-8"):
        load(file)


def test_an_endless_file_is_a_clear_error(file: Path) -> None:
    file.write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(ConfigUnreadable, match="larger than 1 MiB"):
        load(file)


def test_a_device_or_a_socket_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigUnreadable, match="it is a device"):
        load(Path("/dev/zero"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(ConfigUnreadable, match="it is a socket"):
            load(tmp_path / "socket")


def test_dev_null_is_an_empty_configuration() -> None:
    assert load(Path("/dev/null")).name == "local"


def test_a_pipe_may_carry_the_configuration() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"[profiles.a]")
    os.close(writing)
    assert load(Path(f"/dev/fd/{reading}")).name == "a"
    os.close(reading)


def test_an_unreadable_file_is_a_clear_error(file: Path) -> None:
    file.write_text("")
    file.chmod(0)
    with as_somebody_else(), pytest.raises(ConfigUnreadable, match="permission denied"):
        load(file)


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Root may read everything, so root steps down; anybody else is somebody else already."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(me)


def test_a_missing_file_that_was_asked_for_is_an_error(file: Path) -> None:
    with pytest.raises(ConfigMissing):
        load(file)


def test_a_byte_order_mark_and_dos_line_ends_are_read(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf[profiles.a]\r\nlogin = "x"\r\n')
    assert load(file).profile.login == "x"


def test_a_place_that_may_not_be_entered_is_a_clear_error(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    asked = Asked(config=str(closed / "config.toml"))
    with as_somebody_else():
        with pytest.raises(ConfigUnreadable, match="permission denied"):
            flow.path(asked, {})
        for key in ("login", "profiles.a.login"):
            with pytest.raises((ConfigUnreadable, ConfigUnwritable), match="permission denied"):
                flow.change(asked, {}, lambda _: None, key, "x", dry_run=False)


def test_a_relative_config_in_a_deleted_directory_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        with pytest.raises(ConfigUnreadable, match="current directory is gone"):
            load_settings(Asked(config="config.toml"), {})
    finally:
        os.chdir(tmp_path)


def test_the_usual_place_is_never_relative_to_the_current_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for asked in (Asked(), Asked(config="/dev/null")):
        with pytest.raises(ConfigBadValue, match="set HOME"):
            load_settings(asked, {})


@pytest.mark.parametrize("name", ["with $dollar", "line\nend"])
def test_an_odd_home_is_a_clear_error(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", f"/{name}")
    with pytest.raises(ConfigBadValue, match="environment"):
        load(file, "")


@pytest.mark.parametrize("kind", ["cache", "config", "data", "state"])
@pytest.mark.parametrize(
    "asked", [None, "", " ", "/elsewhere", "/elsewhere ", "/with space/é", "/twice//", "relative"]
)
@pytest.mark.parametrize("home", [None, "", "/home/ann", "/home/ann/", "/", "ann"])
def test_the_users_directories_are_where_platformdirs_says(
    kind: UsersDirectory, asked: str | None, home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in ((f"XDG_{kind.upper()}_HOME", asked), ("HOME", home)):
        monkeypatch.delenv(variable, raising=False)
        if value is not None:
            monkeypatch.setenv(variable, value)
    try:
        expected = getattr(platformdirs, f"user_{kind}_path")("scratchflow", appauthor=False)
    except RuntimeError:
        expected = Path()
    if expected.is_absolute():
        assert users_directory(kind) == expected
    else:
        with pytest.raises(ConfigBadValue, match="HOME"):
            users_directory(kind)


def test_the_usual_case_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scratchflow.config.file._platform_directory", None)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/ann")
    assert users_directory("config") == Path("/home/ann/.config/scratchflow")
