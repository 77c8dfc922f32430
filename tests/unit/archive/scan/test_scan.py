"""What a scan finds, leaves out, and warns about."""

from __future__ import annotations

import os
import resource
import socket
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.archive.scan.ignore import _matcher, _pathspec_matcher
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.names import PackedNames
from scratchflow.archive.write import writer
from tests.unit.archive.conftest import Bench, fill


def _paths(scanned: ScannedTree) -> set[str]:
    return {os.fsdecode(scanned.path(entry)) for entry in range(len(scanned))}


def test_finds_everything_once_and_in_order(bench: Bench) -> None:
    fill(bench.work)
    scanned = bench.scan()
    walked = {
        os.path.relpath(os.path.join(top, name), bench.scratch)
        for top, dirs, files in os.walk(bench.scratch)
        for name in dirs + files
    }
    assert _paths(scanned) == walked
    assert len(scanned) == len(walked)
    for entry in range(len(scanned)):
        assert scanned.find(scanned.path(entry)) == entry
    assert scanned.find(b"work/none") is None
    assert scanned.find(b"work/data/beneath-a-file") is None
    for group, prefix in scanned.groups():
        assert prefix == (scanned.group_path(group) + b"/" if group else b"")


def test_several_roots_also_nested_ones(bench: Bench) -> None:
    for name in ("env/lib", "a/b/c", "other", "work/sub"):
        (bench.scratch / name).mkdir(parents=True)
        (bench.scratch / name / "f").write_bytes(b"x")
    (bench.scratch / "a" / "not-this").write_bytes(b"")
    bench.roots = ["work", "env", "a/b", "missing", "work/sub"]
    assert _paths(bench.scan()) == {
        "work", "work/sub", "work/sub/f", "env", "env/lib", "env/lib/f",
        "a", "a/b", "a/b/c", "a/b/c/f",
    }  # fmt: skip


def test_patterns_leave_paths_out(bench: Bench) -> None:
    for name in ("a.o", "b.c", "keep.log", "drop.log", "build/x", "src/build/y", "src/deep/z.tmp"):
        path = bench.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    (bench.work / ".scratchignore").write_text(
        "# comment\n/build/\nsrc/**/*.tmp\n*.log\n!keep.log\n"
    )
    bench.exclude = ["*.o"]
    assert _paths(bench.scan()) == {
        "work", "work/.scratchignore", "work/b.c", "work/keep.log", "work/src",
        "work/src/build", "work/src/build/y", "work/src/deep",
    }  # fmt: skip


def test_cache_directories_keep_only_their_tag(bench: Bench) -> None:
    for name in ("real", "fake"):
        (bench.work / name).mkdir()
        (bench.work / name / "content").write_bytes(b"x")
    (bench.work / "real" / "CACHEDIR.TAG").write_text(
        "Signature: 8a477f597d28d172789f06886806bc55\n# a cache"
    )
    (bench.work / "fake" / "CACHEDIR.TAG").write_text("no signature")
    found = _paths(bench.scan())
    assert "work/real/CACHEDIR.TAG" in found
    assert "work/real/content" not in found
    assert "work/fake/content" in found


