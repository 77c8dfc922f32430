"""What a job printed reaches stdout and stderr as it was, or the result."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from scratchflow.flows.jobs import logs as module
from scratchflow.flows.jobs.logs import show_logs
from scratchflow.model.errors.jobs import LogsCutShort
from scratchflow.model.events import Data
from scratchflow.model.requests import ReadLogs
from scratchflow.model.results.jobs import LogsShown
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.told import ToldCluster, give

SHOWN = LogsShown(job="j", task=0, state="COMPLETED")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToldCluster:
    told = give(monkeypatch, module, ToldCluster(tmp_path, {}))
    heard: list[Any] = []
    inner: Any = vars(module)["cluster_of"]

    def cluster_of(settings: Any, caller: Any, emit: Any) -> Any:
        heard.append(emit)
        return inner(settings, caller, emit)

    def answer(_: object) -> LogsShown:
        heard[-1](Data(content=b"out\xff\n"))
        heard[-1](Data(content=b"err\n", is_error=True))
        return SHOWN

    monkeypatch.setattr(module, "cluster_of", cluster_of)
    told._answers["logs"] = answer
    return told


def test_both_streams_are_the_jobs(cluster: ToldCluster, capfdbinary: Any) -> None:
    show_logs(cluster.caller, cluster.emit, ReadLogs(wanted="1"), keep=False)
    said = capfdbinary.readouterr()
    assert (said.out, said.err) == (b"out\xff\n", b"err\n")


def test_kept_it_is_in_the_result_and_nowhere_else(cluster: ToldCluster, capfdbinary: Any) -> None:
    done = show_logs(cluster.caller, cluster.emit, ReadLogs(wanted="1"), keep=True)
    assert (done.output, done.error) == ("out\ufffd\n", "err\n")
    assert capfdbinary.readouterr().out == b""


def test_ctrl_c_says_that_the_job_goes_on(cluster: ToldCluster) -> None:
    def interrupted(_: object) -> LogsShown:
        raise Interrupted(signal.SIGINT)

    cluster._answers["logs"] = interrupted
    with pytest.raises(LogsCutShort) as caught:
        show_logs(cluster.caller, cluster.emit, ReadLogs(wanted="7", follow=True), keep=False)
    assert str(caught.value) == "Stopped reading. The job was not cancelled."
    assert caught.value.exit_code == 130
