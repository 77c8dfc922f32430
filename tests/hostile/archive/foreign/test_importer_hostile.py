"""Foreign archives that mean harm: nothing outside the target, no hang, a clear error."""

from __future__ import annotations

import os
import struct
import subprocess
import time

import lz4.frame
import pytest

from scratchflow.archive.files import holes as sparse
from scratchflow.model.errors.snapshots import SnapshotDamaged, UnsafeMember
from tests.hostile.archive.conftest import Range, member, packed, pax, tar_header

LINK_OUT = member(b"out", kind=b"2", link=b"..")
SIZE_NEGATIVE = b"\xff" * 12

UNSAFE = {
    "absolute": packed(member(b"/tmp/scratchflow-evil", b"x")),
    "parent": packed(member(b"../canary", b"x")),
    "parent-deep": packed(member(b"a/b/../../../canary", b"x")),
    "parent-at-end": packed(member(b"a/..", b"", kind=b"5")),
    "parent-in-prefix": packed(member(b"canary", b"x", tail=bytes(80) + b"..")),
    "absolute-in-prefix": packed(member(b"canary", b"x", tail=bytes(80) + b"/etc")),
    "pax-path-absolute": packed(pax({b"path": b"/etc/cron.d/x"}), member(b"fine", b"x")),
    "pax-path-parent": packed(pax({b"path": b"../../canary"}), member(b"fine", b"x")),
    "pax-path-nul": packed(pax({b"path": b"a\0b"}), member(b"fine", b"x")),
    "global-pax-path": packed(pax({b"path": b"../canary"}, b"g"), member(b"fine", b"x")),
    "gnu-long-name-parent": packed(member(b"@", b"../canary\0", kind=b"L"), member(b"f", b"x")),
    "sparse-name-parent": packed(
        pax({b"GNU.sparse.major": b"1", b"GNU.sparse.minor": b"0", b"GNU.sparse.name": b"../canary", b"GNU.sparse.realsize": b"0"}),
        member(b"f", b"0\n".ljust(512, b"\0")),
    ),
    "empty-name": packed(member(b"", b"x")),
    "only-dot-file": packed(member(b".", b"x")),
    "component-too-long": packed(pax({b"path": b"n" * 256}), member(b"f", b"x")),
    "path-too-long": packed(pax({b"path": b"d/" * 40_000 + b"f"}), member(b"f", b"x")),
    "through-symlink": packed(LINK_OUT, member(b"out/canary", b"x")),
    "through-symlink-dir": packed(LINK_OUT, member(b"out/", kind=b"5"), member(b"out/canary", b"x")),
    "symlink-after-content": packed(member(b"out/canary", b"x"), LINK_OUT),
    "beneath-a-file": packed(member(b"f", b"x"), member(b"f/inside", b"x")),
    "hardlink-absolute": packed(member(b"h", kind=b"1", link=b"/etc/passwd")),
    "hardlink-parent": packed(member(b"h", kind=b"1", link=b"../canary")),
    "hardlink-to-nothing": packed(member(b"h", kind=b"1", link=b"none")),
    "hardlink-to-symlink": packed(LINK_OUT, member(b"h", kind=b"1", link=b"out")),
    "hardlink-to-directory": packed(member(b"d/", kind=b"5"), member(b"h", kind=b"1", link=b"d")),
    "hardlink-through-symlink": packed(LINK_OUT, member(b"h", kind=b"1", link=b"out/canary")),
    "hardlink-to-deeper-symlink": packed(
        member(b"d/s", kind=b"2", link=b"../../canary"), member(b"h", kind=b"1", link=b"d/s")
    ),
    "hardlink-forward": packed(member(b"h", kind=b"1", link=b"f"), member(b"f", b"x")),
    "symlink-without-target": packed(member(b"s", kind=b"2")),
    "symlink-target-too-long": packed(pax({b"linkpath": b"t" * 5000}), member(b"s", kind=b"2")),
}  # fmt: skip

_SPARSE_1 = {b"GNU.sparse.major": b"1", b"GNU.sparse.minor": b"0", b"GNU.sparse.name": b"f"}


def _sparse_1(realsize: bytes, text: bytes) -> bytes:
    return packed(
        pax({**_SPARSE_1, b"GNU.sparse.realsize": realsize}), member(b"f", text.ljust(512, b"\0"))
    )


def _old_sparse(entries: bytes, realsize: bytes, *, extended: bool = False) -> bytes:
    tail = bytes(121) + entries.ljust(96, b"\0") + bytes([extended]) + realsize
    header = tar_header(b"f", kind=b"S", magic=b"ustar  \0", tail=tail)
    return packed(header, end=not extended)


