"""The store restores itself: `rescue.py` with the standard library and `lz4` alone."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from scratchflow.agent.delivery.source import package_files
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.chunks import Chunks
from scratchflow.archive.tree.index import NOWHERE, Index
from scratchflow.archive.tree.names import PackedNames
from scratchflow.model.requests import Prune
from scratchflow.model.snapshot import seal_manifest
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.retention import prune_snapshots
from scratchflow.store import rescue_files
from scratchflow.store.catalogue import read_catalogue
from scratchflow.testing.store import as_earlier
from tests.unit.conftest import Desk, make_desk, unpack_plainly
from tests.unit.node.history.test_verification import of_newer_format
from tests.unit.node.transfer.test_transfer import (
    ALSO,
    _made,
    _put_index,
    _step,
    fill,
    settle,
    steps,
    tree,
)

Rescue = Callable[..., "subprocess.CompletedProcess[str]"]

# Each makes a store with a large file in it.
pytestmark = pytest.mark.slow


@pytest.fixture
def history(tmp_path: Path) -> Desk:
    """A full snapshot, incrementals, one of a large file that changed a little, and one that went back."""
    desk = make_desk(_made(tmp_path / "here"), ALSO)
    fill(desk)
    first = desk.backup()
    desk.write("work/README", "changed")
    desk.write("work/large", os.urandom(9 << 20))
    desk.backup()
    desk.write("env/lib/new", "new").chmod(0o400)
    (desk.work / "third").hardlink_to(desk.work / "large")
    (desk.scratch / "env/lib").chmod(0o700)
    settle(desk.scratch)
    desk.backup()
    large = (desk.work / "large").read_bytes()
    desk.write("work/large", b"front" + large[: 5 << 20] + b"middle" + large[5 << 20 :])
    desk.write("work/bundle", large + b"between" + large)
    desk.backup()
    desk.restore(str(first.snapshot))
    desk.write("work/after", "x")
    desk.backup()
    return desk


def run(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`rescue.py` of a copy of the store, from an empty directory, without any installed package."""
    empty = store.parent / "empty"
    empty.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-I", "-S", str(store / "rescue.py"), *arguments],
        cwd=empty,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def run_with_packages(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(store / "rescue.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def copied(desk: Desk, to: Path) -> Path:
    shutil.copytree(desk.place.directory, to)
    return to


def test_our_package_is_out_of_reach_where_rescue_runs(tmp_path: Path) -> None:
    code = "import lz4, xxhash, msgspec, scratchflow"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == 1


@pytest.mark.slow
def test_every_snapshot_comes_back_as_from_scratchflow_itself(
    history: Desk, tmp_path: Path
) -> None:
    store = copied(history, tmp_path / "copy")
    assert {one.kind for one in read_catalogue(history.place).snapshots} == {"full", "incremental"}
    indexes = [open_index(history.place.archive(snapshot)) for snapshot in history.ids]
    assert any(index.is_scattered(entry) for index in indexes for entry in index.chunks)
    for number, snapshot in enumerate(history.ids):
        history.restore(snapshot, to=tmp_path / f"ours-{number}")
        done = run(store, "restore", snapshot, "--to", str(tmp_path / f"theirs-{number}"))
        assert done.returncode == 0, done.stderr
        assert tree(tmp_path / f"theirs-{number}") == tree(tmp_path / f"ours-{number}")
    done = run(store, "restore", "latest", "--to", str(tmp_path / "latest"))
    assert done.returncode == 0
    assert tree(tmp_path / "latest") == tree(tmp_path / f"ours-{number}")


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_any_history_comes_back_as_from_scratchflow_itself(
    tmp_path_factory: pytest.TempPathFactory, todo: list[tuple[object, ...]]
) -> None:
    home = tmp_path_factory.mktemp("any")
    desk = make_desk(_made(home / "here"), ALSO)
    desk.write("work/keep", "at least one")
    for step in todo:
        _step(desk, *step)  # type: ignore[arg-type]  # as drawn
    desk.backup(allow_shrink=True)
    store = copied(desk, home / "copy")
    for snapshot in desk.ids[-2:]:
        desk.restore(snapshot, to=home / f"ours-{snapshot}")
        done = run(store, "restore", snapshot, "--to", str(home / f"theirs-{snapshot}"))
        assert done.returncode == 0, done.stderr
        assert tree(home / f"theirs-{snapshot}") == tree(home / f"ours-{snapshot}")


def test_a_part_comes_back_alone(history: Desk, tmp_path: Path) -> None:
    store = copied(history, tmp_path / "copy")
    done = run(
        store,
        "restore",
        "latest",
        "--to",
        str(tmp_path / "x"),
        "--path",
        "env/bin",
        "--path",
        "work/second",
    )
    assert done.returncode == 0, done.stderr
    assert history.content(tmp_path / "x") == {"env/bin/python": b"#!", "work/second": b"hello"}
    assert (
        run(store, "restore", "latest", "--to", str(tmp_path / "y"), "--path", "no").returncode == 1
    )
    assert not (tmp_path / "y").exists()


@pytest.mark.parametrize("path", ["second", "./second", "work/second", "/work/second/"])
def test_a_path_is_one_of_the_workspace_or_from_scratch_down(
    history: Desk, tmp_path: Path, path: str
) -> None:
    store = copied(history, tmp_path / "copy")
    done = run(store, "restore", "latest", "--to", str(tmp_path / "x"), "--path", path)
    assert done.returncode == 0, done.stderr
    assert history.content(tmp_path / "x") == {"work/second": b"hello"}
    told = f"1 file of snapshot {history.ids[-1]} is in {tmp_path / 'x/work'}\n"
    assert told in done.stdout + done.stderr
    missing = run(store, "restore", "latest", "--to", str(tmp_path / "y"), "--path", "no/such")
    assert "holds no 'no/such'; paths are those of the workspace" in missing.stderr


def test_files_that_lose_a_set_uid_bit_are_counted(desk: Desk, tmp_path: Path) -> None:
    for name, mode in (("program", 0o4755), ("tool", 0o2755), ("plain", 0o755)):
        desk.write(f"work/{name}", name).chmod(mode)
    desk.backup()
    done = run(copied(desk, tmp_path / "copy"), "restore", "latest", "--to", str(tmp_path / "to"))
    assert "bits are not given back; files that had some: 2\n" in done.stdout + done.stderr
    assert (tmp_path / "to/work/program").stat().st_mode & 0o7777 == 0o755


def test_the_guide_fits_a_small_terminal() -> None:
    guide = Path(rescue_files.__file__).parent / "rescue" / rescue_files.GUIDE_NAME
    assert max(map(len, guide.read_text().splitlines())) <= 80


def test_list_and_verify_tell_what_is_there(history: Desk, tmp_path: Path) -> None:
    store = copied(history, tmp_path / "copy")
    listed = run(store, "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == history.ids
    assert run(store, "verify").returncode == 0
    archive = store / f"{history.ids[0]}.tar.lz4"
    flip(archive, archive.stat().st_size // 2)
    done = run(store, "verify", history.ids[-1])
    assert done.returncode == 1
    assert history.ids[0] in done.stdout


def test_where_xxhash_is_installed_archives_are_compared_as_a_whole(
    history: Desk, tmp_path: Path
) -> None:
    store = copied(history, tmp_path / "copy")
    done = run_with_packages(store, "verify")
    assert done.returncode == 0, done.stdout
    archive = store / f"{history.ids[0]}.tar.lz4"
    flip(archive, archive.stat().st_size // 2)
    done = run_with_packages(store, "verify")
    assert done.returncode == 1
    assert "its digest is not the one in its footer" in done.stdout
    shutil.copy(history.place.archive(history.ids[1]), archive)
    done = run_with_packages(store, "verify", history.ids[-1])
    assert "its digest is not its manifest's" in done.stdout


def test_the_archive_of_another_snapshot_in_its_place_is_noticed_without_packages(
    history: Desk, tmp_path: Path
) -> None:
    store = copied(history, tmp_path / "copy")
    first, second, *_ = history.ids
    shutil.copy(store / f"{second}.tar.lz4", store / f"{first}.tar.lz4")
    done = run(store, "verify")
    assert done.returncode == 1
    assert f"{first}  DAMAGED: archive {first}: it is damaged: it is that of another" in done.stdout
    assert "xxhash" in done.stderr
    for snapshot in (first, second):
        done = run(store, "restore", snapshot, "--to", str(tmp_path / "x"))
        assert done.returncode == 1
        assert "that of another snapshot" in done.stderr
        assert not (tmp_path / "x").exists()


def test_snapshots_of_earlier_versions_are_read_and_compared(history: Desk, tmp_path: Path) -> None:
    for one in history.ids:
        as_earlier(history.place, one)
    store = copied(history, tmp_path / "copy")
    assert run(store, "verify").returncode == 0
    done = run(store, "restore", "latest", "--to", str(tmp_path / "theirs"))
    assert done.returncode == 0, done.stderr
    history.restore(to=tmp_path / "ours")
    assert tree(tmp_path / "theirs") == tree(tmp_path / "ours")
    archive = store / f"{history.ids[0]}.tar.lz4"
    flip(archive, archive.stat().st_size // 2)
    done = run(store, "verify", history.ids[-1])
    assert "its digest is not the one in its footer" in done.stdout


@pytest.mark.parametrize("suffix", [".tar.lz4", ".json"])
def test_verify_goes_on_after_something_that_is_no_file(
    history: Desk, tmp_path: Path, suffix: str
) -> None:
    """Nobody ever writes to the FIFO: whoever waits for that waits for good."""
    store = copied(history, tmp_path / "copy")
    first = store / f"{history.ids[0]}{suffix}"
    first.unlink()
    os.mkfifo(first)
    done = run(store, "verify")
    assert done.returncode == 1
    assert f"{history.ids[0]}  DAMAGED" in done.stdout
    assert len(done.stdout.splitlines()) == len(history.ids)


def test_verify_tells_what_a_newer_version_made_apart_from_damage(
    history: Desk, tmp_path: Path
) -> None:
    store = copied(history, tmp_path / "copy")
    newest = history.ids[-1]
    (store / f"{newest}.json").write_bytes(seal_manifest(b'{"schema": 99}'))
    done = run(store, "verify")
    assert done.returncode == 1
    assert f"{newest}  NOT CHECKED: snapshot {newest}: it was made by a newer" in done.stdout
    assert "DAMAGED" not in done.stdout
    of_newer_format(store / f"{history.ids[0]}.tar.lz4")
    done = run(store, "verify", history.ids[0])
    assert done.returncode == 1
    assert f"{history.ids[0]}  NOT CHECKED: archive {history.ids[0]}: it has" in done.stdout


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 4
    file.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".tar.lz4", ".json"])
def test_damage_anywhere_is_found_before_anything_is_written(
    history: Desk, tmp_path: Path, suffix: str
) -> None:
    newest = history.place.directory / f"{history.ids[-1]}{suffix}"
    size = newest.stat().st_size
    for number, at in enumerate({0, 1, *range(0, size, -(-size // 20)), size - 1}):
        store = copied(history, tmp_path / f"copy-{number}")
        flip(store / newest.name, at)
        done = run(store, "restore", "latest", "--to", str(tmp_path / "x"))
        assert done.returncode == 1, (at, done.stdout)
        assert "error:" in done.stderr
        assert not (tmp_path / "x").exists()
        assert not (tmp_path / "x.unfinished").exists()


def test_without_the_first_check_a_damaged_frame_is_still_found(
    history: Desk, tmp_path: Path
) -> None:
    store = copied(history, tmp_path / "copy")
    flip(store / f"{history.ids[0]}.tar.lz4", 60)
    done = run(store, "restore", history.ids[0], "--no-check", "--to", str(tmp_path / "x"))
    assert done.returncode == 1
    assert not (tmp_path / "x").exists()


def test_damage_elsewhere_in_an_archive_keeps_nothing_from_coming_back(
    desk: Desk, tmp_path: Path
) -> None:
    for name in ("gone", "kept"):  # each has frames of its own
        desk.write(f"work/{name}", os.urandom(9_000_000))
    desk.backup()
    (desk.work / "gone").unlink()
    desk.write("work/more", "x")
    desk.backup(allow_shrink=True)
    store = copied(desk, tmp_path / "copy")
    flip(store / f"{desk.ids[0]}.tar.lz4", 3_000_000)
    refused = run(store, "restore", "latest", "--to", str(tmp_path / "x"))
    assert refused.returncode == 1
    assert "with --no-check all that can be read comes back" in refused.stderr
    done = run(store, "restore", "latest", "--no-check", "--to", str(tmp_path / "x"))
    assert done.returncode == 0, done.stderr
    assert desk.content(tmp_path / "x/work") == desk.content()
    assert run(store, "restore", desk.ids[0], "--no-check", "--to", str(tmp_path / "y")).returncode


def test_latest_is_never_silently_an_older_one(history: Desk, tmp_path: Path) -> None:
    store = copied(history, tmp_path / "copy")
    (store / f"{history.ids[-1]}.json").write_text("{}")
    done = run(store, "restore", "latest", "--to", str(tmp_path / "x"))
    assert done.returncode == 1
    assert history.ids[-1] in done.stderr


def test_a_part_of_an_id_is_enough_and_one_of_several_is_told_as_that(history: Desk) -> None:
    assert run(history.place.directory, "verify", history.ids[0][-6:-1]).returncode == 0
    refused = run(history.place.directory, "verify", history.ids[0][:4])
    assert refused.returncode == 1
    assert "fits several snapshots" in refused.stderr
    assert history.ids[0] in refused.stderr


def test_what_exists_is_not_touched(history: Desk, tmp_path: Path) -> None:
    store = copied(history, tmp_path / "copy")
    (_made(tmp_path / "x") / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(_made(tmp_path / "elsewhere"))
    for target in (tmp_path / "x", tmp_path / "x/mine", tmp_path / "link"):
        assert run(store, "restore", "latest", "--to", str(target)).returncode == 1
    assert (tmp_path / "x/mine").read_text() == "mine"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def _renamed(old: bytes, new: bytes) -> Callable[[Index], None]:
    def change(index: Index) -> None:
        index.names = PackedNames([new if name == old else name for name in index.names])

    return change


def _position(index: Index) -> None:
    index.position[len(index) - 1] = 1 << 50


def _endless(index: Index) -> None:
    entry = index.find(b"work/README")
    assert entry is not None
    index.size[entry], index.sparse[entry] = 1 << 62, []


def _archive_name(index: Index) -> None:
    index.archives[0].id = "../../../etc/passwd"


def _through_link(index: Index) -> None:
    """A symlink in the place of a directory: its content would go where it leads."""
    entry = index.find(b"work/env/bin")
    assert entry is not None
    index.mode[entry] = 0o120777


def _chunk(archive: int, position: int, length: int) -> Callable[[Index], None]:
    """A file that lies in one chunk, which is not there, or not as long as the file."""

    def change(index: Index) -> None:
        entry = index.find(b"work/README")
        assert entry is not None
        index.archive[entry], index.position[entry] = NOWHERE, 0
        columns = array("H", [archive]), array("Q", [position])
        index.chunks[entry] = Chunks(array("I", [length]), *columns, bytes(16))

    return change


def _chunks_of_a_directory(index: Index) -> None:
    entry = index.find(b"work/env")
    assert entry is not None
    index.chunks[entry] = Chunks(array("I", [1]), array("H", [0]), array("Q", [0]), bytes(16))


@pytest.mark.parametrize(
    "change",
    [
        _chunk(0, 1 << 50, 5),
        _chunk(7, 0, 5),
        _chunk(NOWHERE, 0, 5),
        _chunk(0, 0, 4),
        _chunk(0, 0, 1 << 31),
        _chunks_of_a_directory,
        _renamed(b"README", b"../../outside"),
        _renamed(b"README", b".."),
        _renamed(b"README", b"/tmp/outside"),
        _renamed(b"env", b".."),
        _position,
        _endless,
        _archive_name,
        _through_link,
    ],
)
def test_a_hostile_index_writes_nothing_outside(
    desk: Desk, tmp_path: Path, change: Callable[[Index], None]
) -> None:
    desk.write("work/env/bin/x", "x")
    fill(desk)
    store = desk.place.directory
    archive = desk.place.archive(str(desk.backup().snapshot))
    index = open_index(archive)
    change(index)
    _put_index(archive, index)
    jail = _made(tmp_path / "jail")
    before = sorted(os.listdir(tmp_path))
    done = run(store, "restore", "latest", "--no-check", "--to", str(jail / "x"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert list(jail.iterdir()) == []
    assert sorted(os.listdir(tmp_path)) == before


def test_by_hand_the_full_snapshots_are_found_as_the_guide_says(
    history: Desk, tmp_path: Path
) -> None:
    directory = history.place.directory
    manifests = sorted(path for path in directory.glob("*.json"))
    command = ["grep", "-l", '"kind": "full"', *map(str, manifests)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    full = [one.id for one in read_catalogue(history.place).snapshots if one.kind == "full"]
    assert [Path(line).stem for line in found] == full
    assert command[2] in (directory / "HOW-TO-RESTORE.txt").read_text()
    unpack_plainly(history.place.archive(full[-1]), _made(tmp_path / "plain"))
    history.restore(full[-1], to=tmp_path / "ours")
    assert history.content(tmp_path / "plain") == history.content(tmp_path / "ours")


def test_the_rescue_goes_onto_every_cluster_and_runs_on_old_pythons() -> None:
    source = package_files()["scratchflow/store/rescue/rescue.py"]
    assert "scratchflow/store/rescue/HOW-TO-RESTORE.txt" in package_files()
    ast.parse(source, feature_version=(3, 6))


@pytest.mark.parametrize("damaged", [False, True])
def test_the_manifest_of_a_needed_archive_may_be_gone_or_damaged(
    history: Desk, tmp_path: Path, damaged: bool
) -> None:
    store = copied(history, tmp_path / "copy")
    newest = history.ids[-1]
    needs = msgspec.json.decode((store / f"{newest}.json").read_bytes())["needs"]
    for snapshot in needs:
        (store / f"{snapshot}.json").unlink()
        if damaged:
            (store / f"{snapshot}.json").write_text("{")
    assert run(store, "restore", newest, "--to", str(tmp_path / "x")).returncode == 0
    assert history.content(tmp_path / "x/work") == history.content()


def test_latest_is_never_a_fork_beside_the_newest_one(history: Desk, tmp_path: Path) -> None:
    history.restore("latest", to=tmp_path / "ours")
    history.write("work/README", "another node's")
    fork = history.backup(beside=True, message="of node-2")
    store = copied(history, tmp_path / "copy")
    done = run(store, "restore", "latest", "--to", str(tmp_path / "theirs"))
    assert done.returncode == 0, done.stderr
    assert tree(tmp_path / "theirs") == tree(tmp_path / "ours")
    last = run(store, "list").stdout.splitlines()[-1]
    assert last.startswith(str(fork.snapshot))
    assert last.endswith("[fork] of node-2")
    for manifest in store.glob("*.json"):
        if manifest.stem in history.ids and manifest.stem != fork.snapshot:
            manifest.unlink()
    done = run(store, "restore", "latest", "--to", str(tmp_path / "only"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "only/work/README").read_text() == "another node's"


@pytest.fixture
def remnant(tmp_path: Path) -> tuple[Desk, Path]:
    """A store whose one snapshot needs a little of an archive that `prune` has rewritten, and that archive."""
    desk = make_desk(_made(tmp_path / "here"))
    content = os.urandom(20 << 20)
    desk.write("work/large", content)
    first = str(desk.backup().snapshot)
    desk.write(
        "work/large", content[9 << 20 : 11 << 20] + content[18 << 20 :] + os.urandom(9 << 20)
    )
    desk.backup(allow_shrink=True)
    prune_snapshots(desk.context, desk.notify, Prune(snapshots=(first,)))
    archive = desk.place.archive(first)
    assert archive.stat().st_size < 7 << 20
    return desk, archive


def test_what_is_left_of_an_archive_is_read(remnant: tuple[Desk, Path], tmp_path: Path) -> None:
    desk, _ = remnant
    store = copied(desk, tmp_path / "copy")
    assert run(store, "verify").returncode == 0
    done = run(store, "restore", "latest", "--to", str(tmp_path / "restored"))
    assert done.returncode == 0, done.stderr
    assert desk.content(tmp_path / "restored/work") == desk.content()


@pytest.mark.parametrize("at", [-1, -110, 5000])
def test_damage_of_what_is_left_is_told(
    remnant: tuple[Desk, Path], tmp_path: Path, at: int
) -> None:
    desk, archive = remnant
    content = bytearray(archive.read_bytes())
    content[at] ^= 1
    archive.write_bytes(content)
    store = copied(desk, tmp_path / "copy")
    assert run(store, "verify").returncode == 1
    for more in ([], ["--no-check"]):
        target = tmp_path / f"restored{len(more)}"
        done = run(store, "restore", "latest", "--to", str(target), *more)
        assert done.returncode == 1
        assert "archive" in done.stderr
        assert not target.exists()
        shutil.rmtree(f"{target}.unfinished", ignore_errors=True)


def test_a_fork_means_the_same_as_in_the_list_of_scratchflow(history: Desk, tmp_path: Path) -> None:
    rows = list_snapshots(history.context, history.notify).snapshots
    # The second to fourth were left behind by the restore of the first; the newest continues that one.
    assert [row.fork for row in rows] == [False, True, True, True, False, False]
    lines = run(copied(history, tmp_path / "copy"), "list").stdout.splitlines()
    assert ["[fork]" in line for line in lines] == [row.fork for row in rows]
