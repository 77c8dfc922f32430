"""What jobs that died have left on a node is saved before it is removed, and what is in use is not touched."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from scratchflow.disk.process_lock import lock_now
from scratchflow.disk.trees import remove_tree
from scratchflow.model.job import TaskRecord
from scratchflow.node.job import collect, copies, copying
from scratchflow.node.job import leftovers as module
from scratchflow.node.job.copies import CopyMark, in_use, inode_of, mark_copy, remove_copy
from scratchflow.node.job.leftovers import save_leftovers
from scratchflow.store.jobs.given_up import (
    GivenUp,
    forget_given_up,
    note_given_up,
    read_given_up,
)
from scratchflow.store.jobs.records import (
    job_directory,
    job_ids,
    make_job_directory,
    read_job,
    read_task,
    write_task,
)
from scratchflow.store.jobs.remove import outputs_of, remove_job
from scratchflow.store.jobs.saved_rest import read_saved_rests, with_saved_rests
from tests.unit.conftest import Desk
from tests.unit.store.jobs.test_records import record

JOB = "20261115T093000Z-3f2a9c"


@pytest.fixture
def left(desk: Desk) -> Path:
    """A copy whose job is over, and which wrote no end."""
    desk.backup()
    make_job_directory(desk.place, record(JOB))
    desk.context = msgspec.structs.replace(desk.context, is_job_over=lambda _: True)
    told = TaskRecord(task=0, job_id=7, node=desk.context.node, phase="running", start="")
    write_task(desk.place, JOB, told)
    copy = desk.scratch / f"jobs/{JOB}-0"
    (copy / "work/outputs").mkdir(parents=True)
    (copy / "work/outputs/half").write_text("precious")
    return copy


def sweep(desk: Desk, own: str = "") -> list[GivenUp]:
    return save_leftovers(desk.context, desk.place, desk.scratch / "jobs", own)


def test_it_is_saved_and_then_removed(desk: Desk, left: Path) -> None:
    sweep(desk)
    saved = job_directory(desk.place, JOB).outputs(0) / "outputs/half"
    assert (saved.read_text(), left.exists()) == ("precious", False)
    told = read_task(desk.place, JOB, 0)
    assert told is not None
    assert (told.collected_files, told.phase) == (1, "running")
    assert (told.saved_on, told.unsaved_on) == ([desk.context.node], [])


@pytest.mark.parametrize("name", ["work2", "a/b/work"])
def test_so_is_what_lies_in_a_workspace_that_the_command_has_moved_within_its_copy(
    desk: Desk, left: Path, name: str
) -> None:
    mark_copy(left, CopyMark(desk.context.node, 0, inode=inode_of(left / "work")))
    (left / name).parent.mkdir(parents=True, exist_ok=True)
    (left / "work").rename(left / name)
    sweep(desk)
    saved = job_directory(desk.place, JOB).outputs(0) / "outputs/half"
    assert (saved.read_text(), left.exists()) == ("precious", False)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_copy_stays_in_which_the_workspace_is_another_or_cannot_be_found(
    desk: Desk, left: Path, is_known: bool
) -> None:
    """Copies of earlier versions do not say which directory it was."""
    mark_copy(left, CopyMark(desk.context.node, 0, inode=inode_of(left / "work") * is_known))
    (left / "work").rename(left / "other")
    if is_known:
        (left / "work").mkdir()
    sweep(desk)
    assert (left / "other/outputs/half").read_text() == "precious"
    told = read_task(desk.place, JOB, 0)
    assert told is not None
    (line,) = told.not_collected
    assert line.startswith("other: the command was started in it" if is_known else "work/: the")
    assert line.endswith(f"; it is saved once it is `{left}/work` again")
    if is_known:
        (left / "work").rmdir()
    (left / "other").rename(left / "work")
    sweep(desk)
    saved = job_directory(desk.place, JOB).outputs(0) / "outputs/half"
    assert (saved.read_text(), left.exists()) == ("precious", False)


def test_a_workspace_that_the_command_has_removed_is_told_of_and_its_copy_goes(
    desk: Desk, left: Path
) -> None:
    mark_copy(left, CopyMark(desk.context.node, 0, inode=inode_of(left / "work")))
    remove_tree(left / "work")
    sweep(desk)
    told = read_task(desk.place, JOB, 0)
    assert told is not None
    (line,) = told.left_out
    assert ("moved away or removed" in line, left.exists()) == (True, False)


def test_a_copy_that_is_in_use_is_left_alone(desk: Desk, left: Path) -> None:
    with in_use(left) as is_ours:
        assert is_ours
        sweep(desk)
    assert left.exists()


def test_so_is_one_whose_job_may_go_on_and_our_own(desk: Desk, left: Path) -> None:
    sweep(desk, own=left.name)
    desk.context = msgspec.structs.replace(desk.context, is_job_over=lambda _: False)
    sweep(desk)
    assert left.exists()


def test_and_what_is_of_another_store_or_no_job_at_all(desk: Desk, left: Path) -> None:
    stranger = left.with_name("20261115T093000Z-000000-0")
    stranger.mkdir()
    (left.parent / "notes").write_text("mine")
    sweep(desk)
    assert stranger.exists()
    assert (left.parent / "notes").exists()


@pytest.mark.parametrize("phase", ["running", "ended"])
def test_what_an_earlier_run_left_is_saved_though_the_task_runs_elsewhere_since(
    desk: Desk, left: Path, phase: str
) -> None:
    mark_copy(left, CopyMark(desk.context.node, 0))
    (left / "work/outputs/both").write_text("first run")
    later = TaskRecord(task=0, job_id=7, node="other", phase="running", start="", restarts=1)
    full = ["outputs/b: No space left on device"]
    later = msgspec.structs.replace(later, phase=phase, not_collected=full, collected_files=1)
    write_task(desk.place, JOB, later)
    desk.context = msgspec.structs.replace(desk.context, is_job_over=lambda _: False)
    saved = job_directory(desk.place, JOB).outputs(0) / "outputs"
    saved.mkdir(parents=True)
    (saved / "both").write_text("second run")
    os.utime(left / "work/outputs/both", (1, 1))
    sweep(desk)
    assert [one.name for one in saved.iterdir()] == ["both"]
    assert (saved / "both").read_text() == "second run"
    beside = job_directory(desk.place, JOB).outputs(0, desk.context.node) / "outputs"
    assert (beside / "half").read_text() == "precious"
    assert (beside / "both").read_text() == "first run"
    assert not left.exists()
    told = read_task(desk.place, JOB, 0)
    assert told is not None
    assert (told.phase, told.not_collected) == (phase, ["outputs/b: No space left on device"])
    counts = (told.collected_files, told.earlier_files)
    assert counts == ((3, 2) if phase == "ended" else (1, 0))
    noted = [*read_saved_rests(desk.place, JOB, 0).values()]
    assert [one.node for one in noted] == ([] if phase == "ended" else [desk.context.node])


def test_the_copy_of_a_task_that_runs_on_another_node_is_left_alone(desk: Desk, left: Path) -> None:
    """Nodes may share a scratch, and then see each other's copies."""
    now = TaskRecord(task=0, job_id=7, node="other", phase="running", start="", restarts=1)
    write_task(desk.place, JOB, now)
    for mark in (None, CopyMark("other", 1), CopyMark("other", 0), CopyMark(desk.context.node, 1)):
        if mark:
            mark_copy(left, mark)
        sweep(desk)
        assert left.exists()