DAMAGED = {
    "empty": b"",
    "not-lz4": b"this is no lz4 file at all",
    "magic-only": b"\x04\x22\x4d\x18",
    "cut-in-frame": packed(member(b"f", os.urandom(5000)))[:-100],
    "garbage-after-frame": packed(member(b"f", b"x")) + b"garbage",
    "skippable-cut": packed(member(b"f", b"x")) + struct.pack("<II", 0x184D2A50, 1 << 31) + b"short",
    "skippable-only": struct.pack("<II", 0x184D2A50, 4) + b"....",
    "legacy-huge-block": b"\x02\x21\x4c\x18" + struct.pack("<I", 0x7FFFFFFF),
    "legacy-bad-block": b"\x02\x21\x4c\x18" + struct.pack("<I", 8) + b"\xff" * 8,
    "no-member-at-all": packed(end=False),
    "cut-before-the-content": packed(tar_header(b"f", size=5), end=False),
    "pax-and-no-end": packed(pax({b"path": b"x"}), end=False),
    "cut-in-member": packed(tar_header(b"f", size=5000), end=False),
    "cut-in-header": bytes(lz4.frame.compress(tar_header(b"f")[:300])),
    "bad-checksum": packed(tar_header(b"f").replace(b"0000644", b"0000777")),
    "size-negative": packed(tar_header(b"f", size=SIZE_NEGATIVE)),
    "size-beyond-everything": packed(tar_header(b"f", size=b"\x80" + b"\xff" * 11)),
    "size-not-a-number": packed(tar_header(b"f", size=b"zzzzzzzzzzz\0")),
    "size-underscore": packed(tar_header(b"f", size=b"1_000000000\0")),
    "size-minus": packed(tar_header(b"f", size=b"-0000000001\0")),
    "mode-not-a-number": packed(tar_header(b"f", mode=b"abcdefg\0")),
    "pax-size-negative": packed(pax({b"size": b"-512"}), member(b"f", b"x")),
    "pax-size-huge": packed(pax({b"size": b"9" * 30}), member(b"f", b"x")),
    "pax-mtime-nonsense": packed(pax({b"mtime": b"nan"}), member(b"f", b"x")),
    "pax-record-length-zero": packed(pax(b"0 path=x\n"), member(b"f", b"x")),
    "pax-record-length-negative": packed(pax(b"-5 path=x\n"), member(b"f", b"x")),
    "pax-record-length-huge": packed(pax(b"99999 path=x\n"), member(b"f", b"x")),
    "pax-record-no-equals": packed(pax(b"9 pathx\n"), member(b"f", b"x")),
    "pax-record-no-length": packed(pax(b"path=x\n"), member(b"f", b"x")),
    "pax-header-huge": packed(tar_header(b"x", kind=b"x", size=1 << 30)),
    "long-name-huge": packed(tar_header(b"x", kind=b"L", size=1 << 30)),
    "sparse-negative-offset": _sparse_1(b"1000", b"1\n-5\n10\n"),
    "sparse-beyond-the-end": _sparse_1(b"1000", b"1\n990\n20\n"),
    "sparse-overlapping": _sparse_1(b"1000", b"2\n0\n10\n5\n10\n"),
    "sparse-count-huge": _sparse_1(b"1000", b"99999999999999\n"),
    "sparse-count-nonsense": _sparse_1(b"1000", b"many\n"),
    "sparse-map-never-ends": _sparse_1(b"1000", b"1"),
    "sparse-without-size": packed(pax(_SPARSE_1), member(b"f", b"0\n".ljust(512, b"\0"))),
    "sparse-more-data-than-map": _sparse_1(b"1000", b"1\n0\n900\n"),
    "sparse-0.1-odd-map": packed(pax({b"GNU.sparse.size": b"9", b"GNU.sparse.map": b"0,1,2"}), member(b"f", b"x")),
    "sparse-0.1-negative": packed(pax({b"GNU.sparse.size": b"9", b"GNU.sparse.map": b"-1,1"}), member(b"f", b"x")),
    "old-sparse-negative": _old_sparse(SIZE_NEGATIVE * 2, b"00000001000\0"),
    "old-sparse-beyond": _old_sparse(b"00000007777\0" * 2, b"00000000010\0"),
    "old-sparse-extension-missing": _old_sparse(b"", b"00000000010\0", extended=True),
}  # fmt: skip


