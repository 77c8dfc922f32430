"""Makes archives that mean harm: foreign ones member by member, ours with forged indexes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import lz4.frame
import msgspec
import pytest

from scratchflow.archive.foreign import importer as foreign
from scratchflow.archive.format.container import (
    FOOTER_BYTES,
    INDEX_MAGIC,
    Footer,
    pack_footer,
    skippable_frame,
    split_skippable,
)
from scratchflow.archive.format.index_codec import Header, dump_index
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.restore import extract
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import scan_tree
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write import writer

CANARY = b"untouched"


class Range:
    """A directory with a target inside it, and canaries around that nobody may touch."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.target = home / "jail" / "target"
        self.target.mkdir(parents=True)
        self.archive = home / "evil.tar.lz4"
        (home / "canary").write_bytes(CANARY)
        (home / "jail" / "canary").write_bytes(CANARY)

    def warn(self, code: str, path: bytes, message: str) -> None:
        """Nobody listens."""

    def import_and_extract(self, content: bytes) -> Index:
        """What `restore --from FILE` does."""
        (self.home / "foreign.tar.lz4").write_bytes(content)
        with self.archive.open("wb", buffering=0) as out:
            foreign.import_archive(
                self.home / "foreign.tar.lz4",
                out,
                archive_id="evil",
                warn=self.warn,
                lists_chunks=True,
            )
        return self.extract()

    def extract(self) -> Index:
        index = open_index(self.archive)
        extract.extract(index, lambda _: self.archive, self.target, warn=self.warn)
        return index

    def assert_nothing_outside(self) -> None:
        outside = {
            path.relative_to(self.home).as_posix()
            for path in self.home.rglob("*")
            if self.target not in path.parents and path != self.target
        }
        assert outside <= {"canary", "jail", "jail/canary", "evil.tar.lz4", "foreign.tar.lz4", "source", "source/work", "source/work/a", "source/work/b", "source/work/d", "source/work/d/e", "source/work/l", "source/work/s"}  # fmt: skip
        assert (self.home / "canary").read_bytes() == CANARY
        assert (self.home / "jail" / "canary").read_bytes() == CANARY


@pytest.fixture
def shooting_range(tmp_path: Path) -> Range:
    return Range(tmp_path)


def tar_header(
    name: bytes,
    kind: bytes = b"0",
    size: int | bytes = 0,
    link: bytes = b"",
    mode: bytes = b"0000644\0",
    mtime: bytes = b"00000000000\0",
    magic: bytes = b"ustar\x0000",
    tail: bytes = b"",
) -> bytes:
    """A header with any bytes in any field and the right checksum."""
    shown = size if isinstance(size, bytes) else b"%011o\0" % size
    start = name.ljust(100, b"\0") + mode + b"0000000\0" * 2 + shown + mtime
    rest = kind + link.ljust(100, b"\0") + magic + tail
    header = (start + b" " * 8 + rest).ljust(512, b"\0")
    return header[:148] + b"%06o\0 " % sum(header) + header[156:]


def member(name: bytes, content: bytes = b"", **fields: object) -> bytes:
    """A whole member."""
    header = tar_header(name, size=len(content), **fields)  # type: ignore[arg-type]
    return header + content + bytes(-len(content) % 512)


def pax(records: bytes | dict[bytes, bytes], kind: bytes = b"x") -> bytes:
    """A pax header; a dict is written as it should be."""
    if isinstance(records, dict):
        records = b"".join(_record(key, value) for key, value in records.items())
    return member(b"pax", records, kind=kind)


def _record(key: bytes, value: bytes) -> bytes:
    body = b" " + key + b"=" + value + b"\n"
    length = len(body) + 1
    while len(str(length)) + len(body) != length:
        length += 1
    return b"%d" % length + body


def packed(*parts: bytes, end: bool = True) -> bytes:
    """Members as a `.tar.lz4`."""
    tar = b"".join(parts) + bytes(1024 if end else 0)
    return bytes(lz4.frame.compress(tar, content_checksum=True))


def good_archive(ground: Range) -> None:
    """A small archive of ours at `ground.archive`, to be forged from."""
    work = ground.home / "source" / "work"
    (work / "d").mkdir(parents=True)
    (work / "a").write_bytes(b"a" * 1000)
    (work / "b").write_bytes(b"b" * 2000)
    (work / "d" / "e").write_bytes(b"e" * 3000)
    (work / "l").hardlink_to(work / "a")
    (work / "s").symlink_to("a")
    scanned = scan_tree(work.parent, ["work"], IgnoreRules(), ground.warn)
    planned = writer.plan(scanned, None, warn=ground.warn)
    with ground.archive.open("wb", buffering=0) as out:
        writer.write(planned, out, archive_id="evil", warn=ground.warn)


def forge_index(ground: Range, change: Callable[[Index], object]) -> None:
    """Rewrites the index of the good archive, every checksum right again."""
    good_archive(ground)
    index = open_index(ground.archive)
    change(index)
    _put_index(ground.archive, dump_index(index))


def forge_frames(
    ground: Range, change: Callable[[Header, list[bytes]], tuple[Header | bytes, list[bytes]]]
) -> None:
    """Rewrites the raw frames of the index, every checksum right again."""
    good_archive(ground)
    content = ground.archive.read_bytes()
    region = _region(content)
    contents = [bytes(part) for part in split_skippable(memoryview(region), INDEX_MAGIC)]
    header = msgspec.msgpack.decode(contents[0], type=Header)
    changed, pieces = change(header, contents[1:])
    first = changed if isinstance(changed, bytes) else msgspec.msgpack.encode(changed)
    _put_index(ground.archive, [skippable_frame(INDEX_MAGIC, p) for p in [first, *pieces]])


def _region(content: bytes) -> bytes:
    offset = int.from_bytes(content[-FOOTER_BYTES + 20 : -FOOTER_BYTES + 28], "little")
    return content[offset:-FOOTER_BYTES]


def _put_index(path: Path, frames: Iterable[bytes]) -> None:
    content = path.read_bytes()
    data = content[: len(content) - FOOTER_BYTES - len(_region(content))]
    region = b"".join(frames)
    footer = Footer(
        len(data),
        len(region),
        hashlib.sha256(region).digest(),
        WholeDigest().text(data + region),
    )
    path.write_bytes(data + region + pack_footer(footer))


def with_header(**changes: object) -> Callable[[Header, list[bytes]], tuple[Header, list[bytes]]]:
    """A change of the index header alone."""

    def change(header: Header, pieces: list[bytes]) -> tuple[Header, list[bytes]]:
        return msgspec.structs.replace(header, **changes), pieces

    return change
