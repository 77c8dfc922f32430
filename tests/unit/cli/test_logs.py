"""`logs`, as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.verbs import parse
from scratchflow.flows.jobs import logs as flow
from scratchflow.model.requests import ReadLogs


@pytest.mark.parametrize(("typed", "wanted"), [([], "last"), (["41_3"], "41_3"), (["-f"], "last")])
def test_without_a_job_the_last_one_is_meant(
    typed: list[str], wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    asked: list[ReadLogs] = []
    monkeypatch.setattr(flow, "show_logs", lambda _, __, request, **___: asked.append(request))
    parse(["logs", *typed]).flow(lambda _: None)
    assert [one.wanted for one in asked] == [wanted]
