"""What comes home is what was sent, or nothing appears."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from scratchflow.archive.files.digest import digest_of_bytes
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.dispatch.cluster import Cluster
from scratchflow.flows.transfer import take_home
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.restore import TargetDiffers
from scratchflow.model.errors.store import TargetFull
from scratchflow.model.errors.transfer import FileFailed
from scratchflow.model.events import Data, Event, Progress
from scratchflow.model.requests import Restore, Send
from scratchflow.model.results.restore import Restored
from scratchflow.model.results.transfer import SnapshotSent
from scratchflow.node.restore.listed_part import Listed, ListedPart
from scratchflow.node.transfer.transfer import new_file

SENT = SnapshotSent(snapshot="s", files=1, bytes=1, written_files=1, written_bytes=1)


class FakeCluster:
    """Sends what the test says."""

    def __init__(self, pieces: list[bytes], digest: str) -> None:
        self._pieces = pieces
        self._digest = digest

    def at_workspace(self, *_: Any, emit: Callable[[Event], None]) -> SnapshotSent:
        for piece in self._pieces:
            emit(Data(content=piece))
            emit(Progress(phase="send"))
        return msgspec.structs.replace(SENT, digest=self._digest)


def receive(target: Path, pieces: list[bytes], digest: str) -> list[Event]:
    told: list[Event] = []
    cluster = cast("Cluster", FakeCluster(pieces, digest))
    with new_file(target, "0000") as descriptor:
        take_home._receive(cluster, Send(), descriptor, told.append)
    return told


def test_the_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    digest = WholeDigest().text(b"onetwo")
    told = receive(tmp_path / "file", [b"one", b"two"], digest)
    assert (tmp_path / "file").read_bytes() == b"onetwo"
    assert {type(event) for event in told} == {Progress}


@pytest.mark.parametrize("pieces", [[b"one"], [b"one", b"twO"], []])
def test_bytes_that_differ_on_the_way_leave_no_file(tmp_path: Path, pieces: list[bytes]) -> None:
    digest = WholeDigest().text(b"onetwo")
    with pytest.raises(StreamBroken):
        receive(tmp_path / "file", pieces, digest)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_here_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(TargetFull), take_home._errors_at(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(FileFailed, match="elsewhere"), take_home._errors_at(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied", "elsewhere")


class ForetellingCluster:
    """Says what it would send: a file `result.csv` with the content `one`, in the workspace `work`."""

    settings = SimpleNamespace(profile=SimpleNamespace(workspace="work"))

    def __init__(self, *, damages: bool = False) -> None:
        self._damages = damages

    def at_workspace(self, do: str, asked: Any, *_: Any, **more: Any) -> SnapshotSent:
        if do != "snapshots send":
            raise AllocationMissing(profile="p")
        assert asked.lists
        file = Listed(b"work/result.csv", stat.S_IFREG, 3, digest_of_bytes(b"one", 7))
        entries = [Listed(b"work", stat.S_IFDIR, 0, b""), file]
        content = ListedPart(7, entries).encoded()
        more["emit"](Data(content=content[:9]))
        more["emit"](Data(content=content[9:] + b" " * self._damages))
        return msgspec.structs.replace(
            SENT, place="result.csv", digest=WholeDigest().text(content), written_files=9
        )


def foretold(target: Path, *, replace: bool = False, damages: bool = False) -> Restored:
    cluster = cast("Cluster", ForetellingCluster(damages=damages))
    request = Restore(paths=("result.csv",), dry_run=True, replace=replace)
    return take_home._fetch(cluster, request, target, lambda _: None)


def test_the_result_names_where_the_files_are(tmp_path: Path) -> None:
    assert foretold(tmp_path / "results").place == str(tmp_path / "results/result.csv")


def test_a_dry_run_looks_what_the_directory_here_holds(tmp_path: Path) -> None:
    missing = foretold(tmp_path / "none")
    assert (missing.mode, missing.written_files, missing.written_bytes) == ("full", 1, 3)
    assert not (tmp_path / "none").exists()
    (tmp_path / "result.csv").write_text("one")
    assert (foretold(tmp_path).mode, foretold(tmp_path).written_files) == ("nothing", 0)
    (tmp_path / "result.csv").write_text("two")
    with pytest.raises(TargetDiffers):
        foretold(tmp_path)
    assert foretold(tmp_path, replace=True).written_files == 1
    assert (tmp_path / "result.csv").read_text() == "two"


def test_a_list_that_differs_from_what_was_sent_foretells_nothing(tmp_path: Path) -> None:
    with pytest.raises(StreamBroken):
        foretold(tmp_path, damages=True)
