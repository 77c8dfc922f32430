"""What GNU tar reads is read here too, with the same result; where it is odd, with a warning."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import lz4.frame
import pytest

from scratchflow.archive.foreign import importer as foreign
from scratchflow.archive.read import verify
from scratchflow.archive.read.archive_file import open_index
from scratchflow.model.errors.snapshots import ArchiveWithoutEnd, SnapshotDamaged
from tests.unit.archive.conftest import Bench, State, tree_state

ZERO = bytes(512)


def header(
    name: bytes,
    kind: bytes = b"0",
    size: int = 0,
    *,
    magic: bytes = b"ustar\x0000",
    mtime: bytes = b"00000001750\0",
    link: bytes = b"",
) -> bytes:
    """A header with the right checksum."""
    start = name.ljust(100, b"\0") + b"0000755\0" + b"0000000\0" * 2 + b"%011o\0" % size + mtime
    block = (start + b" " * 8 + kind + link.ljust(100, b"\0") + magic).ljust(512, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def member(name: bytes, content: bytes = b"", kind: bytes = b"0") -> bytes:
    return header(name, kind, len(content)) + content + bytes(-len(content) % 512)


def pax(text: bytes, kind: bytes = b"x") -> bytes:
    return member(b"pax", text, kind)


def record(key: bytes, value: bytes) -> bytes:
    body = b" " + key + b"=" + value + b"\n"
    length = next(n for n in range(len(body), len(body) + 9) if len(b"%d" % n) + len(body) == n)
    return b"%d" % length + body


def imported(bench: Bench, tar: bytes) -> State:
    """The tree that an import and a restore give."""
    source = bench.home / "foreign.tar.lz4"
    source.write_bytes(lz4.frame.compress(tar, content_checksum=True))
    with bench.path("F").open("wb", buffering=0) as out:
        done = foreign.import_archive(source, out, archive_id="F", warn=bench.warn)
    assert verify.verify_archive(bench.path("F"), digest=done.digest) == []
    return tree_state(bench.restore(open_index(bench.path("F"))), whole_seconds=True)


def unpacked(bench: Bench, tar: bytes) -> State:
    """The tree that GNU tar gives, which has nothing against the archive."""
    target = bench.home / "by-tar"
    target.mkdir()
    subprocess.run(["tar", "-xpf", "-", "-C", target, "--no-same-owner"], input=tar, check=True)
    return tree_state(target, whole_seconds=True)


def sparse(keys: dict[bytes, bytes], content: bytes) -> bytes:
    records = b"".join(record(b"GNU.sparse." + key, value) for key, value in keys.items())
    return pax(records) + member(b"f", content)


def old_sparse(pairs: list[tuple[int, int]], size: int, content: bytes) -> bytes:
    numbers = b"".join(b"%011o\0%011o\0" % pair for pair in pairs)
    tail = b"ustar  \0" + bytes(121) + numbers.ljust(96, b"\0") + b"\0" + b"%011o\0" % size
    return header(b"s", b"S", len(content), magic=tail) + content + bytes(-len(content) % 512)


F = member(b"f", b"hello")
SPARSE_1 = {b"major": b"1", b"minor": b"0", b"name": b"s"}
MAP = b"2\n1024\n3\n2000\n0\n".ljust(512, b"\0")
END = ZERO * 2
V7_DIRECTORY = header(b"d/", b"\0", magic=b"") + header(b"d/f", b"\0", 1, magic=b"")

ODD = {
    "v7 directory": (V7_DIRECTORY + b"x".ljust(512, b"\0") + header(b"d/", b"\0", magic=b"") + END, []),
    "directory as a file with a size": (header(b"d/", b"0", 4096) + F + header(b"d/", b"0") + END, []),
    "directory with a size": (header(b"d/", b"5", 4096) + F + END, []),
    "half an end": (F + ZERO, []),
    "something after the end": (F + END + member(b"g", b"x") + END, ["archive.more_after_end"]),
    "time with a dot": (pax(record(b"mtime", b"12.")) + F + END, []),
    "time before 1970": (pax(record(b"mtime", b"-12.25")) + F + END, []),
    "padded extended header": (pax(record(b"path", b"other") + bytes(5)) + F + END, []),
    "extended header of Solaris": (pax(record(b"path", b"other"), b"X") + F + END, []),
    "extended header at the end": (F + pax(record(b"path", b"x")) + END, ["archive.odd"]),
    "long name at the end": (F + member(b"@", b"long\0", b"L") + END, ["archive.odd"]),
    "unknown kind": (member(b"what", b"kept", b"Q") + F + END, ["archive.odd_kind"]),
    "volume label": (header(b"label", b"V") + F + END, ["files.skipped"]),
    "incremental dump": (header(b"d/", b"D", 6) + b"Yf\0\0\0\0".ljust(512, b"\0") + F + END, []),
    "hardlink with a size": (F + header(b"h", b"1", 5, link=b"f") + END, []),
    "file that became a link": (F + header(b"f", b"2", link=b"to") + END, []),
    "link that became a file": (header(b"f", b"2", link=b"to") + F + END, []),
    "sparse with data left over": (
        sparse({**SPARSE_1, b"realsize": b"2000"}, MAP + b"abc" + bytes(600)) + F + END, ["archive.odd"]
    ),
    "sparse of another size key": (sparse({**SPARSE_1, b"size": b"2000"}, MAP + b"abc") + F + END, []),
    "sparse with a slash": (
        sparse({**SPARSE_1, b"name": b"s/", b"realsize": b"2000"}, MAP + b"abc") + F + END, []
    ),
    "contiguous file": (member(b"f", b"x", b"7") + END, []),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_archives_are_read_as_gnu_tar_reads_them(bench: Bench, name: str) -> None:
    tar, warnings = ODD[name]
    found = imported(bench, tar)
    assert found
    assert found == unpacked(bench, tar)
    assert [code for code, _, _ in bench.warnings] == warnings


def test_an_empty_entry_of_a_sparse_map_is_passed_over(bench: Bench) -> None:
    """GNU tar takes it for the end of the file and loses what was before: that is not copied."""
    pairs = [(0, 512), (0, 0), (1024, 3), (2000, 0)]
    state = imported(bench, old_sparse(pairs, 2000, b"a" * 512 + b"bcd") + F + END)
    assert state[b"s"][3] == b"a" * 512 + bytes(512) + b"bcd" + bytes(973)
    assert b"f" in state


@pytest.mark.parametrize("sign", [b"", b"-"])
def test_a_time_out_of_range_is_moved_to_the_edge_with_a_warning(bench: Bench, sign: bytes) -> None:
    state = imported(bench, pax(record(b"mtime", sign + b"9" * 25)) + F + END)
    assert b"f" in state
    assert [code for code, _, _ in bench.warnings] == ["archive.odd_time"]


def test_a_time_of_our_own_at_the_edge_is_no_oddity(bench: Bench) -> None:
    (bench.work / "f").write_bytes(b"x")
    edge_ns = (1 << 63) - 1
    os.utime(bench.work / "f", ns=(edge_ns, edge_ns))
    bench.backup("A")
    assert verify.verify_archive(bench.path("A")) == []


@pytest.mark.parametrize("cut", [512 + 3, 512, 1024 + 100], ids=["content", "no content", "header"])
def test_an_archive_that_is_cut_short_is_still_refused(bench: Bench, cut: int) -> None:
    tar = (F + F.replace(b"f", b"g", 1) + END)[:cut]
    source = bench.home / "cut.tar.lz4"
    source.write_bytes(lz4.frame.compress(tar, content_checksum=True))
    with pytest.raises(SnapshotDamaged), bench.path("F").open("wb", buffering=0) as out:
        foreign.import_archive(source, out, archive_id="F", warn=bench.warn)


@pytest.mark.parametrize("name", ["f", "d/"])
def test_an_archive_without_an_end_mark_is_refused_though_every_member_is_whole(
    bench: Bench, name: str
) -> None:
    """A copy that broke off between two LZ4 frames decompresses, and GNU tar reads it without a word."""
    tar = F if name == "f" else header(b"d/", b"5")
    source = bench.home / "it's cut.tar.lz4"
    source.write_bytes(lz4.frame.compress(tar, content_checksum=True))
    with (
        pytest.raises(ArchiveWithoutEnd) as refused,
        bench.path("F").open("wb", buffering=0) as out,
    ):
        foreign.import_archive(source, out, archive_id="F", warn=bench.warn)
    assert refused.value.exit_code == SnapshotDamaged.exit_code
    with pytest.raises(ArchiveWithoutEnd):
        list(foreign.member_names(source))
    ended = bench.home / "ended.tar.lz4"
    command = refused.value.shown_hint.split("`")[1].replace("NEW.tar.lz4", str(ended))
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    with bench.path("F").open("wb", buffering=0) as out:
        foreign.import_archive(ended, out, archive_id="F", warn=bench.warn)
    assert len(list(foreign.member_names(ended))) == 1


def _busy_tree(work: Path, tar_format: str) -> None:
    (work / "d" / "e").mkdir(parents=True)
    (work / "d" / "f").write_bytes(os.urandom(3000))
    (work / "d" / "again").hardlink_to(work / "d" / "f")
    (work / "d" / "link").symlink_to("f")
    (work / "empty").write_bytes(b"")
    for name, data, size in (
        ("end", 0, 1 << 20),
        ("start", 700_000, 1 << 20),
        ("none", -1, 1 << 20),
    ):
        with (work / f"hole-at-{name}").open("wb") as file:
            if data >= 0:
                file.seek(data)
                file.write(b"data" * 2000)
            file.truncate(size)
    if tar_format != "v7":
        (work / ("p" * 60) / ("q" * 60)).mkdir(parents=True)
        (work / ("p" * 60) / ("q" * 60) / ("r" * 60)).write_bytes(b"long")


SPARSE = [["--format=gnu", "-S"], ["--format=oldgnu", "-S"]] + [
    ["--format=pax", "-S", f"--sparse-version={version}"] for version in ("0.0", "0.1", "1.0")
]
PLAIN = [[f"--format={name}"] for name in ("v7", "ustar", "oldgnu", "gnu", "pax")]


@pytest.mark.parametrize("options", [*SPARSE, *PLAIN], ids=" ".join)
def test_whatever_gnu_tar_writes_comes_back_as_gnu_tar_unpacks_it(
    bench: Bench, options: list[str]
) -> None:
    _busy_tree(bench.work, options[0].rpartition("=")[2])
    command = ["tar", *options, "-C", str(bench.scratch), "-cf", "-", "work"]
    tar = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    assert imported(bench, tar) == unpacked(bench, tar)
    assert bench.warnings == []


def test_archives_that_were_joined_come_back_as_gnu_tar_unpacks_them(bench: Bench) -> None:
    one, two = bench.home / "1.tar", bench.home / "2.tar"
    for number, tar in enumerate((one, two)):
        (bench.work / f"f{number}").write_bytes(b"%d" % number)
        (bench.work / "both").write_bytes(b"from %d" % number)
        subprocess.run(["tar", "-C", bench.scratch, "-cf", tar, "work"], check=True)
    subprocess.run(["tar", "--concatenate", "-f", one, two], check=True)
    assert imported(bench, one.read_bytes()) == unpacked(bench, one.read_bytes())
    assert bench.warnings == []


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_what_python_writes_comes_back_as_gnu_tar_unpacks_it(bench: Bench, form: int) -> None:
    _busy_tree(bench.work, "python")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        archive.add(bench.work, "work")
    assert imported(bench, out.getvalue()) == unpacked(bench, out.getvalue())


LZ4 = {
    "legacy": ["-l"],
    "linked blocks": ["-BD"],
    "block checksums": ["-BX"],
    "no checksum": ["--no-frame-crc"],
    "content size": ["--content-size"],
}


@pytest.mark.parametrize("first", LZ4)
@pytest.mark.parametrize("second", LZ4)
def test_frames_of_any_kind_may_follow_each_other(bench: Bench, first: str, second: str) -> None:
    (bench.work / "f").write_bytes(os.urandom(1000) * 300)
    command = ["tar", "-C", str(bench.scratch), "-cf", "-", "work"]
    tar = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip"
    packed = skippable.join(
        subprocess.run(
            ["lz4", "-q", *LZ4[name]], input=part, stdout=subprocess.PIPE, check=True
        ).stdout
        for name, part in ((first, tar[:70_001]), (second, tar[70_001:]))
    )
    source = bench.home / "foreign.tar.lz4"
    source.write_bytes(packed)
    with bench.path("F").open("wb", buffering=0) as out:
        foreign.import_archive(source, out, archive_id="F", warn=bench.warn)
    restored = bench.restore(open_index(bench.path("F")))
    assert tree_state(restored, whole_seconds=True) == tree_state(bench.scratch, whole_seconds=True)
