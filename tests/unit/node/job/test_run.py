"""A job on its node, without a Slurm: restored, run, collected, removed, and written down."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.jobs import JobMissing, JobNotStarted
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.job import JobRecord, TaskRecord
from scratchflow.model.profile import BackupOptions, EnvironmentOptions
from scratchflow.model.requests import RunJob
from scratchflow.model.results.jobs import JobRan
from scratchflow.node.job import limit_clock, own_record
from scratchflow.node.job import run as module
from scratchflow.node.job.collect import Collected, Collector
from scratchflow.node.job.copies import CopyMark, begun_ns, mark_copy
from scratchflow.node.job.run import run_job
from scratchflow.process.interrupted import Interrupted
from scratchflow.process.waiting import looks
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.jobs.given_up import GivenUp, note_given_up
from scratchflow.store.jobs.records import (
    job_directory,
    job_ids,
    make_job_directory,
    read_job,
    read_task,
    write_job,
    write_present,
    write_task,
)
from scratchflow.store.jobs.remove import remove_job
from scratchflow.store.jobs.saved_rest import SavedRest, note_saved_rest, read_saved_rests
from tests.unit.conftest import Desk

JOB = "20261115T093000Z-3f2a9c"


@pytest.fixture(autouse=True)
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the job prints to, as its batch script has it; and no `srun`."""
    file = os.open(tmp_path / "printed", os.O_WRONLY | os.O_CREAT)
    monkeypatch.setattr(module, "OUTPUT_FD", file)
    monkeypatch.setattr(module, "ERROR_FD", file)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    which = shutil.which
    monkeypatch.setattr(
        "shutil.which", lambda name, **at: None if name == "srun" else which(name, **at)
    )
    monkeypatch.setattr(limit_clock, "READY_S", 0.0)
    for name in ("SLURM_ARRAY_TASK_ID", "SLURM_TMPDIR", "SLURM_JOB_NUM_NODES"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path / "printed"
    os.close(file)


def submitted(desk: Desk, *command: str, **more: object) -> JobRecord:
    snapshot = desk.backup().snapshot or ""
    plain = {"id": JOB, "time": "2026-11-15T09:30:00Z", "name": "n", "profile": "test"}
    given = {**plain, "workspace": "work", "snapshot": snapshot, "command": list(command), **more}
    record = JobRecord(**given)  # type: ignore[arg-type]
    make_job_directory(desk.place, record)
    return record


def run(desk: Desk) -> JobRan:
    return run_job(desk.context, desk.notify, RunJob(job=JOB))


def task_of(desk: Desk) -> TaskRecord:
    found = read_task(desk.place, JOB, 0)
    assert found is not None
    return found


def test_it_runs_in_a_copy_of_the_snapshot_and_leaves_its_outputs(desk: Desk, output: Path) -> None:
    script = "pwd; cat README; mkdir outputs; echo made > outputs/x; rm README; exit 3"
    submitted(desk, "sh", "-c", script)
    desk.write("work/README", "changed since")
    ran = run(desk)
    assert (ran.exit_code(), ran.collected_files) == (3, 1)
    directory, said = output.read_text().splitlines()
    assert (directory, said) == (f"{desk.scratch}/jobs/{JOB}-0/work", "hello")
    assert (desk.work / "README").read_text() == "changed since"
    assert list((desk.scratch / "jobs").iterdir()) == []
    task = task_of(desk)
    assert (task.phase, task.code, task.collected_paths) == ("ended", 3, ["outputs/x"])
    assert (job_directory(desk.place, JOB).outputs(0) / "outputs/x").read_text() == "made\n"


@pytest.mark.parametrize(
    "closed", ["../../..", "../..", "..", ".", "sub", "sub/outputs", "sub/outputs/a sub"]
)
@pytest.mark.parametrize("mode", ["0", "400"])
def test_what_a_command_closed_behind_itself_is_opened_and_saved_at_its_end(
    desk: Desk, closed: str, mode: str
) -> None:
    script = f"mkdir -p sub/outputs/a; echo made > sub/outputs/a/x; chmod {mode} {closed}"
    submitted(desk, "sh", "-c", script, collect=["sub/outputs"])
    run(desk)
    task = task_of(desk)
    assert (task.error, task.not_collected, task.unsaved_on) == ("", [], [])
    saved = job_directory(desk.place, JOB).outputs(0) / "sub/outputs/a/x"
    assert saved.read_text() == "made\n"
    assert list((desk.scratch / "jobs").iterdir()) == []


def test_what_a_command_made_is_saved_though_it_has_renamed_its_directory(desk: Desk) -> None:
    submitted(desk, "sh", "-c", "mkdir outputs; echo made > outputs/x; mv ../work ../other")
    run(desk)
    assert (job_directory(desk.place, JOB).outputs(0) / "outputs/x").read_text() == "made\n"
    assert (task_of(desk).collected_files, task_of(desk).left_out) == (1, [])


def test_a_link_that_leads_to_its_directory_is_no_other_one_in_its_place(desk: Desk) -> None:
    moved = "mkdir outputs; echo a > outputs/a; mv ../work ../other; ln -s other ../work"
    submitted(desk, "sh", "-c", f"{moved}; echo b > outputs/b; mkdir outputs/c; chmod 0 outputs/c")
    run(desk)
    task = task_of(desk)
    assert task.collected_paths == ["outputs/a", "outputs/b"]
    assert (task.not_collected, task.unsaved_on, task.left_out) == ([], [], [])
    assert list((desk.scratch / "jobs").iterdir()) == []


def test_what_a_command_leaves_in_its_copy_says_which_directory_it_was_started_in(
    desk: Desk,
) -> None:
    submitted(desk, "sh", "-c", "stat -c %i . >inode; cp ../.scratchflow/run.json .", collect=["*"])
    run(desk)
    saved = job_directory(desk.place, JOB).outputs(0)
    mark = msgspec.json.decode((saved / "run.json").read_bytes(), type=CopyMark)
    assert mark.inode == int((saved / "inode").read_text())


def test_a_copy_stays_whose_directory_the_command_has_replaced_by_another(desk: Desk) -> None:
    made = "mkdir outputs; echo made > outputs/x; mv ../work ../other; mkdir ../work"
    submitted(desk, "sh", "-c", made)
    run(desk)
    (copy,) = (desk.scratch / "jobs").iterdir()
    assert (copy / "other/outputs/x").read_text() == "made\n"
    (line,) = task_of(desk).not_collected
    assert line.startswith("other: the command was started in it")


@pytest.mark.parametrize(
    "way",
    [
        "rm -r ../work",
        'copy=$(dirname "$PWD"); mv "$copy" "$copy-moved"',
        'jobs=$(dirname "$(dirname "$PWD")"); mv "$jobs" "$jobs-moved"',
    ],
)
def test_that_a_command_has_removed_its_directory_is_told(desk: Desk, way: str) -> None:
    submitted(desk, "sh", "-c", f"mkdir outputs; echo made > outputs/x; {way}")
    run(desk)
    said = task_of(desk)
    (line,) = said.left_out
    assert "moved away or removed" in line
    assert (said.phase, said.not_collected, said.unsaved_on) == ("ended", [], [])


def test_a_pattern_that_matches_nothing_is_noted(desk: Desk) -> None:
    made = "mkdir a; echo made > a/x"
    submitted(desk, "sh", "-c", made, collect=["a/*", "b/*", "sub/outputs"])
    run(desk)
    assert (task_of(desk).collected_files, task_of(desk).unmatched) == (1, ["b/*"])


def test_where_a_job_that_died_had_closed_the_directory_of_all_copies_the_next_one_runs(
    desk: Desk,
) -> None:
    submitted(desk, "true")
    (desk.scratch / "jobs").mkdir(mode=0)
    assert run(desk).exit_code() == 0


def test_nor_does_a_closed_scratch_keep_the_next_job_from_running(desk: Desk) -> None:
    submitted(desk, "true")
    desk.scratch.chmod(0)
    assert run(desk).exit_code() == 0


def test_what_a_run_that_died_has_left_is_saved_before_the_next(desk: Desk) -> None:
    submitted(desk, "true")
    left = desk.scratch / f"jobs/{JOB}-0/work/outputs"
    left.mkdir(parents=True)
    (left / "half").write_text("precious")
    node = desk.context.node
    write_task(desk.place, JOB, TaskRecord(task=0, job_id=1, node=node, phase="running", start=""))
    run(desk)
    saved = job_directory(desk.place, JOB).outputs(0, "run-1") / "outputs/half"
    assert saved.read_text() == "precious"


def test_a_run_that_starts_anew_replaces_nothing_that_an_earlier_one_saved(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(desk, "sh", "-c", "mkdir outputs; echo $SLURM_RESTART_COUNT > outputs/app")
    for restarts in "012":
        monkeypatch.setenv("SLURM_RESTART_COUNT", restarts)
        run(desk)
    where = job_directory(desk.place, JOB)
    saved = [where.outputs(0, "run-1"), where.outputs(0, "run-2"), where.outputs(0)]
    assert [(one / "outputs/app").read_text() for one in saved] == ["0\n", "1\n", "2\n"]


@pytest.mark.parametrize("continues", [0, 1])
def test_what_earlier_runs_saved_counts_as_collected_from_the_start_of_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, continues: int
) -> None:
    signalled = "USR2@120" if continues else ""
    script = "mkdir -p outputs; printf four > outputs/app"
    job = submitted(desk, "sh", "-c", script, continues=continues, signal=signalled)
    run(desk)
    told: list[tuple[str, int, int, int]] = []

    def note(place: StoreDirectory, job: str, said: TaskRecord) -> None:
        told.append((said.phase, said.collected_files, said.collected_bytes, said.earlier_files))
        write_task(place, job, said)

    monkeypatch.setattr(own_record, "write_task", note)
    write_job(desk.place, msgspec.structs.replace(job, command=["true"]))
    run(desk)
    earlier = 0 if continues else 1
    assert set(told) == {(phase, 1, 4, earlier) for phase in ("restoring", "running", "ended")}
    write_job(desk.place, job)
    run(desk)
    assert told[-1] == ("ended", 1 + earlier, 4 + 4 * earlier, earlier)


def test_links_out_that_earlier_runs_made_are_told_with_those_of_the_last(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "mkdir outputs; ln -s /usr outputs/run-$SLURM_RESTART_COUNT"
    submitted(desk, "sh", "-c", script)
    for restarts in "01":
        monkeypatch.setenv("SLURM_RESTART_COUNT", restarts)
        run(desk)
    told = [line.partition(":")[0] for line in task_of(desk).links_out]
    assert told == ["outputs/run-0", "outputs/run-1"]


def test_what_an_older_run_has_left_here_replaces_nothing_that_a_later_one_made_elsewhere(
    desk: Desk,
) -> None:
    submitted(desk, "cat", "outputs/n", continues=1, signal="USR2@120")
    left = desk.scratch / f"jobs/{JOB}-0/work/outputs"
    left.mkdir(parents=True)
    (left / "n").write_text("older")
    where = job_directory(desk.place, JOB)
    (where.outputs(0) / "outputs").mkdir(parents=True)
    (where.outputs(0) / "outputs/n").write_text("newer")
    write_present(desk.place, JOB, 0, {"outputs/n": None})
    again = TaskRecord(task=0, job_id=1, node="another", phase="requeued", start="", continued=1)
    write_task(desk.place, JOB, again)
    assert run(desk).exit_code() == 0
    assert (where.outputs(0) / "outputs/n").read_text() == "newer"
    assert (where.outputs(0, desk.context.node) / "outputs/n").read_text() == "older"


@pytest.mark.parametrize("continues", [0, 1])
def test_nor_anything_that_another_older_run_left_here(desk: Desk, continues: int) -> None:
    submitted(desk, "true", continues=continues, signal="USR2@120" if continues else "")
    left = desk.scratch / f"jobs/{JOB}-0/work/outputs"
    left.mkdir(parents=True)
    (left / "n").write_text("older")
    where, node = job_directory(desk.place, JOB), desk.context.node
    (where.outputs(0, node) / "outputs").mkdir(parents=True)
    (where.outputs(0, node) / "outputs/n").write_text("oldest")
    again = TaskRecord(task=0, job_id=1, node="another", phase="running", start="", restarts=2)
    write_task(desk.place, JOB, again)
    run(desk)
    assert (where.outputs(0, node) / "outputs/n").read_text() == "oldest"
    assert (where.outputs(0, f"{node}.2") / "outputs/n").read_text() == "older"


def test_a_job_whose_snapshot_has_no_environment_names_the_run_that_has_it(desk: Desk) -> None:
    submitted(desk, "true", number=41)
    profile = msgspec.structs.replace(
        desk.context.profile,
        environment=EnvironmentOptions(venv="env"),
        backup=BackupOptions(also=["env"]),
    )
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    here = msgspec.structs.replace(desk.context, settings=settings)
    with pytest.raises(JobNotStarted, match="`scratchflow jobs rerun --current 41`"):
        run_job(here, desk.notify, RunJob(job=JOB))
    assert "the snapshot that it runs from does not have it" in task_of(desk).error


def test_what_keeps_it_from_running_is_in_the_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(desk, "true", directory="missing")
    with pytest.raises(JobNotStarted):
        run(desk)
    task = task_of(desk)
    assert (task.phase, task.code) == ("ended", None)
    assert "there is no `missing`" in task.error
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    with pytest.raises(JobNotStarted, match="several nodes"):
        run_job(desk.context, desk.notify, RunJob(job=JOB, overlap=False))
    assert list((desk.scratch / "jobs").iterdir()) == []


def test_a_program_that_the_node_does_not_have_is_told_instead_of_run(desk: Desk) -> None:
    submitted(desk, "no-such-program", "x")
    with pytest.raises(JobNotStarted, match="there is no program `no-such-program`"):
        run(desk)
    said = task_of(desk)
    assert (said.phase, said.code, said.not_collected) == ("ended", None, [])
    assert "there is no program `no-such-program` on the PATH" in said.error


def test_a_script_without_its_interpreter_is_told_as_one_that_made_nothing(desk: Desk) -> None:
    submitted(desk, "/nonexist/interp", "bad.sh", script="bad.sh")
    with pytest.raises(JobNotStarted, match=r"the first line of `bad\.sh` names"):
        run(desk)
    said = task_of(desk)
    assert (said.phase, said.not_collected, said.unsaved_on) == ("ended", [], [])


def test_so_is_a_program_that_the_system_does_not_start(desk: Desk) -> None:
    desk.write("work/broken", "#!/nonexist/interp\n").chmod(0o755)
    submitted(desk, "./broken")
    with pytest.raises(JobNotStarted, match=r"`\./broken` could not be started: No such file"):
        run(desk)
    said = task_of(desk)
    assert (said.phase, said.not_collected, said.unsaved_on) == ("ended", [], [])


def test_a_file_in_the_way_of_its_copy_is_told(desk: Desk) -> None:
    submitted(desk, "true")
    desk.write("jobs", "a file")
    with pytest.raises(JobNotStarted):
        run(desk)
    assert (task_of(desk).phase, task_of(desk).code) == ("ended", None)
    assert "Not a directory" in task_of(desk).error


def test_what_an_earlier_run_left_and_nobody_can_save_stays_and_is_told(desk: Desk) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    submitted(desk, "true")
    left = desk.scratch / f"jobs/{JOB}-0/work/outputs"
    left.mkdir(parents=True)
    (left / "precious").write_text("precious")
    (left / "precious").chmod(0)
    with pytest.raises(JobNotStarted, match="could not be saved"):
        run(desk)
    assert (left / "precious").exists()
    task = task_of(desk)
    assert task.phase == "ended"
    assert task.error.startswith("what an earlier run of it had left")
    assert task.not_collected == ["outputs/precious: Permission denied"]


def test_a_command_that_hears_of_its_end_before_the_job_does_was_ended_from_outside(
    desk: Desk,
) -> None:
    """Slurm sends SIGTERM to the command's step first. Here the job gets it when all that the command made is saved."""
    task, sent = job_directory(desk.place, JOB).task(0), desk.scratch / "sent"
    late = f"until grep -q 'collected_time\": \"' {task}; do sleep 0.01; done; kill -TERM {os.getpid()}; touch {sent}"
    submitted(desk, "sh", "-c", f"({late}) & kill -TERM $$")
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # if it comes when nobody listens
    try:
        run(desk)
        for _ in looks(60, 0.01):
            if sent.exists():
                break
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (task_of(desk).code, task_of(desk).ended_by) == (143, "SIGTERM")


def test_a_command_that_nobody_ended_from_outside_has_failed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ALSO_HEARD_S", 0.1)
    submitted(desk, "sh", "-c", "kill -TERM $$")
    run(desk)
    assert (task_of(desk).code, task_of(desk).ended_by) == (143, "")


def test_without_a_record_nothing_is_run(desk: Desk) -> None:
    with pytest.raises(JobMissing):
        run(desk)


def test_a_task_has_its_own_parameters_in_its_words_and_in_a_file(
    desk: Desk, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'echo "$0 $1 $2"; cat "$SCRATCHFLOW_PARAMS"; echo "$MODE $PYTHONPATH"'
    submitted(
        desk,
        *("sh", "-c", script, "{lr}"),
        tasks=[{"lr": 0.1, "seed": 1}, {"lr": 0.01, "seed": 2}],
        variables={"MODE": "x"},
        python_path=["src"],
    )
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    monkeypatch.setenv("PYTHONPATH", "/before")
    assert run(desk).task == 1
    words, parameters, more = output.read_text().splitlines()
    assert words == "0.01 --seed=2 "
    assert msgspec.json.decode(parameters) == {"lr": 0.01, "seed": 2}
    assert more == f"x /before:{desk.scratch}/jobs/{JOB}-1/work/src"
    assert read_task(desk.place, JOB, 1) is not None


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is asked of `scontrol`, which says yes; a file `no` beside it makes it refuse."""
    there = tmp_path / "slurm"
    there.mkdir()
    script = f'#!/bin/sh\n[ ! -e {there}/no ] || {{ echo "it is disabled" >&2; exit 1; }}\necho "$@" >> {there}/asked\n'
    (there / "scontrol").write_text(script)
    (there / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{there}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    return there


# Tells our process what Slurm would, and ends by the signal that it gets then.
STEP = "mkdir -p outputs; cat outputs/n; printf x >> outputs/n; {more}; trap 'exit {code}' USR2; kill -USR1 $PPID; while :; do sleep 0.05; done"


def test_a_job_goes_on_in_another_run_with_its_outputs_in_place_as_often_as_asked(
    desk: Desk, scontrol: Path, output: Path
) -> None:
    script = STEP.format(more="true", code=0)
    submitted(desk, "sh", "-c", script, continues=2, signal="USR2@120")
    for count in (1, 2):
        assert run(desk).exit_code() == 0
        task = task_of(desk)
        assert (task.phase, task.continued, task.not_continued) == ("requeued", count, "")
        assert list((desk.scratch / "jobs").iterdir()) == []
    assert run(desk).exit_code() == 1  # it was told to stop, and had more to do
    task = task_of(desk)
    assert (task.phase, task.continued) == ("ended", 2)
    assert "as often as was asked for" in task.not_continued
    assert (scontrol / "asked").read_text().splitlines() == ["requeue 7"] * 2
    assert output.read_text().replace("cat: outputs/n: No such file or directory\n", "") == "xxx"
    assert (job_directory(desk.place, JOB).outputs(0) / "outputs/n").read_text() == "xxx"


@pytest.mark.slow
def test_a_job_goes_on_also_when_slurms_word_came_before_it_listened(
    desk: Desk, scontrol: Path
) -> None:
    end_s = time.time() + 60.5
    desk.context = msgspec.structs.replace(desk.context, job_end_s=lambda: end_s)
    script = (
        "mkdir outputs; trap 'echo made > outputs/x; exit 0' USR1; while :; do sleep 0.05; done"
    )
    submitted(desk, "sh", "-c", script, continues=1, signal="USR1@60")
    run(desk)
    assert (task_of(desk).phase, task_of(desk).continued) == ("requeued", 1)
    assert (scontrol / "asked").read_text() == "requeue 7\n"
    assert (job_directory(desk.place, JOB).outputs(0) / "outputs/x").read_text() == "made\n"


@pytest.mark.usefixtures("scontrol")
@pytest.mark.parametrize("phase", ["requeued", "ended"])
def test_a_signal_that_comes_after_the_last_word_changes_nothing_in_the_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """Slurm ends a job that was queued again, and may do so when the handlers for its signals are gone already."""

    @contextmanager
    def ended_after(_: Path) -> Iterator[bool]:
        yield True
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(module, "in_use", ended_after)
    script = STEP.format(more="true", code=0) if phase == "requeued" else "exit 4"
    submitted(desk, "sh", "-c", script, continues=1, signal="USR2@120")
    with pytest.raises(Interrupted):
        run(desk)
    task = task_of(desk)
    assert (task.phase, task.ended_by, task.code) == (phase, "", 0 if phase == "requeued" else 4)


def test_a_job_that_ends_before_it_was_told_does_not_go_on(desk: Desk, scontrol: Path) -> None:
    submitted(desk, "sh", "-c", "exit 4", continues=2, signal="USR2@120")
    assert run(desk).exit_code() == 4
    assert (task_of(desk).phase, task_of(desk).not_continued) == ("ended", "")
    assert not (scontrol / "asked").exists()


@pytest.mark.parametrize("how", ["refused", "unsaved"])
def test_one_that_should_go_on_and_cannot_has_failed_and_says_why(
    desk: Desk, scontrol: Path, how: str
) -> None:
    there = job_directory(desk.place, JOB).path / "outputs"
    more = f"chmod 500 {there}" if how == "unsaved" else "true"
    submitted(desk, "sh", "-c", STEP.format(more=more, code=0), continues=2, signal="USR2@120")
    if how == "refused":
        (scontrol / "no").touch()
    assert run(desk).exit_code() == 1
    task = task_of(desk)
    assert (task.phase, task.continued) == ("ended", 0)
    assert ("it is disabled" if how == "refused" else "outputs/n") in task.not_continued
    left = desk.scratch / f"jobs/{JOB}-0/work/outputs/n"
    assert left.exists() is (how == "unsaved")


def test_that_the_store_was_full_while_the_command_printed_is_in_the_record(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(desk, "true")
    run(desk)
    assert task_of(desk).full_since == ""
    full = NoSpace(path=desk.place.directory, reason="Disk quota exceeded")
    monkeypatch.setattr(own_record, "write_failure", lambda _: full)
    run(desk)
    assert (task_of(desk).phase, bool(task_of(desk).full_since)) == ("ended", True)


@pytest.mark.parametrize("closed", ["outputs", "tasks"])
def test_a_store_that_takes_nothing_costs_no_result(desk: Desk, closed: str) -> None:
    there = job_directory(desk.place, JOB).path
    script = f"mkdir outputs; echo made > outputs/x; chmod 500 {there / closed}"
    submitted(desk, "sh", "-c", script)
    if closed == "tasks":
        with pytest.raises(JobNotStarted):
            run(desk)
    else:
        assert run(desk).collected_files == 0
        assert "outputs/x" in task_of(desk).not_collected[0]
    left = desk.scratch / f"jobs/{JOB}-0/work/outputs/x"
    assert left.read_text() == "made\n"
    if closed == "outputs":
        with pytest.raises(JobNotStarted, match="could not be saved"):
            run(desk)
        assert left.exists()
    (there / closed).chmod(0o700)
    submitted_again = msgspec.structs.replace(read_job(desk.place, JOB) or fail(), command=["true"])
    write_job(desk.place, submitted_again)
    run(desk)
    saved = job_directory(desk.place, JOB).outputs(0, "run-1") / "outputs/x"
    assert saved.read_text() == "made\n"


def test_what_a_run_could_save_of_an_earlier_one_is_not_saved_again_with_the_rest(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that could not begin has another number than the one that left the copy."""
    desk.context = msgspec.structs.replace(desk.context, job_id=7, is_job_over=lambda _: True)
    record = submitted(desk, "true", number=7)
    node, copy = desk.context.node, desk.scratch / f"jobs/{JOB}-0"
    crashed = TaskRecord(task=0, job_id=7, node=node, phase="running", start="")
    write_task(desk.place, JOB, crashed)
    left = copy / "work/outputs"
    left.mkdir(parents=True)
    (left / "half").write_text("precious")
    (left / "closed").write_text("unreadable")
    (left / "closed").chmod(0)
    mark_copy(copy, CopyMark(node, 0, str(desk.place.directory), record, crashed))
    begun = begun_ns(copy)
    with monkeypatch.context() as patch:
        patch.setenv("SLURM_RESTART_COUNT", "1")
        with pytest.raises(JobNotStarted, match="outputs/closed: Permission denied"):
            run(desk)
    assert begun_ns(copy) == begun
    later = msgspec.structs.replace(record, id="20261116T093000Z-000001")
    make_job_directory(desk.place, later)
    run_job(desk.context, desk.notify, RunJob(job=later.id))
    where = job_directory(desk.place, JOB)
    assert [one.name for one in where.all_outputs.iterdir()] == ["0"]
    assert (task_of(desk).collected_files, task_of(desk).earlier_files) == (1, 0)
    (left / "closed").chmod(0o600)
    run_job(desk.context, desk.notify, RunJob(job=later.id))
    assert [one.name for one in where.all_outputs.iterdir()] == ["0"]
    assert (task_of(desk).collected_files, task_of(desk).unsaved_on) == (2, [])
    assert not copy.exists()


@pytest.mark.parametrize("is_own", [False, True])
def test_a_directory_that_goes_with_the_job_is_noted_as_such(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_own: bool
) -> None:
    if is_own:
        (tmp_path / "job.7").mkdir()
        monkeypatch.setenv("SLURM_TMPDIR", str(tmp_path / "job.7"))
    script = f"mkdir outputs; echo made > outputs/x; chmod 500 {job_directory(desk.place, JOB).path / 'outputs'}"
    submitted(desk, "sh", "-c", script)
    run(desk)
    task = task_of(desk)
    assert task.not_collected
    assert (task.goes_with_job, task.has_lost) == (is_own, is_own)
    assert task.unsaved_on == ([] if is_own else [desk.context.node])


def test_what_a_job_left_whose_record_was_removed_is_saved_by_the_next_job_there(
    desk: Desk,
) -> None:
    desk.context = msgspec.structs.replace(desk.context, job_id=7, is_job_over=lambda _: True)
    outputs = job_directory(desk.place, JOB).path / "outputs"
    made = f"mkdir outputs; echo made > outputs/x; chmod 500 {outputs}"
    record = submitted(desk, "sh", "-c", made, number=7)
    run(desk)
    outputs.chmod(0o700)
    remove_job(desk.place, JOB)
    later = msgspec.structs.replace(record, id="20261116T093000Z-000001", command=["true"])
    make_job_directory(desk.place, later)
    run_job(desk.context, desk.notify, RunJob(job=later.id))
    assert read_job(desk.place, JOB) == record
    assert (outputs / "0/outputs/x").read_text() == "made\n"
    assert task_of(desk).unsaved_on == []
    assert list((desk.scratch / "jobs").iterdir()) == []


def test_what_was_given_up_with_its_record_is_removed_by_the_next_job_there_which_says_so(
    desk: Desk,
) -> None:
    desk.context = msgspec.structs.replace(desk.context, job_id=7, is_job_over=lambda _: True)
    outputs = job_directory(desk.place, JOB).path / "outputs"
    made = f"mkdir outputs; echo made > outputs/x; chmod 500 {outputs}"
    record = submitted(desk, "sh", "-c", made, number=7)
    run(desk)
    outputs.chmod(0o700)
    node = desk.context.node
    note_given_up(desk.place, [GivenUp(job=JOB, task=0, number=7, node=node, shown="7")])
    remove_job(desk.place, JOB)
    later = msgspec.structs.replace(record, id="20261116T093000Z-000001", command=["true"])
    make_job_directory(desk.place, later)
    run_job(desk.context, desk.notify, RunJob(job=later.id))
    assert job_ids(desk.place) == [later.id]
    assert list((desk.scratch / "jobs").iterdir()) == []
    task = read_task(desk.place, later.id, 0)
    assert task is not None
    assert task.removed == [f"what job 7 had left on {node}: it was given up by `jobs prune`"]


def test_an_end_that_kept_it_from_saving_is_noted_as_something_not_saved(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(desk, "sh", "-c", "mkdir outputs; echo made > outputs/x")

    def fails(_: Collector, **__: object) -> Collected:
        raise OSError("Stale file handle")

    monkeypatch.setattr(Collector, "collect", fails)
    with pytest.raises(JobNotStarted):
        run(desk)
    task = task_of(desk)
    assert (task.phase, task.code) == ("ended", 0)
    assert task.not_collected == ["what it made last: Stale file handle"]
    assert task.unsaved_on == [desk.context.node]


def test_where_an_earlier_run_left_something_is_known_while_this_one_has_made_nothing(
    desk: Desk,
) -> None:
    submitted(desk, "true", directory="missing")
    crashed = TaskRecord(task=0, job_id=1, node="another", phase="running", start="")
    write_task(desk.place, JOB, crashed)
    with pytest.raises(JobNotStarted):
        run(desk)
    assert task_of(desk).unsaved_on == ["another"]


def test_what_another_job_saves_meanwhile_of_an_earlier_run_is_taken_over(desk: Desk) -> None:
    """Its links out of the copy are told, and its node is no longer named."""
    crashed = TaskRecord(
        task=0,
        job_id=1,
        node="n8",
        phase="running",
        start="",
        left_on=["n9", "n7"],
        links_out=["outputs/b: a link"],
    )
    submitted(desk, "sh", "-c", "mkdir outputs; echo made > outputs/x")
    write_task(desk.place, JOB, crashed)
    note_saved_rest(desk.place, JOB, 0, SavedRest("n9", ["outputs/a: a link"]))
    note_saved_rest(desk.place, JOB, 0, SavedRest("n8"))
    run(desk)
    task = task_of(desk)
    assert (task.unsaved_on, task.links_out) == (["n7"], ["outputs/b: a link", "outputs/a: a link"])
    assert not read_saved_rests(desk.place, JOB, 0)


def fail() -> JobRecord:
    raise AssertionError("the record is gone")


@pytest.mark.usefixtures("scontrol")
def test_a_run_that_goes_on_begins_with_all_that_the_last_one_had_though_a_process_it_left_writes_on(
    desk: Desk, output: Path
) -> None:
    script = STEP.format(more="printf y > outputs/m", code=0)
    submitted(desk, "sh", "-c", script, continues=1, signal="USR2@120")
    run(desk)
    assert task_of(desk).phase == "requeued"
    left = desk.scratch / f"jobs/{JOB}-0/work/outputs"
    left.mkdir(parents=True)
    (left / "n").write_text("anew")
    ended = msgspec.structs.replace(
        read_job(desk.place, JOB) or fail(), command=["cat", "outputs/m", "outputs/n"]
    )
    write_job(desk.place, ended)
    output.write_text("")
    assert run(desk).exit_code() == 0
    assert output.read_text().endswith("yx")
    where = job_directory(desk.place, JOB)
    assert (where.outputs(0) / "outputs/n").read_text() == "x"
    later = where.outputs(0, f"{desk.context.node}.later") / "outputs/n"
    assert later.read_text() == "anew"


def test_a_pipe_among_the_outputs_is_in_the_record(desk: Desk) -> None:
    submitted(desk, "sh", "-c", "mkdir outputs; mkfifo outputs/pipe")
    run(desk)
    assert (task_of(desk).left_out, task_of(desk).not_collected) == (["outputs/pipe: a pipe"], [])
    assert list((desk.scratch / "jobs").iterdir()) == []


def test_a_link_out_of_the_copy_among_the_outputs_is_in_the_record(
    desk: Desk, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    submitted(desk, "sh", "-c", f"ln -s {away} outputs; echo made > outputs/x")
    run(desk)
    (line,) = task_of(desk).links_out
    assert line.startswith(f"outputs: a link to `{away}`, ")
