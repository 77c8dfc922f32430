"""Attributes of the user's own: read, set and replaced on an open file, and no others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.archive.files.xattrs import read_xattrs, replace_xattrs, set_xattrs


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    file = tmp_path / "file"
    file.write_text("x")
    try:
        os.setxattr(file, "user.probe", b"")
    except OSError:
        pytest.skip("this file system has no attributes")
    os.removexattr(file, "user.probe")
    opened = os.open(file, os.O_RDWR)
    yield opened
    os.close(opened)


def test_what_was_set_is_read(descriptor: int) -> None:
    wanted = {b"user.a": b"\0\xff", b"user.caf\xe9": b"", b"user.long": b"x" * 1000}
    assert read_xattrs(descriptor) == {}
    assert set_xattrs(descriptor, wanted)
    assert read_xattrs(descriptor) == wanted


def test_attributes_of_the_system_are_never_set(descriptor: int) -> None:
    harm = {b"security.capability": b"x", b"trusted.x": b"x", b"system.posix_acl_access": b"x"}
    assert set_xattrs(descriptor, {**harm, b"user.a": b"1"})
    assert read_xattrs(descriptor) == {b"user.a": b"1"}
    assert {"user.a"} == {name for name in os.listxattr(descriptor) if name[:9] != "security."}


def test_replacing_removes_what_is_not_wanted(descriptor: int) -> None:
    set_xattrs(descriptor, {b"user.old": b"1", b"user.same": b"1"})
    assert replace_xattrs(descriptor, {b"user.same": b"2", b"user.new": b"3"})
    assert read_xattrs(descriptor) == {b"user.same": b"2", b"user.new": b"3"}
    assert replace_xattrs(descriptor, {})
    assert read_xattrs(descriptor) == {}


def test_an_attribute_that_vanishes_while_it_is_read_costs_no_other(
    descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_xattrs(descriptor, {b"user.a": b"1", b"user.b": b"2"})
    real = os.listxattr(descriptor)
    monkeypatch.setattr(os, "listxattr", lambda _: ["user.gone", *real])
    assert read_xattrs(descriptor) == {b"user.a": b"1", b"user.b": b"2"}


def test_what_does_not_fit_is_said(descriptor: int) -> None:
    assert not set_xattrs(descriptor, {b"user.huge": bytes(1 << 20)})
    assert not replace_xattrs(descriptor, {b"user." + b"n" * 300: b""})


def test_a_file_system_without_attributes_has_none() -> None:
    with open("/proc/self/status", "rb") as file:
        assert read_xattrs(file.fileno()) == {}
        assert not set_xattrs(file.fileno(), {b"user.a": b"1"})
        assert replace_xattrs(file.fileno(), {})
