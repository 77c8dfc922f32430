"""A directory from anywhere as the root of an archive."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.archive.compare.plan import plan
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.verify import verify_archive
from scratchflow.archive.restore.extract import extract
from scratchflow.archive.scan.brought import BringRules, scan_directory
from scratchflow.archive.write.writer import write
from tests.odd_tree import make_odd_tree, tree_digest

TAG = b"Signature: 8a477f597d28d172789f06886806bc55"
ID = "20261115T093000Z-3f2a9c"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "not the name of a workspace"
    directory.mkdir(mode=0o755)
    return directory


def no_warning(code: str, path: bytes, message: str) -> None:
    raise AssertionError((code, path, message))


def paths(directory: Path, rules: BringRules, name: str = "work") -> list[bytes]:
    tree = scan_directory(directory, name, rules, no_warning)
    return sorted(tree.path(entry) for entry in range(len(tree)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["work", "deep/er/work"])
def test_it_comes_out_of_its_archive_as_it_was(project: Path, tmp_path: Path, name: str) -> None:
    make_odd_tree(project, big_bytes=9 << 20)
    scanned = scan_directory(project, name, BringRules([]), no_warning)
    archive = tmp_path / f"{ID}.tar.lz4"
    with archive.open("xb") as file:
        write(plan(scanned, None, warn=no_warning), file.fileno(), archive_id=ID, warn=no_warning)
    assert verify_archive(archive) == []
    index = open_index(archive)
    assert index.roots == [name]
    out = tmp_path / "out"
    out.mkdir()
    extract(index, lambda _: archive, out, warn=no_warning)
    assert tree_digest(out / name) == tree_digest(project)
    assert (out / name).stat().st_mode & 0o777 == 0o700


def test_the_directory_above_need_not_be_readable(project: Path) -> None:
    (project / "file").touch()
    project.parent.chmod(0o311)
    try:
        assert paths(project, BringRules([])) == [b"work", b"work/file"]
    finally:
        project.parent.chmod(0o700)


def test_what_is_excluded_stays_behind_and_is_told(project: Path) -> None:
    for name in ("a.o", "src/b.o", "src/b.c", "data/large", "cache/x"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).touch()
    (project / ".scratchignore").write_text("/data/\n")
    (project / "cache/CACHEDIR.TAG").write_bytes(TAG)
    rules = BringRules(["*.o"])
    assert paths(project, rules) == [
        b"work",
        b"work/.scratchignore",
        b"work/cache",
        b"work/cache/CACHEDIR.TAG",
        b"work/src",
        b"work/src/b.c",
    ]
    assert rules.left_out == 4
    assert sorted(rules.first_left_out) == [b"a.o", b"cache/", b"data/", b"src/b.o"]


def test_of_many_paths_that_stay_behind_the_first_are_named(project: Path) -> None:
    for number in range(100):
        (project / f"{number:03}.o").touch()
    rules = BringRules(["*.o"])
    assert paths(project, rules) == [b"work"]
    assert (rules.left_out, len(rules.first_left_out)) == (100, 10)


def test_only_what_is_tracked_and_the_repository(project: Path) -> None:
    pointers = ("module/kept", "module/.git", "other-repository/.git")
    of_git = (".git/HEAD", ".github/kept", ".gitx", *pointers)
    for name in ("kept", "src/kept", "src/other", "other", *of_git):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).touch()
    tracked = [b"kept", b"src/kept", b".github/kept", b"module/kept", b"gone"]
    rules = BringRules(["src/secret"], tracked)
    found = paths(project, rules)
    assert [path.removeprefix(b"work/") for path in found[1:]] == [
        b".git",
        b".git/HEAD",
        b".github",
        b".github/kept",
        b"kept",
        b"module",
        b"module/.git",
        b"module/kept",
        b"src",
        b"src/kept",
    ]
    assert sorted(rules.first_left_out) == [b".gitx", b"other", b"other-repository/", b"src/other"]


def test_what_cannot_be_brought_is_told_with_its_full_path(project: Path) -> None:
    os.mkfifo(project / "fifo")
    told: list[tuple[str, bytes]] = []
    scan_directory(project, "work", BringRules([]), lambda code, path, _: told.append((code, path)))
    assert told == [("files.skipped", os.fsencode(project / "fifo"))]


def test_a_directory_that_cannot_be_read_arrives_empty_and_can_be_entered(project: Path) -> None:
    (project / "closed/inside").mkdir(parents=True)
    (project / "closed").chmod(0)
    tree = scan_directory(project, "work", BringRules([]), lambda *_: None)
    (project / "closed").chmod(0o700)
    entry = tree.find(b"work/closed")
    assert entry is not None
    assert tree.mode[entry] & 0o777 == 0o700
    assert tree.find(b"work/closed/inside") is None
