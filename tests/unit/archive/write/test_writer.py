"""What goes in comes out: through our own restore, and through plain `lz4` and `tar`."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scratchflow.archive.read import verify
from scratchflow.archive.write.archive_out import FRAME_BYTES
from tests.unit.archive.conftest import Bench, age_directories, fill, read_file, tree_state

pytestmark = pytest.mark.usefixtures("with_and_without_helpers")


def test_restored_tree_equals_the_original(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
    assert bench.warnings == []


def test_plain_lz4_and_tar_restore_a_full_archive(bench: Bench) -> None:
    fill(bench.work)
    bench.backup("A")
    restored = tree_state(bench.restore_plain("A"), whole_seconds=True)
    assert restored == tree_state(bench.scratch, whole_seconds=True)


def test_python_tarfile_reads_the_stream(bench: Bench) -> None:
    fill(bench.work)
    bench.backup("A")
    raw = subprocess.run(["lz4", "-dc", bench.path("A")], capture_output=True, check=True).stdout
    (bench.home / "plain.tar").write_bytes(raw)
    with tarfile.open(bench.home / "plain.tar") as archive:
        names = set(archive.getnames())
    assert names == {os.fsdecode(path) for path in tree_state(bench.scratch)}


def test_empty_workspace(bench: Bench) -> None:
    index = bench.backup("A")
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
    assert verify.verify_archive(bench.path("A")) == []


@pytest.mark.slow
def test_large_file_spans_frames_and_comes_back(bench: Bench) -> None:
    (bench.work / "before").write_bytes(b"b" * 1000)
    (bench.work / "large").write_bytes(os.urandom(1 << 16) * 128 + b"end")
    (bench.work / "odd").write_bytes(os.urandom(FRAME_BYTES - 512))
    (bench.work / "z").write_bytes(b"z")
    index = bench.backup("A")
    assert len(index.archives[0].raw_ends) > 4
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
    plain = tree_state(bench.restore_plain("A"), whole_seconds=True)
    assert plain == tree_state(bench.scratch, whole_seconds=True)
    assert verify.verify_archive(bench.path("A")) == []


def _sparse(path: Path, size: int, *data: tuple[int, bytes]) -> None:
    with path.open("wb") as file:
        for offset, content in data:
            file.seek(offset)
            file.write(content)
        file.truncate(size)


@pytest.mark.slow
def test_sparse_files_stay_sparse_in_store_and_on_disk(bench: Bench) -> None:
    _sparse(bench.work / "hole", 1 << 28, (1 << 20, b"in the middle"), (200 << 20, b"late"))
    _sparse(bench.work / "nothing-but-hole", 1 << 26)
    _sparse(bench.work / "data-at-end", 1 << 24, ((1 << 24) - 5, b"final"))
    index = bench.backup("A")
    assert bench.path("A").stat().st_size < 200_000
    restored = bench.restore(index)
    plain = bench.restore_plain("A")
    for name in ("hole", "nothing-but-hole", "data-at-end"):
        original = bench.work / name
        for copy in (restored / "work" / name, plain / "work" / name):
            assert copy.stat().st_size == original.stat().st_size
            assert copy.stat().st_blocks <= original.stat().st_blocks + 16
            subprocess.run(["cmp", original, copy], check=True)
    assert verify.verify_archive(bench.path("A")) == []


def test_long_and_raw_names_survive_both_ways(bench: Bench) -> None:
    work = os.fsencode(bench.work)
    for name in (b"x" * 255, b"\xff\xfe" * 100, b"new\nline", b"\xc3\xbc" * 120, b"-rf", b" "):
        with open(work + b"/" + name, "wb") as file:
            file.write(name)
    deep = work + b"/" + b"/".join([b"d" * 60] * 6)
    os.makedirs(deep)
    with open(deep + b"/" + b"\xfd" * 200, "wb") as file:
        file.write(b"deep")
    os.symlink(b"t" * 300, work + b"/long-target")
    os.symlink(b"\xff" * 200, work + b"/raw-target")
    index = bench.backup("A")
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
    plain = tree_state(bench.restore_plain("A"), whole_seconds=True)
    assert plain == tree_state(bench.scratch, whole_seconds=True)
    assert verify.verify_archive(bench.path("A")) == []


def _remove_deep(top: Path) -> None:
    subprocess.run(["rm", "-rf", top], check=True)


def test_paths_longer_than_path_max(bench: Bench) -> None:
    descriptor = os.open(bench.work, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("n" * 200, dir_fd=descriptor)
        inside = os.open("n" * 200, os.O_RDONLY, dir_fd=descriptor)
        file = os.open("leaf", os.O_WRONLY | os.O_CREAT, dir_fd=inside)
        os.write(file, b"leaf")
        os.close(file)
        os.close(descriptor)
        descriptor = inside
    os.close(descriptor)
    index = bench.backup("A")
    assert max(len(index.path(entry)) for entry in range(len(index))) > 8000
    target = bench.restore(index)
    assert tree_state(target) == tree_state(bench.scratch)
    assert verify.verify_archive(bench.path("A")) == []
    _remove_deep(bench.work)
    _remove_deep(target)


@pytest.mark.parametrize("seconds", [-5_000_000_000, -1, 0, 2**31 + 7, 2**33 + 1])
def test_mtimes_far_from_now(bench: Bench, seconds: int) -> None:
    path = bench.work / "old-or-young"
    path.write_bytes(b"x")
    os.utime(path, ns=(0, seconds * 1_000_000_000 + 123_456_789))
    index = bench.backup("A")
    assert tree_state(bench.restore(index)) == tree_state(bench.scratch)
    plain = tree_state(bench.restore_plain("A"), whole_seconds=True)
    assert plain == tree_state(bench.scratch, whole_seconds=True)


def test_user_xattrs_come_back(bench: Bench) -> None:
    path = bench.work / "tagged"
    path.write_bytes(b"x")
    try:
        os.setxattr(path, "user.color", b"blue\0green")
        os.setxattr(bench.work, "user.dir", b"1")
    except OSError:
        pytest.skip("this file system has no user attributes")
    index = bench.backup("A")
    restored = bench.restore(index)
    assert os.getxattr(restored / "work" / "tagged", "user.color") == b"blue\0green"
    assert os.getxattr(restored / "work", "user.dir") == b"1"
    assert verify.verify_archive(bench.path("A")) == []


def test_read_one_file(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    entry = index.find(b"work/data")
    assert entry is not None
    content = b"".join(read_file(index, entry, bench.path))
    assert content == (bench.work / "data").read_bytes()


_NAMES = (
    st.binary(min_size=1, max_size=255)
    .map(lambda raw: raw.replace(b"/", b"_").replace(b"\0", b"_"))
    .filter(lambda name: name not in {b".", b".."})
)
_TIMES = st.integers(min_value=-(2**33), max_value=2**33).map(lambda s: s * 10**9 + 987_654_321)
_FILES = st.tuples(
    st.just("file"), st.binary(max_size=3000), st.sampled_from([0o644, 0o600, 0o755, 0o444]), _TIMES
)
_LINKS = st.tuples(
    st.just("symlink"), st.binary(min_size=1, max_size=200).filter(lambda t: b"\0" not in t)
)
_HOLES = st.tuples(
    st.just("sparse"), st.integers(70_000, 2_000_000), st.binary(min_size=1, max_size=5000)
)
_HARDLINKS = st.tuples(st.just("hardlink"))
_TREES = st.recursive(
    st.dictionaries(_NAMES, _FILES | _LINKS | _HOLES | _HARDLINKS, max_size=4),
    lambda inner: st.dictionaries(_NAMES, inner | _FILES | _LINKS, max_size=4),
    max_leaves=12,
)


def _make(top: bytes, tree: dict[bytes, object], made: list[bytes]) -> None:
    for name, what in tree.items():
        path = top + b"/" + name
        if isinstance(what, dict):
            os.mkdir(path)
            _make(path, what, made)
            continue
        assert isinstance(what, tuple)
        if what[0] == "symlink":
            os.symlink(what[1], path)
        elif what[0] == "hardlink" and made:
            os.link(made[0], path)
        else:
            with open(path, "wb") as file:
                if what[0] == "sparse":
                    file.seek(what[1])
                file.write(
                    what[-1] if what[0] == "sparse" else what[1] if what[0] == "file" else b""
                )
            made.append(path)
            if what[0] == "file":
                os.chmod(path, what[2])
                os.utime(path, ns=(0, what[3]))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@pytest.mark.slow
@given(tree=_TREES)
def test_any_tree_round_trips(tmp_path: Path, tree: dict[bytes, object]) -> None:
    home = tmp_path / "example"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    bench = Bench(home)
    _make(os.fsencode(bench.work), tree, [])
    age_directories(bench.work)
    index = bench.backup("A")
    assert verify.verify_archive(bench.path("A")) == []
    restored = bench.restore(index)
    assert tree_state(restored) == tree_state(bench.scratch)
    plain = tree_state(bench.restore_plain("A"), whole_seconds=True)
    assert plain == tree_state(bench.scratch, whole_seconds=True)


def test_attributes_of_read_only_files_come_back(bench: Bench) -> None:
    path = bench.work / "read-only"
    path.write_bytes(b"content")
    os.setxattr(path, b"user.origin", b"elsewhere")
    path.chmod(0o400)
    restored = bench.restore(bench.backup("A")) / "work/read-only"
    assert os.getxattr(restored, b"user.origin") == b"elsewhere"
    assert restored.stat().st_mode & 0o777 == 0o400
    assert bench.warnings == []