def test_what_cannot_be_saved_stays(desk: Desk, left: Path) -> None:
    blocked = job_directory(desk.place, JOB).outputs(0)
    blocked.write_text("in the way")
    sweep(desk)
    assert (left / "work/outputs/half").read_text() == "precious"


@pytest.mark.parametrize("is_further", [False, True])
def test_what_could_be_saved_of_it_and_what_not_is_in_the_record(
    desk: Desk, left: Path, is_further: bool
) -> None:
    here, other = desk.context.node, "other"
    first, more = (other, [here]) if is_further else (here, [other])
    sign, others = (f"{here}: ", "") if is_further else ("", f"{other}: ")
    told = TaskRecord(
        task=0,
        job_id=7,
        node=first,
        further_nodes=more,
        phase="ended",
        start="",
        code=0,
        not_collected=[
            f"{sign}outputs/big/x: full",
            f"{sign}outputs/half: full",
            f"{others}z: full",
        ],
    )
    write_task(desk.place, JOB, told)
    (left / "work/outputs/big").mkdir()
    (left / "work/outputs/big/x").write_text("big")
    where = job_directory(desk.place, JOB).outputs(0, here if is_further else "")
    (where / "outputs").mkdir(parents=True)
    (where / "outputs/big").write_text("in the way")
    sweep(desk)
    assert (where / "outputs/half").read_text() == "precious"
    assert left.exists()
    after = read_task(desk.place, JOB, 0)
    assert after is not None
    assert after.not_collected == [f"{sign}outputs/big/x: File exists", f"{others}z: full"]
    assert after.collected_files == 2
    assert after.unsaved_on == [first, *more]
    (where / "outputs/big").unlink()
    sweep(desk)
    after = read_task(desk.place, JOB, 0)
    assert after is not None
    assert (after.not_collected, after.unsaved_on) == ([f"{others}z: full"], [other])
    assert not left.exists()


