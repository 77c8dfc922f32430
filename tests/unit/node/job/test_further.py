"""The further nodes of a job: each has the files, and what each makes is saved, however it ends."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from scratchflow.model.errors.jobs import JobNotStarted
from scratchflow.model.events import Event, Log
from scratchflow.model.requests import FurtherJob
from scratchflow.model.results.jobs import FurtherEnded
from scratchflow.node.job.further import READY, FurtherNodes, run_further
from scratchflow.node.job.own_copy import OwnCopy
from scratchflow.node.progress import Notifier
from scratchflow.process.waiting import looks
from scratchflow.store.jobs.records import job_directory
from tests.unit.conftest import Desk
from tests.unit.node.job.test_run import JOB, submitted


def saved_there(desk: Desk) -> Path:
    return job_directory(desk.place, JOB).outputs(0, desk.context.node) / "outputs/x"


def test_a_further_node_restores_says_so_and_saves_what_is_made_there(desk: Desk) -> None:
    submitted(desk, "true")
    target = desk.scratch / f"jobs/{JOB}-0"

    def hear(event: Event) -> None:
        if event == Log(level="info", message=READY):
            assert (target / "work/README").read_text() == "hello"
            (target / "work/outputs").mkdir()
            (target / "work/outputs/x").write_text("made")
            signal.raise_signal(signal.SIGHUP)

    ended = run_further(desk.context, Notifier(hear), FurtherJob(job=JOB, target=str(target)))
    assert (ended.collected_files, ended.not_collected) == (1, [])
    assert saved_there(desk).read_text() == "made"
    assert not target.exists()


def test_after_sigterm_it_saves_at_once_and_again_when_the_command_has_ended(desk: Desk) -> None:
    submitted(desk, "true")
    target = desk.scratch / f"jobs/{JOB}-0"
    made = target / "work/outputs/x"
    main = threading.get_ident()

    def command() -> None:
        """Ends some time after SIGTERM, as it likes."""
        for _ in looks(60, 0.01):
            if saved_there(desk).exists():
                break
        made.write_text("at the end")
        signal.pthread_kill(main, signal.SIGHUP)

    def hear(event: Event) -> None:
        if event == Log(level="info", message=READY):
            made.parent.mkdir()
            made.write_text("half")
            threading.Thread(target=command).start()
            signal.raise_signal(signal.SIGTERM)

    run_further(desk.context, Notifier(hear), FurtherJob(job=JOB, target=str(target)))
    assert saved_there(desk).read_text() == "at the end"


def test_a_further_node_of_a_job_that_starts_anew_replaces_nothing_either(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(desk, "true")
    target = desk.scratch / f"jobs/{JOB}-0"
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    saved_there(desk).parent.mkdir(parents=True)
    saved_there(desk).write_text("first run")

    def hear(event: Event) -> None:
        if event == Log(level="info", message=READY):
            (target / "work/outputs").mkdir()
            (target / "work/outputs/x").write_text("second run")
            signal.raise_signal(signal.SIGHUP)

    run_further(desk.context, Notifier(hear), FurtherJob(job=JOB, target=str(target)))
    aside = job_directory(desk.place, JOB).outputs(0, f"{desk.context.node}.run-1")
    assert (aside / "outputs/x").read_text() == "first run"
    assert saved_there(desk).read_text() == "second run"


LINE = '{{"v":1,"seq":1,"ts":"","op":"","type":"{kind}",{more}}}'
READY_LINE = LINE.format(kind="log", more=f'"level":"info","message":"{READY}"')
DONE = LINE.format(
    kind="summary",
    more='"data":{"node":"n2","collected_files":3},"warnings":0,"exit_code":0',
)
FAILED = LINE.format(
    kind="error",
    more='"code":"x","message":"no space","hint":"","retryable":false,"exit_code":1',
)


def others(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> FurtherNodes:
    srun = tmp_path / "bin/srun"
    srun.parent.mkdir()
    srun.write_text(f"#!/bin/sh\n{script}\n")
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{srun.parent}:/usr/bin:/bin")
    record = submitted(desk, "true")
    return FurtherNodes(desk.context, OwnCopy(tmp_path / "copy", record, 0), ["n2", "n3"])


def test_the_first_node_waits_for_all_and_hears_what_they_saved(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"echo noise; echo '{READY_LINE}'; echo '{READY_LINE}'; cat > /dev/null; echo '{DONE}'"
    further = others(desk, tmp_path, monkeypatch, script)
    further.begin()
    further.wait_until_ready()
    assert further.end() == [FurtherEnded(node="n2", collected_files=3)]


@pytest.mark.parametrize("said", [FAILED, "nothing"])
def test_a_node_that_cannot_have_the_files_keeps_the_command_from_running(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    further = others(desk, tmp_path, monkeypatch, f"echo '{READY_LINE}'; echo '{said}'")
    further.begin()
    with pytest.raises(JobNotStarted, match=r"no space|step on them ended"):
        further.wait_until_ready()
    further.end()