def test_a_root_with_a_cache_tag_is_saved_whole(bench: Bench) -> None:
    """uv marks every environment that it makes as a cache."""
    bench.roots = ["work", "deep/env"]
    env = bench.scratch / "deep/env"
    for directory in (env, env / "cache"):
        directory.mkdir(parents=True)
        (directory / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
        (directory / "content").write_bytes(b"x")
    found = _paths(bench.scan())
    assert "deep/env/content" in found
    assert "deep/env/cache/CACHEDIR.TAG" in found
    assert "deep/env/cache/content" not in found


def test_scratch_may_be_a_symlink(bench: Bench) -> None:
    (bench.work / "f").write_bytes(b"x")
    real = bench.scratch.rename(bench.home / "real")
    bench.scratch.symlink_to(real)
    restored = bench.restore(bench.backup("A"))
    assert (restored / "work/f").read_bytes() == b"x"


@pytest.mark.parametrize("name", ["CACHEDIR.TAG", ".scratchignore"])
def test_special_names_that_are_no_files_are_nothing_special(bench: Bench, name: str) -> None:
    (bench.work / name).mkdir()
    (bench.work / "kept").write_bytes(b"x")
    assert _paths(bench.scan()) == {"work", f"work/{name}", "work/kept"}
    assert bench.warnings == []


_PATTERNS = st.lists(
    st.sampled_from(
        [
            "*.o",
            "build",
            "build/",
            "*.tar.gz",
            "/top",
            "a/b",
            "**/deep",
            "x*",
            "!keep.o",
            "[ab].c",
            " sp",
            "q\\?",
        ]
    ),
    min_size=1,
    max_size=5,
)
_PARTS = st.sampled_from(
    ["a", "b", "build", "top", "deep", "f.o", "keep.o", "a.c", "x1", "q?", "n.tar.gz"]
)


@given(lines=_PATTERNS, parts=st.lists(_PARTS, min_size=1, max_size=3), is_directory=st.booleans())
def test_cheap_patterns_mean_what_git_means(
    lines: list[str], parts: list[str], *, is_directory: bool
) -> None:
    # Parents that match are never entered, so only paths beneath unmatched ones are asked about.
    exact, cheap = _pathspec_matcher(lines), _matcher(lines)
    for end in range(1, len(parts)):
        path = "/".join(parts[:end]).encode()
        if exact(path, parts[end - 1].encode(), True):
            return
    path = "/".join(parts).encode()
    name = parts[-1].encode()
    assert cheap(path, name, is_directory) == exact(path, name, is_directory)


def test_sockets_and_fifos_are_skipped_with_a_warning(bench: Bench) -> None:
    os.mkfifo(bench.work / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(bench.work, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{here}/sock")
        os.close(here)
        scanned = bench.scan()
    assert _paths(scanned) == {"work"}
    assert sorted(bench.warnings) == [
        ("files.skipped", b"work/fifo", "is a FIFO, which is not saved"),
        ("files.skipped", b"work/sock", "is a socket, which is not saved"),
    ]


def test_deep_bushy_tree_needs_few_descriptors(bench: Bench) -> None:
    descriptor = os.open(bench.work, os.O_RDONLY)
    for _ in range(300):
        for name in ("a", "m", "z"):
            os.mkdir(name, dir_fd=descriptor)
        inside = os.open("m", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inside
    os.close(descriptor)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (160, hard))
    try:
        index = bench.backup("A")
        restored = bench.restore(index)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(index) == 901
    assert bench.warnings == []
    subprocess.run(["rm", "-rf", bench.work, restored], check=True)


def test_unreadable_files_and_directories_are_warned_about(bench: Bench) -> None:
    fill(bench.work)
    (bench.work / "secret").write_bytes(b"x")
    (bench.work / "secret").chmod(0)
    (bench.work / "closed").mkdir()
    (bench.work / "closed" / "inside").write_bytes(b"x")
    (bench.work / "closed").chmod(0)
    index = bench.backup("A")
    found = sorted((code, path) for code, path, _ in bench.warnings)
    assert found == [
        ("files.unreadable", b"work/closed"),
        ("files.unreadable", b"work/secret"),
    ], found
    assert index.find(b"work/secret") is None
    assert index.find(b"work/closed") is not None
    assert index.find(b"work/data") is not None
    again = writer.plan(bench.settled(), index, bench.cache, warn=bench.warn)
    assert again.unchanged, vars(again.found)
    bench.restore(index)
    (bench.work / "closed").chmod(0o700)


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")), max_size=30))
def test_packed_names_hold_what_was_put_in(names: list[bytes]) -> None:
    packed = PackedNames()
    packed.extend(names[: len(names) // 2])
    for name in names[len(names) // 2 :]:
        packed.append(name)
    again = PackedNames.from_blob(bytes(packed.blob), len(names))
    for table in (packed, again):
        assert list(table) == names
        assert table.slice(0, len(names)) == names
        assert list(table.starts) == list(again.starts)


def test_names_beyond_one_piece_are_found_again() -> None:
    names = [b"%07d" % number + b"x" * 50 for number in range(60_000)]
    packed = PackedNames()
    packed.extend(names)
    again = PackedNames.from_blob(bytes(packed.blob), len(names))
    assert again.starts == packed.starts
    assert again[59_999] == names[-1]