def test_what_a_further_node_made_is_saved_beside_what_the_first_one_did(
    desk: Desk, left: Path
) -> None:
    told = TaskRecord(task=0, job_id=7, node="first", phase="running", start="")
    write_task(desk.place, JOB, told)
    sweep(desk)
    assert left.exists()  # it was no node of that job
    write_task(desk.place, JOB, msgspec.structs.replace(told, further_nodes=[desk.context.node]))
    sweep(desk)
    saved = job_directory(desk.place, JOB).outputs(0, desk.context.node) / "outputs/half"
    assert (saved.read_text(), left.exists()) == ("precious", False)
    assert not job_directory(desk.place, JOB).outputs(0).exists()
    after = read_task(desk.place, JOB, 0)
    assert after is not None
    assert (after.unsaved_on, after.collected_files) == (["first"], 1)


def test_what_was_saved_at_the_end_of_a_task_is_never_replaced(desk: Desk, left: Path) -> None:
    """A process that the job left behind goes on writing where its copy was."""
    told = TaskRecord(
        task=0, job_id=7, node=desk.context.node, phase="ended", start="", code=0, collected_files=1
    )
    write_task(desk.place, JOB, told)
    saved = job_directory(desk.place, JOB).outputs(0) / "outputs/half"
    saved.parent.mkdir(parents=True)
    saved.write_text("collected at the job's end")
    sweep(desk)
    assert saved.read_text() == "collected at the job's end"
    later = job_directory(desk.place, JOB).outputs(0, f"{desk.context.node}.later")
    assert (later / "outputs/half").read_text() == "precious"
    assert not left.exists()
    after = read_task(desk.place, JOB, 0)
    assert after is not None
    assert after.collected_files == outputs_of(desk.place, JOB).files == 2


def test_nor_is_what_one_earlier_run_left_on_a_node_by_what_others_left_there(
    desk: Desk, left: Path
) -> None:
    node = desk.context.node
    elsewhere = TaskRecord(task=0, job_id=7, node="other", phase="running", start="", restarts=9)
    write_task(desk.place, JOB, elsewhere)
    for run in range(3):
        (left / "work/outputs").mkdir(parents=True, exist_ok=True)
        (left / "work/outputs/half").write_text(f"run {run}")
        (left / f"work/outputs/only-{run}").write_text("")
        mark_copy(left, CopyMark(node, run))
        sweep(desk)
        assert not left.exists()
    for run, name in enumerate((node, f"{node}.2", f"{node}.3")):
        saved = job_directory(desk.place, JOB).outputs(0, name) / "outputs"
        assert {one.name for one in saved.iterdir()} == {"half", f"only-{run}"}
        assert (saved / "half").read_text() == f"run {run}"


