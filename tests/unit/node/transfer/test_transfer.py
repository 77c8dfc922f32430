"""`snapshots export|import` and `restore --from`: what goes out comes back as it was."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scratchflow.archive.format.container import FOOTER_BYTES, Footer, pack_footer
from scratchflow.archive.format.index_codec import dump_index
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write import member_writer
from scratchflow.cli import transfer_words as words
from scratchflow.model.ages import short_id
from scratchflow.model.errors.snapshots import ArchiveWithoutEnd, SnapshotDamaged, UnsafeMember
from scratchflow.model.errors.transfer import FileFailed, FileWithoutWorkspace
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.transfer.transfer import export_snapshot, import_snapshot
from scratchflow.store.catalogue import read_catalogue
from tests.unit.conftest import Desk, make_desk, unpack_plainly

ALSO = '[profiles.test.backup]\nalso = ["env", "opt/tools"]\n'
State = dict[bytes, tuple[object, ...]]


def tree(top: Path) -> State:
    """All that must come back: kind, mode, mtime, content, links, holes, attributes."""
    state: State = {}
    inodes: dict[int, bytes] = {}
    start = os.fsencode(top)
    for folder, names, files in os.walk(start):
        names.sort()
        for name in sorted(names + files):
            path = os.path.join(folder, name)
            state[path[len(start) + 1 :]] = _one(path, inodes)
    return state


def _one(path: bytes, inodes: dict[int, bytes]) -> tuple[object, ...]:
    found = os.lstat(path)
    content: object = None
    if stat.S_ISLNK(found.st_mode):
        return (found.st_mode, found.st_mtime_ns, os.readlink(path))
    if stat.S_ISREG(found.st_mode):
        with open(path, "rb") as file:
            content = file.read()
        if found.st_nlink > 1:
            content = (content, inodes.setdefault(found.st_ino, os.path.basename(path)))
        content = (content, found.st_blocks * 512 < found.st_size)
    xattrs = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    return (found.st_mode, found.st_mtime_ns, content, xattrs)


def everything(desk: Desk) -> State:
    """Workspace and what is saved with it."""
    return {path: one for path, one in tree(desk.scratch).items() if path[:1] != b"."}


def settle(top: Path) -> None:
    """Old and odd times, to the nanosecond."""
    for folder, names, files in os.walk(top, topdown=False):
        for number, name in enumerate(sorted(names + files), 1):
            when = 1_600_000_000_123_456_789 + number
            os.utime(Path(folder, name), ns=(when, when), follow_symlinks=False)


@pytest.fixture
def full_desk(tmp_path: Path) -> Desk:
    desk = make_desk(_made(tmp_path / "here"), ALSO)
    fill(desk)
    return desk


def fill(desk: Desk) -> None:
    desk.write("work/README", "hello")
    desk.write("work/odd\nname", "newline").chmod(0o640)
    desk.write("env/bin/python", "#!").chmod(0o755)
    desk.write("opt/tools/t", "tool")
    desk.write("opt/mine", "saved by nobody")
    (desk.scratch / os.fsdecode(b"work/\xff\xfe")).write_bytes(b"not UTF-8")
    (desk.work / "link").symlink_to("../env/bin/python")
    (desk.work / "second").hardlink_to(desk.work / "README")
    (desk.work / "a-first").hardlink_to(desk.scratch / "env/bin/python")
    with (desk.work / "holes").open("wb") as file:
        file.seek(3 << 20)
        file.write(b"data")
        file.truncate(5 << 20)
    os.setxattr(desk.work / "README", "user.note", b"kept")
    os.setxattr(desk.scratch / "env", "user.dir", b"kept too")
    settle(desk.scratch)


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def _saved(state: State) -> State:
    """Without what lies beside the roots, and without the mtime of a directory above a root."""
    return {path: one for path, one in state.items() if path not in {b"opt", b"opt/mine"}}


@pytest.mark.parametrize("kind", ["full", "incremental"])
def test_what_was_exported_and_imported_is_restored_as_it_was(
    full_desk: Desk, tmp_path: Path, kind: str
) -> None:
    desk = full_desk
    desk.backup()
    if kind == "incremental":
        desk.write("work/README", "changed")
        desk.write("env/lib", "new")
        settle(desk.scratch)
        assert desk.backup().kind == "incremental"
    file = tmp_path / "out.tar.lz4"
    export_snapshot(desk.context, desk.notify, "latest", file, dry_run=False)
    other = make_desk(_made(tmp_path / "other"), ALSO)
    other.work.rmdir()
    imported = import_snapshot(other.context, other.notify, file, dry_run=False)
    manifest = read_catalogue(other.place).by_id(str(imported.snapshot))
    assert manifest.also == ["env", "opt/tools"]
    assert verify_snapshots(other.context, other.notify, []).bad == []
    other.restore()
    assert _saved(everything(other)) == _saved(everything(desk))


def test_an_export_is_plain_though_its_snapshot_needs_no_other_archive(
    desk: Desk, tmp_path: Path
) -> None:
    """An incremental archive has no member for a symlink that did not change."""
    desk.write("work/file", "one")
    (desk.work / "link").symlink_to("file")
    desk.backup()
    for path in desk.work.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size:
            path.write_bytes(path.read_bytes() + b"changed")
    desk.backup()
    manifest = read_catalogue(desk.place).snapshots[-1]
    assert (manifest.kind, manifest.needs) == ("incremental", [])
    export_snapshot(desk.context, desk.notify, "latest", tmp_path / "x.tar.lz4", dry_run=False)
    unpack_plainly(tmp_path / "x.tar.lz4", _made(tmp_path / "plain"))
    assert tree(tmp_path / "plain/work").keys() == tree(desk.work).keys()


@pytest.mark.slow
def test_an_export_of_a_large_file_that_changed_is_plain(desk: Desk, tmp_path: Path) -> None:
    content = os.urandom(9 << 20)
    desk.write("work/large", content)
    desk.backup()
    desk.write("work/large", b"front" + content + content)
    desk.backup()
    index = open_index(desk.place.archive(desk.ids[-1]))
    entry = index.find(b"work/large")
    assert entry is not None
    assert index.is_scattered(entry)
    export_snapshot(desk.context, desk.notify, "latest", tmp_path / "x.tar.lz4", dry_run=False)
    unpack_plainly(tmp_path / "x.tar.lz4", _made(tmp_path / "plain"))
    assert (tmp_path / "plain/work/large").read_bytes() == b"front" + content + content
    assert sorted(os.listdir(tmp_path / "plain")) == ["work"]


def test_a_profile_that_saves_only_the_workspace_restores_an_export_whole(
    full_desk: Desk, tmp_path: Path
) -> None:
    full_desk.backup()
    file = tmp_path / "out.tar.lz4"
    export_snapshot(full_desk.context, full_desk.notify, "latest", file, dry_run=False)
    by_import, by_file = (make_desk(_made(tmp_path / name)) for name in ("one", "two"))
    for desk in (by_import, by_file):
        desk.work.rmdir()
    import_snapshot(by_import.context, by_import.notify, file, dry_run=False)
    by_import.restore()
    by_file.restore(source=file)
    expected = _saved(everything(full_desk))
    assert _saved(everything(by_import)) == expected
    assert _saved(everything(by_file)) == expected


def test_an_export_goes_into_a_workspace_of_another_name(full_desk: Desk, tmp_path: Path) -> None:
    full_desk.backup()
    file = tmp_path / "out.tar.lz4"
    export_snapshot(full_desk.context, full_desk.notify, "latest", file, dry_run=False)
    for name, way in (("one", "import"), ("two", "file")):
        other = make_desk(_made(tmp_path / name), 'workspace = "project"\n')
        other.work.rmdir()
        if way == "import":
            import_snapshot(other.context, other.notify, file, dry_run=False)
            other.restore()
        else:
            other.restore(source=file)
        assert tree(other.scratch / "project") == tree(full_desk.work)
        assert tree(other.scratch / "env") == tree(full_desk.scratch / "env")


def _foreign(desk: Desk, file: Path, *arguments: str) -> Path:
    with (
        file.open("wb") as out,
        subprocess.Popen(
            ["tar", "-C", str(desk.scratch), "--format=pax", "-cf", "-", *arguments],
            stdout=subprocess.PIPE,
        ) as tar,
    ):
        subprocess.run(["lz4", "-q"], stdin=tar.stdout, stdout=out, check=True)
    assert tar.returncode == 0
    return file


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["env", "work"], {"env/bin/python", "work/README"}),
        (["./env", "./work"], {"env/bin/python", "work/README"}),
        (["opt", "work"], {"work/opt/tools/t", "work/opt/mine", "work/work/README"}),
        (["opt/tools", "work"], {"opt/tools/t", "work/README"}),
        (["env/bin", "opt/mine"], {"work/env/bin/python", "work/opt/mine"}),
        (["-C", "work", "."], {"work/README"}),
    ],
    ids=["roots", "dotted", "mixed", "nested", "others", "inside"],
)
def test_names_of_a_foreign_archive_are_all_taken_as_they_are_or_all_go_beneath_the_workspace(
    tmp_path: Path, names: list[str], expected: set[str]
) -> None:
    desk = make_desk(_made(tmp_path / "here"), ALSO)
    for path in ("work/README", "env/bin/python", "opt/tools/t", "opt/mine"):
        desk.write(path, path)
    file = _foreign(desk, tmp_path / "foreign.tar.lz4", *names)
    for name, way in (("one", "import"), ("two", "file")):
        other = make_desk(_made(tmp_path / name), ALSO)
        other.work.rmdir()
        if way == "import":
            import_snapshot(other.context, other.notify, file, dry_run=False)
            other.restore()
        else:
            other.restore(source=file)
        found = {path for path in other.content(other.scratch) if not path.startswith(".")}
        assert found == expected


def _flip_data(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    content[len(content) // 3] ^= 1
    archive.write_bytes(content)


def _flip_tail_padding(archive: Path) -> None:
    """The checksum of the first frame: no byte of any file."""
    content = bytearray(archive.read_bytes())
    content[16] ^= 0x10
    archive.write_bytes(content)


@pytest.mark.parametrize("damage", [_flip_data, _flip_tail_padding])
@pytest.mark.parametrize("kind", ["full", "incremental"])
def test_a_damaged_snapshot_is_not_exported(
    desk: Desk, tmp_path: Path, kind: str, damage: Callable[[Path], None]
) -> None:
    archive = desk.place.archive(str(desk.backup().snapshot))
    if kind == "incremental":
        desk.write("work/README", "changed")
        assert desk.backup().kind == "incremental"
    damage(archive)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(SnapshotDamaged):
        export_snapshot(desk.context, desk.notify, "latest", tmp_path / "x.tar.lz4", dry_run=False)
    assert sorted(os.listdir(tmp_path)) == before


def test_an_import_says_that_it_is_the_latest_now_and_which_was_before(
    desk: Desk, tmp_path: Path
) -> None:
    file = tmp_path / "old.tar.lz4"
    first = str(desk.backup().snapshot)
    export_snapshot(desk.context, desk.notify, first, file, dry_run=False)
    desk.write("work/README", "newer")
    work = desk.backup().snapshot
    foretold = import_snapshot(desk.context, desk.notify, file, dry_run=True)
    done = import_snapshot(desk.context, desk.notify, file, dry_run=False)
    assert foretold.previous == done.previous == work
    assert desk.ids[-1] == done.snapshot
    said = list(words.imported(done))[-1]
    assert "it is `latest` now" in said
    assert f"`scratchflow restore {short_id(str(work))}` goes back to the one before" in said
    empty = make_desk(_made(tmp_path / "empty"))
    alone = import_snapshot(empty.context, empty.notify, file, dry_run=False)
    assert alone.previous is None
    assert len(list(words.imported(alone))) == 1


def test_an_export_that_was_cut_between_two_frames_is_neither_imported_nor_restored(
    desk: Desk, tmp_path: Path
) -> None:
    for number in range(3):
        (desk.work / str(number)).write_bytes(os.urandom(5_000_000))
    saved = desk.backup().snapshot
    whole, cut = tmp_path / "whole.tar.lz4", tmp_path / "cut.tar.lz4"
    export_snapshot(desk.context, desk.notify, "latest", whole, dry_run=False)
    refused = []
    for end in open_index(whole).archives[0].packed_ends[:-1]:
        cut.write_bytes(whole.read_bytes()[:end])
        with pytest.raises(SnapshotDamaged) as error:
            import_snapshot(desk.context, desk.notify, cut, dry_run=False)
        refused.append(type(error.value))
        with pytest.raises(type(error.value)):
            desk.restore(source=cut, to=tmp_path / "x")
    assert ArchiveWithoutEnd in refused  # the others are cut inside a member
    assert not (tmp_path / "x").exists()
    assert desk.ids == [saved]


@pytest.mark.parametrize("members", [[], [tarfile.TarInfo(".")]])
def test_an_archive_with_nothing_for_the_workspace_is_no_snapshot_of_it(
    desk: Desk, tmp_path: Path, members: list[tarfile.TarInfo]
) -> None:
    """Restored, it would leave everything that is there and call that restored."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for member in members:
            member.type = tarfile.DIRTYPE
            archive.addfile(member)
    file = tmp_path / "it's empty.tar.lz4"
    file.write_bytes(lz4.frame.compress(packed.getvalue()))
    desk.backup()
    before = desk.ids, desk.content()
    for dry_run in (True, False):
        with pytest.raises(FileWithoutWorkspace) as caught:
            import_snapshot(desk.context, desk.notify, file, dry_run=dry_run)
        with pytest.raises(FileWithoutWorkspace):
            desk.restore(source=file, dry_run=dry_run)
    listed = caught.value.shown_hint.split("`")[1]
    assert subprocess.run(listed, shell=True, check=True, capture_output=True).returncode == 0  # noqa: S602 - as it is typed
    assert (desk.ids, desk.content()) == before


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "."])
def test_what_has_no_end_to_look_at_is_refused_at_once(
    desk: Desk, tmp_path: Path, name: str
) -> None:
    """A device would fill the memory, and a pipe wait for somebody who writes to it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileFailed, match="it is not a file"):
        import_snapshot(desk.context, desk.notify, tmp_path / name, dry_run=True)
    with pytest.raises(FileFailed, match="it is not a file"):
        desk.restore(source=tmp_path / name, to=tmp_path / "x")


def test_a_damaged_export_is_not_imported_as_something_foreign(desk: Desk, tmp_path: Path) -> None:
    """Its tar stream alone would do; but of an incremental archive that is only a part."""
    desk.backup()
    desk.write("work/README", "changed")
    part = tmp_path / "part.tar.lz4"
    part.write_bytes(desk.place.archive(str(desk.backup().snapshot)).read_bytes())
    content = bytearray(part.read_bytes())
    content[-200] ^= 1  # in the index
    part.write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        import_snapshot(desk.context, desk.notify, part, dry_run=False)
    with pytest.raises(SnapshotDamaged):
        desk.restore(source=part, to=tmp_path / "x")


def test_a_plain_tar_reads_what_an_export_of_an_incremental_snapshot_is(
    full_desk: Desk, tmp_path: Path
) -> None:
    full_desk.backup()
    full_desk.write("work/new", "new")
    settle(full_desk.scratch)
    full_desk.backup()
    export_snapshot(full_desk.context, full_desk.notify, "latest", tmp_path / "x", dry_run=False)
    unpack_plainly(tmp_path / "x", _made(tmp_path / "plain"))
    plain, expected = (
        {path: (one[0], int(str(one[1])) // 10**9, one[2]) for path, one in _saved(state).items()}
        for state in (tree(tmp_path / "plain"), everything(full_desk))
    )
    assert plain == expected


def _endless(realsize: int) -> bytes:
    """A tar of one sparse file that has nothing but a hole."""
    tar = io.BytesIO()
    records = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "f",
        "GNU.sparse.realsize": str(realsize),
    }
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("f")
        info.size, info.pax_headers = 512, records
        archive.addfile(info, io.BytesIO(b"0\n".ljust(512, b"\0")))
    return bytes(lz4.frame.compress(tar.getvalue()))


def test_a_few_bytes_that_claim_endless_holes_are_refused_at_once(
    desk: Desk, tmp_path: Path
) -> None:
    file = tmp_path / "endless.tar.lz4"
    file.write_bytes(_endless(1 << 62))
    assert file.stat().st_size < 500
    with pytest.raises(UnsafeMember):
        import_snapshot(desk.context, desk.notify, file, dry_run=False)
    with pytest.raises(UnsafeMember):
        desk.restore(source=file, to=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_endless_holes_in_a_file_of_our_own_format_are_refused_at_once(
    desk: Desk, tmp_path: Path
) -> None:
    with (desk.work / "holes").open("wb") as file:
        file.truncate(1 << 20)
    for number in range(4):
        (desk.work / f"h{number}").write_bytes(b"")
    desk.backup()
    source = tmp_path / "evil.tar.lz4"
    export_snapshot(desk.context, desk.notify, "latest", source, dry_run=False)
    index = open_index(source)
    for number in range(4):
        entry = index.find(b"work/h%d" % number)
        assert entry is not None
        index.size[entry], index.sparse[entry] = 15 << 40, []
    _put_index(source, index)
    with pytest.raises(UnsafeMember):
        import_snapshot(desk.context, desk.notify, source, dry_run=False)
    with pytest.raises(UnsafeMember):
        desk.restore(source=source, to=tmp_path / "x")


def _put_index(path: Path, index: Index) -> None:
    """Replaces the index of an archive, every checksum right."""
    content = path.read_bytes()
    offset = int.from_bytes(content[-FOOTER_BYTES + 20 : -FOOTER_BYTES + 28], "little")
    region = b"".join(dump_index(index))
    sums = hashlib.sha256(region).digest(), WholeDigest().text(content[:offset] + region)
    path.write_bytes(content[:offset] + region + pack_footer(Footer(offset, len(region), *sums)))


def test_a_file_with_more_holes_than_a_reader_takes_is_told_as_not_saved(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_writer, "MAX_HOLE_BYTES", 1 << 20)
    with (desk.work / "endless").open("wb") as file:
        file.truncate(2 << 20)
    taken = desk.backup()
    assert taken.unsaved == 1
    assert open_index(desk.place.archive(str(taken.snapshot))).find(b"work/endless") is None


names = st.sampled_from(["a", "b", "z\n", "ü", "e" * 120])
paths = st.tuples(
    st.sampled_from(["work", "env", "opt/tools"]), st.lists(names, min_size=1, max_size=3)
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["write", "sparse", "symlink", "hardlink", "dir", "xattr", "backup"]),
        paths,
        paths,
        st.binary(max_size=40),
        st.sampled_from([0o600, 0o644, 0o755, 0o444]),
        st.integers(-(10**9), 4 * 10**18),
    ),
    max_size=14,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_any_tree_survives_export_import_and_restore(
    tmp_path_factory: pytest.TempPathFactory, todo: list[tuple[object, ...]]
) -> None:
    home = tmp_path_factory.mktemp("any")
    desk = make_desk(_made(home / "here"), ALSO)
    desk.write("work/keep", "at least one")
    for step in todo:
        _step(desk, *step)  # type: ignore[arg-type]  # as drawn
    desk.backup()
    export_snapshot(desk.context, desk.notify, "latest", home / "x.tar.lz4", dry_run=False)
    other = make_desk(_made(home / "other"), ALSO)
    other.work.rmdir()
    import_snapshot(other.context, other.notify, home / "x.tar.lz4", dry_run=False)
    other.restore()
    assert _saved(everything(other)) == _saved(everything(desk))


def _step(
    desk: Desk,
    verb: str,
    path: tuple[str, list[str]],
    other: tuple[str, list[str]],
    content: bytes,
    mode: int,
    mtime_ns: int,
) -> None:
    file, target = (desk.scratch.joinpath(root, *parts) for root, parts in (path, other))
    if verb == "backup":
        desk.backup(allow_shrink=True)
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if verb == "symlink":
            file.symlink_to(target)
        elif verb == "hardlink":
            file.hardlink_to(target)
        elif verb == "dir":
            file.mkdir()
        elif verb == "xattr":
            os.setxattr(file, "user.x", content)
        else:
            with file.open("xb") as out:
                out.seek((1 << 20) * (verb == "sparse"))
                out.write(content)
            file.chmod(mode)
        os.utime(file, ns=(mtime_ns, mtime_ns), follow_symlinks=False)
    except OSError:
        return  # not possible in this tree: another example
