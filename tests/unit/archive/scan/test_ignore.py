"""What a pattern, an ignore file or a cache tag leaves out, and what it does not."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.archive.scan.ignore import _matcher, _pathspec_matcher
from scratchflow.archive.scan.scan import ScannedTree
from tests.unit.archive.conftest import Bench


def _paths(scanned: ScannedTree) -> set[str]:
    return {os.fsdecode(scanned.path(entry)) for entry in range(len(scanned))}


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


@pytest.mark.slow
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


def _ignored(bench: Bench, patterns: bytes, *names: str) -> set[str]:
    """Those of these files that an ignore file leaves out."""
    for name in names:
        (bench.work / name).write_bytes(b"x")
    (bench.work / ".scratchignore").write_bytes(patterns)
    return {f"work/{name}" for name in names} - _paths(bench.scan())


def test_an_ignore_file_that_is_cut_off_leaves_nothing_out_by_half_a_pattern(bench: Bench) -> None:
    limit = 1 << 20
    patterns = b"*.o\n".ljust(limit - 4, b"#") + b"\ndata-of-no-use\n"
    assert patterns[:limit].endswith(b"\ndat")
    assert _ignored(bench, patterns, "a.o", "dat", "data-of-no-use") == {"work/a.o"}


@pytest.mark.parametrize("inside", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_a_pattern_ends_with_its_line_and_nowhere_else(bench: Bench, inside: str) -> None:
    odd = f"old{inside}data"
    assert _ignored(bench, f"{odd}\n".encode(), odd, "old", "data") == {f"work/{odd}"}


def test_lines_may_end_as_on_windows_and_with_spaces(bench: Bench) -> None:
    patterns = b"one\r\ntwo  \r\n\r\n#three\r\nfour\t\n"
    names = ("one", "two", "#three", "four", "four\t")
    assert _ignored(bench, patterns, *names) == {"work/one", "work/two", "work/four\t"}


def test_names_that_are_no_text_are_left_out_by_their_bytes(bench: Bench) -> None:
    name = os.fsdecode(b"caf\xe9")
    assert _ignored(bench, b"caf\xe9\n", name, "caf") == {f"work/{name}"}


def test_an_ignore_file_that_is_a_link_is_not_followed(bench: Bench) -> None:
    (bench.home / "patterns").write_text("*\n")
    (bench.work / ".scratchignore").symlink_to(bench.home / "patterns")
    (bench.work / "kept").write_bytes(b"x")
    assert "work/kept" in _paths(bench.scan())


@pytest.mark.parametrize("line", ["[z-a]", "[!z-a]*", "!", "ends in \\", "\\", '[\udce1-"]'])
def test_a_line_that_is_no_pattern_leaves_nothing_out_and_stops_no_backup(
    bench: Bench, line: str
) -> None:
    for name in ("kept", "z", "a.o", "deep/x"):
        (bench.work / name).parent.mkdir(exist_ok=True)
        (bench.work / name).write_bytes(b"x")
    (bench.work / ".scratchignore").write_bytes(os.fsencode(f"{line}\ndeep/*\n*.o\n"))
    bench.exclude = [line] if line.isprintable() else []
    assert _paths(bench.scan()) == {
        "work", "work/.scratchignore", "work/kept", "work/z", "work/deep",
    }  # fmt: skip