def test_what_is_left_of_a_copy_goes_where_the_first_of_it_went(
    desk: Desk, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark_copy(left, CopyMark(desk.context.node, 0))
    (left / "work/outputs/large").write_text("large")
    elsewhere = TaskRecord(task=0, job_id=7, node="other", phase="running", start="", restarts=1)
    write_task(desk.place, JOB, elsewhere)
    real = copying.copy_whole

    def full(source: Path, *rest: Path) -> object:
        if source.name == "large":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(source, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(collect, "copy_whole", full)
        sweep(desk)
    assert left.exists()
    sweep(desk)
    outputs = job_directory(desk.place, JOB).outputs(0, desk.context.node)
    assert {one.name for one in (outputs / "outputs").iterdir()} == {"half", "large"}
    assert [one.name for one in outputs.parent.iterdir()] == [outputs.name]


def test_a_scratch_that_takes_no_note_is_no_reason_not_to_save(
    desk: Desk, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark_copy(left, CopyMark(desk.context.node, 0))
    elsewhere = TaskRecord(task=0, job_id=7, node="other", phase="running", start="", restarts=1)
    write_task(desk.place, JOB, elsewhere)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "replace_file", full)
    sweep(desk)
    saved = job_directory(desk.place, JOB).outputs(0, desk.context.node) / "outputs/half"
    assert (saved.read_text(), left.exists()) == ("precious", False)


def test_what_a_removal_left_half_way_is_no_copy_any_more_and_goes_with_the_next_job(
    desk: Desk, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written_to_meanwhile(path: Path) -> None:
        (path / "work/outputs/half").write_text("anew")
        raise OSError(errno.ENOTEMPTY, "Directory not empty", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(copies, "remove_tree", written_to_meanwhile)
        remove_copy(left)
    assert not left.exists()
    assert len(list(left.parent.iterdir())) == 1
    sweep(desk)
    assert list(left.parent.iterdir()) == []
    assert not job_directory(desk.place, JOB).outputs(0).exists()


@pytest.mark.parametrize("closed", [".", ".scratchflow", "work", "work/outputs", "work/outputs/a"])
@pytest.mark.parametrize("is_earlier", [False, True])
def test_what_lies_in_directories_that_the_command_closed_is_saved_too(
    desk: Desk, left: Path, closed: str, is_earlier: bool
) -> None:
    """They are ours: the next job opens them, and nobody has to type `chmod`."""
    (left / "work/outputs/a").mkdir()
    (left / "work/outputs/a/b").write_text("deep")
    mark_copy(left, CopyMark(desk.context.node, 0))
    if is_earlier:
        later = TaskRecord(task=0, job_id=7, node="other", phase="running", start="", restarts=1)
        write_task(desk.place, JOB, later)
    (left / closed).chmod(0)
    sweep(desk)
    saved = job_directory(desk.place, JOB).outputs(0, desk.context.node if is_earlier else "")
    assert (saved / "outputs/half").read_text() == "precious"
    assert (saved / "outputs/a/b").read_text() == "deep"
    assert not left.exists()


@pytest.fixture
def marked(desk: Desk, left: Path) -> CopyMark:
    """The mark of that copy, as its job writes it."""
    job, task = read_job(desk.place, JOB), read_task(desk.place, JOB, 0)
    mark = CopyMark(desk.context.node, 0, str(desk.place.directory), job, task)
    mark_copy(left, mark)
    return mark


def test_of_a_job_whose_record_is_gone_it_is_saved_with_the_record(
    desk: Desk, left: Path, marked: CopyMark
) -> None:
    remove_job(desk.place, JOB)
    sweep(desk)
    saved = job_directory(desk.place, JOB).outputs(0) / "outputs/half"
    assert (saved.read_text(), left.exists()) == ("precious", False)
    assert read_job(desk.place, JOB) == marked.job
    told = read_task(desk.place, JOB, 0)
    assert told is not None
    assert (told.collected_files, told.unsaved_on, told.put_back) == (1, [], True)


@pytest.fixture
def given_up(desk: Desk, marked: CopyMark) -> GivenUp:
    """What `jobs prune --outputs` notes of that copy before it removes the record."""
    assert marked.task is not None
    assert marked.task.job_id is not None
    noted = GivenUp(job=JOB, task=0, number=marked.task.job_id, node=marked.node, shown="7")
    note_given_up(desk.place, [noted])
    return noted


def test_what_was_given_up_goes_unsaved_and_its_job_does_not_come_back(
    desk: Desk, left: Path, given_up: GivenUp
) -> None:
    closed = left / "work/outputs/closed"
    closed.mkdir()
    (closed / "x").write_text("unreadable")
    closed.chmod(0)
    remove_job(desk.place, JOB)
    assert sweep(desk) == [given_up]
    assert (job_ids(desk.place), list(left.parent.iterdir())) == ([], [])
    assert read_given_up(desk.place, JOB, 0, given_up.node) is None
    assert sweep(desk) == []


def test_what_was_given_up_is_saved_as_long_as_its_record_is_there(
    desk: Desk, left: Path, given_up: GivenUp
) -> None:
    """The removal was killed, or a further node has brought the job back."""
    del given_up
    assert sweep(desk) == []
    saved = job_directory(desk.place, JOB).outputs(0) / "outputs/half"
    assert (saved.read_text(), left.exists()) == ("precious", False)


@pytest.mark.parametrize(
    "other",
    [
        {"number": 8},  # Slurm has used the number again, or the id is not this one's
        {"job": "20261115T093000Z-000000"},
        {"task": 1},
        {"node": "other"},
    ],
)
def test_what_was_given_up_of_another_copy_is_no_reason_to_remove_this_one(
    desk: Desk, left: Path, given_up: GivenUp, other: dict[str, object]
) -> None:
    forget_given_up(desk.place, given_up)
    note_given_up(desk.place, [msgspec.structs.replace(given_up, **other)])
    remove_job(desk.place, JOB)
    assert sweep(desk) == []
    saved = job_directory(desk.place, JOB).outputs(0) / "outputs/half"
    assert (saved.read_text(), left.exists()) == ("precious", False)


def test_a_copy_that_was_given_up_and_is_in_use_or_whose_job_runs_stays(
    desk: Desk, left: Path, given_up: GivenUp
) -> None:
    remove_job(desk.place, JOB)
    with in_use(left):
        assert sweep(desk) == []
    desk.context = msgspec.structs.replace(desk.context, is_job_over=lambda _: False)
    assert sweep(desk) == []
    assert (left / "work/outputs/half").read_text() == "precious"
    assert read_given_up(desk.place, JOB, 0, given_up.node) == given_up


def test_what_cannot_be_saved_of_such_a_job_is_listed_and_stays(
    desk: Desk, left: Path, marked: CopyMark
) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    remove_job(desk.place, JOB)
    (left / "work/outputs/half").chmod(0)
    sweep(desk)
    assert left.exists()
    assert read_job(desk.place, JOB) == marked.job
    told = read_task(desk.place, JOB, 0)
    assert told is not None
    assert told.not_collected == ["outputs/half: Permission denied"]
    assert told.unsaved_on == [desk.context.node]
    (left / "work/outputs/half").chmod(0o600)
    sweep(desk)
    assert not left.exists()


@pytest.mark.usefixtures("marked")
def test_a_job_without_a_record_that_made_nothing_does_not_come_back(
    desk: Desk, left: Path
) -> None:
    remove_job(desk.place, JOB)
    (left / "work/outputs/half").unlink()
    sweep(desk)
    assert (job_ids(desk.place), left.exists()) == ([], False)


def test_a_copy_of_another_store_of_another_node_or_of_a_job_that_runs_is_left_alone(
    desk: Desk, left: Path, marked: CopyMark
) -> None:
    remove_job(desk.place, JOB)
    for other in ({"store": "/elsewhere"}, {"node": "other"}, {"job": None}):
        mark_copy(left, msgspec.structs.replace(marked, **other))
        sweep(desk)
        assert (job_ids(desk.place), left.exists()) == ([], True)
    mark_copy(left, marked)
    desk.context = msgspec.structs.replace(desk.context, is_job_over=lambda _: False)
    sweep(desk)
    assert (job_ids(desk.place), left.exists()) == ([], True)


@pytest.mark.usefixtures("marked")
def test_a_damaged_record_of_the_task_is_no_reason_to_leave_it_there(
    desk: Desk, left: Path
) -> None:
    where = job_directory(desk.place, JOB)
    where.task(0).write_text("{")
    sweep(desk)
    assert (where.outputs(0) / "outputs/half").read_text() == "precious"
    assert (where.task(0).read_text(), left.exists()) == ("{", False)


def test_a_copy_that_was_made_anew_before_it_was_locked_is_left_alone(
    desk: Desk, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its task has begun again here, and does not use it yet: what is in it is no rest of an earlier run."""
    told = read_task(desk.place, JOB, 0)
    assert told is not None
    mark_copy(left, CopyMark(desk.context.node, 0))
    write_task(desk.place, JOB, msgspec.structs.replace(told, node="elsewhere", restarts=1))
    real = lock_now

    def begins_again(descriptor: int) -> bool:
        remove_copy(left)
        (left / "work/outputs").mkdir(parents=True)
        (left / "work/outputs/new").write_text("precious")
        return real(descriptor)

    monkeypatch.setattr("scratchflow.node.job.copies.lock_now", begins_again)
    sweep(desk)
    assert (left / "work/outputs/new").read_text() == "precious"
    monkeypatch.setattr("scratchflow.node.job.copies.lock_now", real)
    sweep(desk)  # nor is it later: it has no mark of an earlier run
    assert (left / "work/outputs/new").read_text() == "precious"


@pytest.fixture
def earlier(desk: Desk, left: Path) -> TaskRecord:
    """The copy is of an earlier run of a task that has made one file elsewhere since; some of it cannot be read."""
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    mark_copy(left, CopyMark(desk.context.node, 0))
    (left / "work/outputs/closed").write_text("x")
    (left / "work/outputs/closed").chmod(0)
    last = job_directory(desk.place, JOB).outputs(0)
    last.mkdir(parents=True)
    (last / "made").write_text("by the last run")
    known = TaskRecord(task=0, job_id=7, node="other", phase="ended", start="", restarts=1, code=0)
    return msgspec.structs.replace(known, collected_files=1, left_on=[desk.context.node])


def test_what_could_be_saved_of_an_earlier_run_counts_once_and_the_rest_is_named(
    desk: Desk, left: Path, earlier: TaskRecord
) -> None:
    node = desk.context.node
    write_task(desk.place, JOB, earlier)
    for _ in range(2):
        sweep(desk)
        after = read_task(desk.place, JOB, 0)
        assert after is not None
        assert (after.collected_files, after.earlier_files, after.not_collected) == (2, 1, [])
        assert after.unsaved_lines == {node: ["outputs/closed: Permission denied"]}
    assert left.exists()
    (left / "work/outputs/closed").chmod(0o600)
    sweep(desk)
    after = read_task(desk.place, JOB, 0)
    assert after is not None
    assert (after.collected_files, after.earlier_files) == (3, 2)
    assert (after.unsaved_on, after.left_failed, left.exists()) == ([], {}, False)


def test_while_the_task_runs_a_note_names_what_could_not_be_saved_of_its_earlier_run(
    desk: Desk, left: Path, earlier: TaskRecord
) -> None:
    desk.context = msgspec.structs.replace(desk.context, is_job_over=lambda _: False)
    runs = msgspec.structs.replace(earlier, phase="running", code=None)
    write_task(desk.place, JOB, runs)
    for _ in range(2):
        sweep(desk)
        known = with_saved_rests(desk.place, record(JOB), runs)
        assert (known.collected_files, known.earlier_files) == (2, 1)
        assert known.left_failed == {desk.context.node: ["outputs/closed: Permission denied"]}
        assert len(read_saved_rests(desk.place, JOB, 0)) == 1
    (left / "work/outputs/closed").chmod(0o600)
    sweep(desk)
    known = with_saved_rests(desk.place, record(JOB), runs)
    assert (known.earlier_files, known.left_on, known.left_failed) == (2, [], {})
