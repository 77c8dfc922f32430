"""Tar headers: what we write, GNU tar and Python read as we meant it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scratchflow.archive.format.tar_headers import FILE, member_header, plain_file_header

_NAMES = st.binary(min_size=1, max_size=120).filter(lambda name: not {0, ord("/")} & {*name})


@given(
    path=st.lists(_NAMES, min_size=1, max_size=5).map(b"/".join),
    mode=st.integers(0, 0o177777),
    mtime_s=st.integers(-(1 << 40), 1 << 40),
    size=st.integers(0, 1 << 40),
    owner=st.tuples(st.integers(0, 1 << 31), st.integers(0, 1 << 31)),
)
def test_the_quick_header_is_the_same_header(
    path: bytes, mode: int, mtime_s: int, size: int, owner: tuple[int, int]
) -> None:
    slow = member_header(path, kind=FILE, mode=mode, mtime_s=mtime_s, size=size, owner=owner)
    assert plain_file_header(path, mode, mtime_s, size, owner) == slow
