"""`jobs outputs --to laptop:DIR`: what was sent arrives whole, or nothing does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows.jobs import outputs as module
from scratchflow.flows.jobs.outputs import outputs
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.jobs import OutputsDiffer
from scratchflow.model.requests import JobOutputs, PutOutputs
from scratchflow.model.results.jobs import OutputsPut, OutputsShown
from scratchflow.node.job.outputs import send_outputs
from scratchflow.store.jobs.outputs import Output
from tests.unit.flows.told import ToldCluster, give

FOUND = OutputsShown(
    job="j", number=41, directory="/d", host="login", place="job-41", outputs=[], files=1, bytes=3, tasks=[0]
)  # fmt: skip


class Sending(ToldCluster):
    """Sends one file when it is asked to; `spoils` tells another digest."""

    def __init__(self, directory: Path, *, spoils: bool = False, files: int = 1) -> None:
        put = OutputsPut(target="/x/job-41", host="node-1")
        found = msgspec.structs.replace(FOUND, files=files)
        super().__init__(directory, {"jobs outputs": found, "job outputs": put})
        self._file, self._spoils = directory / "result", spoils
        self._file.write_text("abc")

    def on_login(self, do: str, request: Any, kind: Any, **options: Any) -> Any:
        found = super().on_login(do, request, kind)
        if not request.send:
            return found
        sha256 = send_outputs([Output("outputs/r", self._file, 0, 3)], options["emit"])
        return msgspec.structs.replace(found, sha256="0" if self._spoils else sha256)


def test_they_arrive_in_a_directory_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = give(monkeypatch, module, Sending(tmp_path))
    done = outputs(cluster.caller, cluster.emit, JobOutputs(wanted="last"), here=f"{tmp_path}/home")
    assert (tmp_path / "home/job-41/outputs/r").read_text() == "abc"
    assert done.put is not None
    assert (done.put.written_files, done.put.written_bytes) == (1, 3)
    assert os.listdir(tmp_path / "home/job-41") == ["outputs"]
    # The second question names the job itself: `last` may be another one by then.
    assert cluster.asked[-1][1] == JobOutputs(wanted="j", tasks=(0,), send=True)


def test_without_a_place_they_are_only_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = give(monkeypatch, module, Sending(tmp_path))
    assert outputs(cluster.caller, cluster.emit, JobOutputs(wanted="41")) == FOUND
    assert cluster.done == ["jobs outputs"]


def test_a_dry_run_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = give(monkeypatch, module, Sending(tmp_path))
    asked = JobOutputs(wanted="41")
    done = outputs(cluster.caller, cluster.emit, asked, here=f"{tmp_path}/home", dry_run=True)
    assert done.put is not None
    assert done.put.dry_run
    assert cluster.done == ["jobs outputs"]
    assert not (tmp_path / "home").exists()


def test_nothing_is_made_when_there_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = give(monkeypatch, module, Sending(tmp_path, files=0))
    outputs(cluster.caller, cluster.emit, JobOutputs(wanted="41"), here=f"{tmp_path}/home")
    assert not (tmp_path / "home").exists()


def test_bytes_that_changed_on_the_way_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = give(monkeypatch, module, Sending(tmp_path, spoils=True))
    with pytest.raises(StreamBroken):
        outputs(cluster.caller, cluster.emit, JobOutputs(wanted="41"), here=f"{tmp_path}/home")
    assert not os.listdir(tmp_path / "home/job-41")


def test_what_differs_here_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "home/job-41/outputs/r"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    cluster = give(monkeypatch, module, Sending(tmp_path))
    with pytest.raises(OutputsDiffer):
        outputs(cluster.caller, cluster.emit, JobOutputs(wanted="41"), here=f"{tmp_path}/home")
    assert mine.read_text() == "mine"


def test_a_directory_of_the_node_is_filled_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = give(monkeypatch, module, Sending(tmp_path))
    done = outputs(cluster.caller, cluster.emit, JobOutputs(wanted="41"), to="/x")
    assert cluster.asked[-1][:2] == ("job outputs", PutOutputs(job="j", to="/x", tasks=(0,)))
    assert done.put is not None
    assert done.put.host == "node-1"