HOLES = {
    "one-file-1.0": _sparse_1(b"%d" % (1 << 62), b"0\n"),
    "one-file-old-gnu": _old_sparse(b"", b"\x80" + (1 << 62).to_bytes(11, "big")),
    "larger-than-any-file-system": _sparse_1(b"%d" % (17 << 40), b"0\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLES)
def test_more_holes_than_an_honest_archive_has_are_refused_before_they_are_read(
    shooting_range: Range, name: str
) -> None:
    with pytest.raises(UnsafeMember):
        shooting_range.import_and_extract(HOLES[name])
    assert list(shooting_range.target.iterdir()) == []


def test_holes_of_many_files_are_added_up(
    shooting_range: Range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse, "_FREE_HOLE_BYTES", 4 << 20)
    files = [
        pax({**_SPARSE_1, b"GNU.sparse.name": b"%d" % number, b"GNU.sparse.realsize": b"3000000"})
        + member(b"f", b"0\n".ljust(512, b"\0"))
        for number in range(9)
    ]
    with pytest.raises(UnsafeMember):
        shooting_range.import_and_extract(packed(*files))
    shooting_range.import_and_extract(packed(files[0]))


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_members_are_refused(shooting_range: Range, name: str) -> None:
    started = time.monotonic()
    with pytest.raises(UnsafeMember):
        shooting_range.import_and_extract(UNSAFE[name])
    assert time.monotonic() - started < 5
    assert list(shooting_range.target.iterdir()) == []
    shooting_range.assert_nothing_outside()


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_archives_are_refused(shooting_range: Range, name: str) -> None:
    started = time.monotonic()
    with pytest.raises(SnapshotDamaged):
        shooting_range.import_and_extract(DAMAGED[name])
    assert time.monotonic() - started < 5
    assert list(shooting_range.target.iterdir()) == []
    shooting_range.assert_nothing_outside()


HARMLESS = {
    "dots-and-slashes": (packed(member(b"./a//b/./c", b"x")), {"a/b/c"}),
    "the-directory-itself": (packed(member(b"./", kind=b"5"), member(b"./f", b"x")), {"f"}),
    "venv-link": (packed(member(b"bin/python", kind=b"2", link=b"/usr/bin/python3")), {"bin/python"}),
    "link-upward": (packed(member(b"data", kind=b"2", link=b"../../shared")), {"data"}),
    "link-to-itself": (packed(member(b"loop", kind=b"2", link=b"loop")), {"loop"}),
    "file-twice": (packed(member(b"f", b"old"), member(b"f", b"new")), {"f"}),
    "hardlink-to-itself": (packed(member(b"f", b"x"), member(b"f", kind=b"1", link=b"f")), {"f"}),
    "device": (packed(member(b"null", kind=b"3"), member(b"f", b"x")), {"f"}),
    "unknown-kind": (packed(member(b"what", b"kept", kind=b"Q"), member(b"f", b"x")), {"f", "what"}),
    "symlink-replaces-file": (packed(member(b"out", b"x"), LINK_OUT), {"out"}),
    "file-replaces-symlink": (packed(LINK_OUT, member(b"out", b"x")), {"out"}),
    "hardlink-replaces-symlink": (
        packed(member(b"f", b"x"), LINK_OUT, member(b"out", kind=b"1", link=b"f")), {"f", "out"}
    ),
    "mtime-far-away": (packed(pax({b"mtime": b"99999999999999999"}), member(b"f", b"x")), {"f"}),
    "mtime-negative-base-256": (packed(member(b"f", b"x", mtime=b"\xff" * 12)), {"f"}),
    "a-hundred-thousand-records": (packed(pax(b"6 a=b\n" * 150_000), member(b"f", b"x")), {"f"}),
    "setuid": (packed(member(b"f", b"x", mode=b"0006755\0")), {"f"}),
    "newline-and-escape": (packed(member(b"a\n\x1b[31m", b"x")), {"a\n\x1b[31m"}),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_odd_but_harmless_archives_are_restored(shooting_range: Range, name: str) -> None:
    content, expected = HARMLESS[name]
    shooting_range.import_and_extract(content)
    target = shooting_range.target
    found = {
        path.relative_to(target).as_posix()
        for path in target.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }
    assert found == expected
    for path in target.rglob("*"):
        assert path.lstat().st_mode & 0o6000 == 0
    shooting_range.assert_nothing_outside()


def test_a_bomb_of_zeros_costs_no_memory(shooting_range: Range) -> None:
    """Two GiB of zeros out of 8 MB are read past in pieces; what is damaged is told at the end."""
    script = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from pathlib import Path\n"
        "from scratchflow.archive.foreign.importer import import_archive\n"
        "from scratchflow.model.errors.snapshots import SnapshotDamaged\n"
        "import os\n"
        "os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # as many threads\n"
        "out = os.open(os.devnull, os.O_WRONLY)\n"
        "try:\n"
        "    import_archive(Path(sys.argv[1]), out, archive_id='x', warn=print, lists_chunks=True)\n"
        "except SnapshotDamaged:\n"
        "    sys.exit(7)\n"
    )
    frame = lz4.frame.compress(bytes(64 << 20), content_checksum=True)
    header = lz4.frame.compress(tar_header(b"bomb", size=1 << 40))
    path = shooting_range.home / "foreign.tar.lz4"
    path.write_bytes(header + frame * 16)
    import sys

    done = subprocess.run(
        [sys.executable, "-c", script, path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 7, done.stderr
