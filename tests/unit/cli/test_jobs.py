"""What people read after a verb of `jobs`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.verbs import parse
from scratchflow.dispatch import cluster
from scratchflow.flows.jobs import outputs
from scratchflow.model.requests import JobOutputs
from scratchflow.model.results.jobs import DebugReady, JobDifference, JobInspected, JobsCompared
from tests.unit.flows.jobs.test_code import JOB

READY = DebugReady(
    job="j",
    task=1,
    directory="/scratch/debug/j-1/work/sub",
    command="python train.py",
    script="/scratch/debug/j-1/.scratchflow/debug.sh",
    bashrc="/scratch/debug/j-1/.scratchflow/debug.bashrc",
)


def test_after_the_shell_of_debug_the_whole_copy_is_named_for_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    call = parse(["jobs", "debug", "41_1"])
    (line,) = call.show(msgspec.structs.replace(READY, code=0))
    assert line.startswith("`/scratch/debug/j-1` stays as you left it; `rm -r` removes it")
    first, second = call.show(READY)
    assert "/scratch/debug/j-1/work/sub" in first
    assert READY.script in second


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["jobs", "show", "7"], JobInspected(job=JOB)),
        (
            ["jobs", "diff", "7", "8"],
            JobsCompared(
                first="7",
                second="8",
                differences=[JobDifference(what="tasks", first=1, second=3)],
            ),
        ),
    ],
)
def test_the_result_holds_what_people_read(
    arguments: list[str],
    found: JobInspected | JobsCompared,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(cluster, "on_login", lambda *_: found)
    call = parse(arguments)
    result = call.flow(lambda _: None)
    assert isinstance(result, type(found))
    assert result.text == "\n".join(call.show(found))
    assert "tasks" in result.text or "job 7" in result.text


@pytest.mark.parametrize(("typed", "wanted"), [([], "last"), (["41_3"], "41_3")])
def test_outputs_without_a_job_are_those_of_the_last_one(
    typed: list[str], wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    asked: list[JobOutputs] = []
    monkeypatch.setattr(outputs, "outputs", lambda _, __, request, **___: asked.append(request))
    parse(["jobs", "outputs", *typed]).flow(lambda _: None)
    assert [one.wanted for one in asked] == [wanted]
