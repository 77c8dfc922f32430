"""A scratch directory, a place for archives, and a way to compare trees."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scratchflow.archive.files import chunker
from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.archives import Archives, OpenArchive
from scratchflow.archive.read.file_content import damaged_content, with_holes
from scratchflow.archive.restore import apply_delta as delta
from scratchflow.archive.restore import extract
from scratchflow.archive.restore import file_restorer as contents
from scratchflow.archive.restore.displace import Displacing, Held
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.scan.ignore import IgnoreRules
from scratchflow.archive.scan.scan import ScannedTree, scan_tree
from scratchflow.archive.tree import chunks
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write import windows, writer


@dataclass
class Bench:
    """Backs up `scratch` into `store` and restores from there, the way a flow would."""

    home: Path
    roots: list[str] = field(default_factory=lambda: ["work"])
    exclude: list[str] = field(default_factory=list)
    warnings: list[tuple[str, bytes, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scratch = self.home / "scratch"
        self.store = self.home / "store"
        self.work = self.scratch / "work"
        self.work.mkdir(parents=True)
        self.store.mkdir()
        self.cache: ScanCache | None = None

    def warn(self, code: str, path: bytes, message: str) -> None:
        self.warnings.append((code, path, message))

    def scan(self) -> ScannedTree:
        return scan_tree(self.scratch, self.roots, IgnoreRules(self.exclude), self.warn)

    def settled(self) -> ScannedTree:
        """A scan that takes everything for older than it is, so that nothing is racy."""
        scanned = self.scan()
        scanned.started_ns += 10_000_000_000
        return scanned

    def plan(self, parent: Index | None = None, *, cache: bool = True) -> writer.Plan:
        known = self.cache if cache else None
        return writer.plan(self.settled(), parent, known, warn=self.warn)

    def write(self, planned: writer.Plan, archive_id: str) -> Index:
        with self.path(archive_id).open("wb", buffering=0) as out:
            written = writer.write(planned, out, archive_id=archive_id, warn=self.warn)
        self.cache = written.cache
        loaded = open_index(self.path(archive_id))
        assert list(loaded.names) == list(written.index.names)
        return loaded

    def backup(self, archive_id: str, parent: Index | None = None, *, cache: bool = True) -> Index:
        return self.write(self.plan(parent, cache=cache), archive_id)

    def path(self, archive_id: str) -> Path:
        return self.store / f"{archive_id}.tar.lz4"

    def restore(self, index: Index, name: str = "restored") -> Path:
        target = self.home / name
        target.mkdir()
        extract.extract(index, self.path, target, warn=self.warn, existing="none")
        return target

    def restore_plain(self, archive_id: str, name: str = "plain") -> Path:
        target = self.home / name
        target.mkdir()
        with subprocess.Popen(["lz4", "-dc", self.path(archive_id)], stdout=subprocess.PIPE) as lz4:
            subprocess.run(["tar", "-xpf", "-", "-C", target], stdin=lz4.stdout, check=True)
        assert lz4.returncode == 0
        return target

    def delta_to(self, wanted: Index, base: Index | None) -> delta.Applied:
        scanned = self.settled()
        found = delta.find_delta(scanned, base, self.cache, wanted, self.warn)
        displacing = Displacing(Held(scanned), wanted.id, self.warn, clears=True)
        return delta.apply(found, scanned, wanted, self.path, displacing=displacing)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    old = os.umask(0o022)
    yield Bench(tmp_path)
    os.umask(old)


@pytest.fixture(params=["alone", "with helpers"])
def with_and_without_helpers(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything once by this process alone and once with others, however small it is."""
    helped = request.param == "with helpers"
    for module in (writer, extract):
        monkeypatch.setattr(module, "usable_cores", lambda: 2 if helped else 1)
    monkeypatch.setattr(writer, "_BYTES_EACH", 1)
    monkeypatch.setattr(contents, "_FILES_EACH", 1)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of 64 KiB count as large, and are cut into chunks of a few KiB, some at a time."""
    monkeypatch.setattr(windows, "WINDOW_BYTES", 60 << 10)
    monkeypatch.setattr(chunks, "MIN_CHUNKED_BYTES", 64 << 10)
    monkeypatch.setattr(chunker, "MIN_CHUNK_BYTES", 2 << 10)
    monkeypatch.setattr(chunker, "CHUNK_BYTES", 2 << 10)
    monkeypatch.setattr(chunker, "MAX_CHUNK_BYTES", 8 << 10)


State = dict[bytes, tuple[object, ...]]


def tree_state(top: Path, *, whole_seconds: bool = False) -> State:
    """Everything that must come back: kind, mode, mtime, content, targets and shared inodes."""
    state: State = {}
    inodes: dict[int, bytes] = {}
    _collect(os.fsencode(top), b"", state, inodes, 1_000_000_000 if whole_seconds else 1)
    return state


def _collect(
    top: bytes, prefix: bytes, state: State, inodes: dict[int, bytes], unit_ns: int
) -> None:
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    _collect_inside(descriptor, prefix, state, inodes, unit_ns)
    os.close(descriptor)


def _collect_inside(
    directory: int, prefix: bytes, state: State, inodes: dict[int, bytes], unit_ns: int
) -> None:
    for name in sorted(os.fsencode(name) for name in os.listdir(directory)):
        stats = os.stat(name, dir_fd=directory, follow_symlinks=False)
        path = prefix + name
        content: object = None
        if stat.S_ISDIR(stats.st_mode):
            inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
            _collect_inside(inside, path + b"/", state, inodes, unit_ns)
            os.close(inside)
        elif stat.S_ISLNK(stats.st_mode):
            content = os.readlink(name, dir_fd=directory)
        elif stat.S_ISREG(stats.st_mode):
            descriptor = os.open(name, os.O_RDONLY, dir_fd=directory)
            with open(descriptor, "rb") as file:
                content = file.read()
            if stats.st_nlink > 1:
                content = (content, inodes.setdefault(stats.st_ino, path))
        mode = stats.st_mode if not stat.S_ISLNK(stats.st_mode) else 0
        state[path] = (stat.S_IFMT(stats.st_mode), mode, stats.st_mtime_ns // unit_ns, content)


def fill(work: Path) -> None:
    """A small tree with one of everything that a workspace usually holds."""
    (work / "src").mkdir()
    (work / "src" / "main.c").write_bytes(b"int main(void) { return 0; }\n")
    (work / "src" / "empty").write_bytes(b"")
    (work / "bin").mkdir(mode=0o755)
    (work / "bin" / "tool").write_bytes(b"#!/bin/sh\nexit 0\n")
    (work / "bin" / "tool").chmod(0o755)
    (work / "bin" / "python").symlink_to("/usr/bin/python3")
    (work / "loop").symlink_to("loop")
    os.link(work / "src" / "main.c", work / "linked.c")
    (work / "nothing").mkdir()
    (work / "data").write_bytes(os.urandom(300_000))
    os.utime(work / "data", ns=(0, 1_234_567_890_123_456_789))
    (work / "shared").mkdir()
    (work / "shared").chmod(0o2775)
    (work / "src" / "deeper").mkdir()
    (work / "src" / "deeper" / "leaf").write_bytes(b"leaf")
    age_directories(work)


def age_directories(top: Path) -> None:
    """Gives every directory an mtime that nothing would restore by accident."""
    for number, (path, _, _) in enumerate(os.walk(os.fsencode(top))):
        os.utime(path, ns=(0, 1_000_000_000_000_000_000 + number * 3_000_000_001))


def helpers_of_a_killed_asker(script: str, *arguments: Path) -> list[int]:
    """Runs a script that prints the numbers of its helpers, and kills it at once."""
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    ) as asker:
        assert asker.stdout
        helpers = [int(word) for word in asker.stdout.readline().split()]
        asker.kill()
    return helpers


def wait_until_gone(processes: list[int]) -> None:
    """Processes whose parent may be gone: nobody may be there to ask for their exit codes."""
    deadline = time.monotonic() + 20
    while any(_is_running(process) for process in processes):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def read_file(index: Index, entry: int, open_archive: OpenArchive) -> Iterator[bytes]:
    """The content of one file in pieces, holes as zeros; its digest is checked after the last one."""
    digest = StreamDigest(seed=index.seed)
    with Archives(index, open_archive) as archives:
        spans = archives.spans_of(entry)
        stored = (piece for span in spans for piece in archives.pieces_in(span))
        for piece in with_holes(stored, index.sparse.get(entry), index.size[entry]):
            digest.update(piece)
            yield bytes(piece)  # which holds until the next one is asked for
    if digest.digest() != index.digest_of(entry):
        raise damaged_content(index, entry)
