"""The last backup of a node: everything of ours on it is in a snapshot, or it is named."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree

import msgspec
import pytest

from scratchflow.flows.clear.last_backup import require_saved
from scratchflow.model.errors.allocation import NodeNotSaved
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.events import Event, Log
from scratchflow.model.requests import SaveNode
from scratchflow.model.results.backup import NodeSaved
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.job.copies import CopyMark, mark_copy
from scratchflow.node.progress import Notifier
from scratchflow.node.save_node import save_node
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.store.jobs.records import make_job_directory
from scratchflow.store.jobs.remove import remove_job
from scratchflow.workspace.notes import (
    Restoring,
    begin_restoring,
    end_restoring,
    forget_base,
    write_base,
)
from tests.unit.conftest import Desk, make_desk
from tests.unit.node.restore.test_abandon import interrupt
from tests.unit.store.jobs.test_records import record


def save(desk: Desk) -> NodeSaved:
    return save_node(desk.context, desk.notify, SaveNode(message="before clear"))


def renamed(desk: Desk, name: str) -> Desk:
    """The same machine after `config set workspace`."""
    profile = msgspec.structs.replace(desk.context.profile, workspace=name)
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    workspace = msgspec.structs.replace(desk.context.workspace, name=name)
    return Desk(msgspec.structs.replace(desk.context, settings=settings, workspace=workspace))


def test_a_file_that_cannot_be_read_is_named_each_time(desk: Desk) -> None:
    desk.write("work/closed").chmod(0)
    closed = desk.scratch / "work/shut"
    closed.mkdir()
    (closed / "inside").write_text("x")
    closed.chmod(0)
    for _ in range(2):
        saved = save(desk)
        assert saved.snapshot == desk.ids[-1]
        assert (saved.unsaved, sorted(saved.unsaved_paths)) == (2, ["work/closed", "work/shut"])
    closed.chmod(0o700)
    (desk.work / "closed").chmod(0o600)
    assert save(desk).unsaved == 0


def test_an_excluded_file_that_cannot_be_read_is_no_matter(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nexclude = ["*.o", "build/"]\n')
    desk.write("work/file")
    desk.write("work/closed.o").chmod(0)
    desk.write("work/build/x")
    (desk.work / "build").chmod(0)
    assert save(desk).unsaved == 0
    (desk.work / "build").chmod(0o700)


def test_what_lies_beside_the_workspace_is_named_and_keeps_nobody(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["opt/tools"]\n')
    for path in (
        "work/file",
        "opt/tools/t",
        "outside.txt",
        "data/x",
        "jobs/1-0/x",
        "work.before-1/x",
    ):
        desk.write(path)
    saved = save(desk)
    assert saved.other_files == ["data", "outside.txt"]
    require_saved(
        "node-1", msgspec.structs.replace(saved, unsaved=0), verb="clear", leave_behind=False
    )


def test_a_workspace_that_was_renamed_on_the_node_is_not_left_behind_unnoticed(desk: Desk) -> None:
    desk.backup()
    (desk.scratch / "work").rename(desk.scratch / "thesis")
    saved = save(desk)
    assert saved.snapshot is None
    assert (saved.unsaved, saved.other_files) == (1, [])
    assert saved.unsaved_paths == ["thesis (it was `work`)"]
    with pytest.raises(NodeNotSaved):
        require_saved("node-1", saved, verb="clear", leave_behind=False)
    rmtree(desk.scratch / "thesis")
    assert save(desk).unsaved == 0


def test_without_a_workspace_in_this_job_what_lies_there_is_named_alone(desk: Desk) -> None:
    desk.write("conda/x")
    rmtree(desk.work)
    saved = save(desk)
    assert (saved.unsaved, saved.other_files) == (0, ["conda"])


def test_what_another_workspace_holds_is_in_a_snapshot_and_an_empty_directory_holds_nothing(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/file")
    desk.write("env/file")
    desk.backup()
    other = renamed(desk, "work2")
    workspace = msgspec.structs.replace(other.context.workspace, also=())
    other = Desk(msgspec.structs.replace(other.context, workspace=workspace))
    other.write("work2/file")
    (desk.scratch / "empty").mkdir()
    desk.write("full/x")
    saved = save(other)
    assert (list(saved.others), saved.other_files) == (["work"], ["full"])


def test_what_a_job_left_that_no_store_knows_is_named(desk: Desk) -> None:
    job = "20261115T093000Z-3f2a9c"
    desk.write(f"jobs/{job}-0/work/outputs/x")
    assert save(desk).other_files == [f"jobs/{job}-0"]
    make_job_directory(desk.place, record(job))
    assert save(desk).other_files == []  # the next job here saves it
    remove_job(desk.place, job)
    copy = desk.scratch / f"jobs/{job}-0"
    mark_copy(copy, CopyMark(desk.context.node, 0, str(desk.place.directory), record(job)))
    assert save(desk).other_files == []  # so does a job of the store that the mark names


def test_what_jobs_debug_made_is_named(desk: Desk) -> None:
    assert save(desk).debug_copies == []
    desk.write("debug/20261116T000000Z-abcdef-3/work/x")
    saved = save(desk)
    assert saved.debug_copies == [str(desk.scratch / "debug/20261116T000000Z-abcdef-3")]
    assert saved.unsaved == 0


def test_a_workspace_that_was_renamed_in_the_configuration_is_saved_too(desk: Desk) -> None:
    desk.backup(message="by hand")
    desk.write("work/since", "in no snapshot yet")
    other = renamed(desk, "work2")
    saved = save(other)
    assert (saved.snapshot, saved.unsaved) == (None, 0)
    assert saved.others == {"work": desk.ids[-1]}
    last = read_catalogue(find_place(desk.context.store, "work")).snapshots[-1]
    assert (last.files, last.purpose) == (4, "final")
    other.write("work2/file")
    again = save(other)
    assert (again.others, again.snapshot) == (saved.others, other.ids[-1])


def test_of_a_workspace_from_another_store_it_is_told_which(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    other = renamed(desk, "work2")
    assert save(other).other_stores == {}
    other.context = msgspec.structs.replace(other.context, store=tmp_path / "second")
    assert save(other).other_stores == {"work": str(desk.context.store)}


def test_with_its_directories_and_excludes_as_its_last_snapshot_had_them(tmp_path: Path) -> None:
    more = '[profiles.test.backup]\nalso = ["env"]\nexclude = ["*.o"]\n'
    desk = make_desk(tmp_path, more)
    desk.write("work/file")
    desk.write("env/file")
    desk.write("work/big.o")
    desk.backup()
    desk.write("env/since")
    plain = msgspec.structs.replace(desk.context.profile.backup, also=[], exclude=[])
    profile = msgspec.structs.replace(desk.context.profile, backup=plain, workspace="work2")
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    workspace = msgspec.structs.replace(desk.context.workspace, name="work2", also=())
    save(Desk(msgspec.structs.replace(desk.context, settings=settings, workspace=workspace)))
    last = read_catalogue(find_place(desk.context.store, "work")).snapshots[-1]
    assert (last.files, last.also, last.exclude) == (3, ["env"], ["*.o"])


def test_a_renamed_workspace_that_cannot_be_saved_is_named(desk: Desk) -> None:
    desk.backup()
    other = renamed(desk, "work2")
    desk.context.store.rename(desk.context.store.with_name("elsewhere"))
    saved = save(other)
    assert saved.unsaved == 1
    assert saved.unsaved_paths[0].startswith("work (")
    assert not desk.context.store.exists(), "no new store is made at the old place"


def test_a_directory_that_is_left_without_its_workspace_is_named(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/file")
    desk.write("env/file")
    desk.backup()
    (desk.work / "file").unlink()
    desk.work.rmdir()
    assert save(desk).unsaved_paths == ["env (`work` beside it is gone)"]


def test_what_a_restore_moved_aside_is_named(desk: Desk) -> None:
    desk.backup()
    desk.write("work.before-20200101T000000Z-abcdef/file")
    saved = save(desk)
    assert saved.unsaved == 1
    assert "work.before-20200101T000000Z-abcdef" in saved.unsaved_paths[0]


def test_what_a_restore_moved_aside_counts_as_saved_once_the_way_of_the_hint_was_gone(
    desk: Desk,
) -> None:
    desk.backup()
    aside = "work.before-20200101T000000Z-abcdef"
    desk.write(f"{aside}/file", "in no snapshot")
    of_aside = renamed(desk, aside)
    of_aside.backup()
    saved = save(desk)
    assert (saved.unsaved, saved.others) == (0, {aside: of_aside.ids[-1]})
    desk.write(f"{aside}/since", "written after that backup")
    saved = save(desk)
    assert (saved.unsaved, saved.others) == (0, {aside: of_aside.ids[-1]})
    of_aside.restore("latest", to=desk.scratch / "again")
    assert (desk.scratch / f"again/{aside}/since").read_text() == "written after that backup"


def test_what_a_restore_moved_aside_is_named_once_when_it_cannot_be_saved(desk: Desk) -> None:
    desk.backup()
    aside = "work.before-20200101T000000Z-abcdef"
    desk.write(f"{aside}/file", "in no snapshot")
    of_aside = renamed(desk, aside)
    of_aside.backup()
    rmtree(desk.context.store / aside)
    assert save(desk).unsaved == 1


def test_the_refusal_names_what_is_missing_and_both_ways_on() -> None:
    paths = [f"work/{number}" for number in range(7)]
    ways = ["make files readable (`chmod`)", "delete `x`"]
    saved = NodeSaved(snapshot=None, unsaved=7, unsaved_paths=paths, unsaved_ways=ways)
    with pytest.raises(NodeNotSaved) as caught:
        require_saved("node-1", saved, verb="clear", leave_behind=False)
    assert "7 paths on it: `work/0`, `work/1`" in str(caught.value)
    assert "`scratchflow clear --leave-behind`" in caught.value.shown_hint
    assert "(`chmod`); delete `x`; then run it again" in caught.value.shown_hint
    require_saved("node-1", saved, verb="clear", leave_behind=True)


def of_job(desk: Desk, job_id: int) -> Desk:
    """The same machine as the node of a job."""
    return Desk(msgspec.structs.replace(desk.context, node="node-1", job_id=job_id))


def test_a_copy_that_an_earlier_job_left_is_saved_but_does_not_become_the_newest(
    desk: Desk,
) -> None:
    first = of_job(desk, 1)
    first.backup()
    elsewhere = of_job(desk, 2)
    elsewhere.write("work/paper", "a day of work")
    newest = str(elsewhere.backup().snapshot)
    first.restore(desk.ids[0])  # as the disk of the first node still is
    (desk.context.store / "work" / f"{desk.ids[-1]}.json").unlink()
    desk.write("work/notes", "left by an old process")
    later = of_job(desk, 3)
    saved = save(later)
    names = [path.name for path in (desk.scratch / "work").iterdir()]
    assert "paper" not in names
    assert saved.snapshot == desk.ids[-1]  # marked as a fork: nothing has to be committed after it
    assert saved.newer == newest
    desk.restore("latest", to=desk.scratch / "again")
    assert (desk.scratch / "again/work/paper").read_text() == "a day of work"
    assert not (desk.scratch / "again/work/notes").exists()
    desk.restore(str(saved.snapshot), to=desk.scratch / "old")
    assert (desk.scratch / "old/work/notes").read_text() == "left by an old process"


def test_a_copy_from_another_store_that_equals_the_newest_snapshot_is_told_as_that(
    desk: Desk, tmp_path: Path
) -> None:
    newest = of_job(desk, 1).backup().snapshot
    write_base(desk.context.workspace, tmp_path / "another store", desk.ids[0])
    saved = save(of_job(desk, 2))
    assert (saved.snapshot, saved.newer) == (newest, None)


def test_what_only_another_node_has_is_saved_but_does_not_become_the_newest(desk: Desk) -> None:
    desk.write("work/file", "the first node's")
    base = desk.backup().snapshot
    request = SaveNode(message="before clear, of node-2", beside=True)
    same = save_node(desk.context, desk.notify, request)
    assert (same.snapshot, same.stored) == (base, False)
    desk.write("work/file", "node-2's")
    fork = save_node(desk.context, desk.notify, request)
    assert fork.stored
    assert desk.ids == [base, fork.snapshot]
    catalogue = read_catalogue(desk.place)
    assert catalogue.newest_id == base
    assert catalogue.by_id(fork.snapshot or "").message == request.message
    rows = {row.id: row for row in list_snapshots(desk.context, desk.notify).snapshots}
    assert [(row.beside, row.fork) for row in rows.values()] == [(False, False), (True, True)]
    desk.restore()
    assert desk.content()["file"] == b"the first node's"
    assert desk.ids == [base, fork.snapshot]
    back = desk.restore(fork.snapshot or "")
    assert desk.content()["file"] == b"node-2's"
    newest = read_catalogue(desk.place).newest_readable
    assert newest
    assert (newest.id, newest.parent, newest.beside) == (back.committed_as, fork.snapshot, False)


def test_what_went_on_from_the_same_snapshot_as_a_fork_of_another_node_is_no_fork(
    desk: Desk, tmp_path: Path
) -> None:
    first = of_job(desk, 1)
    base = first.backup().snapshot
    there = msgspec.structs.replace(first.context.workspace, scratch=tmp_path / "node-2")
    second = Desk(msgspec.structs.replace(first.context, node="node-2", workspace=there))
    second.restore()
    (there.path / "file").write_text("node-2's")
    fork = save_node(second.context, second.notify, SaveNode(beside=True)).snapshot
    first.write("work/file", "the first node's")
    saved = save(first)
    rows = list_snapshots(desk.context, desk.notify).snapshots
    assert [(row.id, row.fork) for row in rows] == [
        (base, False),
        (fork, True),
        (saved.snapshot, False),
    ]


def test_the_first_snapshot_of_all_is_the_newest_also_of_a_further_node(desk: Desk) -> None:
    saved = save_node(desk.context, desk.notify, SaveNode(beside=True))
    (only,) = read_catalogue(desk.place).snapshots
    assert (only.id, only.beside) == (saved.snapshot, False)


def test_the_present_work_of_a_job_becomes_the_newest(desk: Desk) -> None:
    node = of_job(desk, 1)
    node.backup()
    node.write("work/paper", "present")
    saved = save(node)
    assert saved.snapshot == desk.ids[-1]


def test_work_that_was_never_saved_is_no_old_copy(desk: Desk) -> None:
    of_job(desk, 1).backup()
    forget_base(desk.context.workspace)
    desk.write("work/own", "made by hand on a new node")
    saved = save(of_job(desk, 2))
    assert saved.snapshot == desk.ids[-1]


def test_a_directory_to_save_beneath_a_file_is_no_error(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["lib/inner"]\n')
    desk.write("work/file")
    desk.write("lib")
    taken = desk.backup()
    desk.restore(str(taken.snapshot), to=tmp_path / "again")
    assert desk.content(tmp_path / "again/work") == desk.content()


def test_an_old_copy_of_another_workspace_does_not_become_its_newest_either(desk: Desk) -> None:
    of_job(desk, 1).backup()
    note = desk.context.workspace.state / "base.json"
    before = note.read_bytes()
    paper = desk.write("work/paper", "a day of work")
    elsewhere = msgspec.structs.replace(desk.context, node="node-2", job_id=2)
    Desk(elsewhere).backup()
    paper.unlink()
    note.write_bytes(before)  # as the disk of the first node still is
    desk.write("work/notes", "left by an old process")
    saved = save(renamed(of_job(desk, 3), "work2"))
    assert saved.others["work"] == desk.ids[-1]
    assert read_catalogue(desk.place).newest_id == desk.ids[-2]
    desk.restore("latest", to=desk.scratch / "again")
    assert (desk.scratch / "again/work/paper").read_text() == "a day of work"


def test_the_patterns_that_keep_files_out_are_named(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nexclude = ["*.o", "build/"]\n')
    desk.write("work/.scratchignore", "# large\ndata/\n\n!data/keep\n*.o\n")
    assert save(desk).excluded == ["*.o", "build/", "data/"]


def test_an_old_copy_whose_snapshot_was_removed_by_and_by_is_saved_all_the_same(
    desk: Desk,
) -> None:
    first = of_job(desk, 1)
    gone = first.backup().snapshot
    state = desk.context.workspace.state / "base.json"
    note = state.read_bytes()
    desk.write("work/more", "x")
    newest = of_job(desk, 2).backup().snapshot
    (desk.place.directory / f"{gone}.json").unlink()  # as `prune` does in time
    (desk.work / "more").unlink()
    desk.write("work/only here", "y")
    state.write_bytes(note)  # as the disk of the first node still is
    saved = save(of_job(renamed(desk, "work2"), 3))
    assert (saved.unsaved, saved.unsaved_paths) == (0, [])
    kept = read_catalogue(desk.place)
    assert kept.by_id(saved.others["work"]).beside
    assert kept.newest_id == newest


def of_second(desk: Desk, tmp_path: Path) -> tuple[Desk, Desk]:
    """Profiles `first` and `second`, each with a job on one node and a store of its own, and first's work at the path of both."""
    settings = msgspec.structs.replace(desk.context.settings, name="first")
    first = msgspec.structs.replace(desk.context, settings=settings, node="node-1", job_id=1)
    Desk(first).backup()
    desk.write("work/since", "in no snapshot yet")
    settings = msgspec.structs.replace(desk.context.settings, name="second")
    second = msgspec.structs.replace(first, settings=settings, job_id=2, store=tmp_path / "second")
    return Desk(first), Desk(second)


def test_the_workspace_of_another_profile_at_the_same_path_goes_into_its_own_store(
    desk: Desk, tmp_path: Path
) -> None:
    first, second = of_second(desk, tmp_path)
    saved = save(second)
    assert (saved.snapshot, saved.unsaved, second.ids) == (None, 0, [])
    assert saved.others == {"work": first.ids[-1]}
    assert saved.other_stores == {"work": str(first.context.store)}
    (remark,) = [one.message for one in second.events if isinstance(one, Log)]
    assert "the workspace of profile `first`" in remark
    with pytest.raises(WorkspaceMissing, match="workspace of profile `first`"):  # as for `hop`
        second.backup(purpose="final")
    # Its own profile goes on from there.
    taken = first.backup()
    assert (taken.kind, taken.snapshot) == ("unchanged", first.ids[-1])


def test_a_directory_beside_the_workspace_of_another_profile_is_not_called_left_alone(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/README")
    desk.write("env/bin")
    _, second = of_second(desk, tmp_path)
    saved = save(second)
    assert (saved.unsaved, list(saved.others)) == (0, ["work"])


def test_a_typed_backup_takes_the_workspace_of_another_profile_over(
    desk: Desk, tmp_path: Path
) -> None:
    _, second = of_second(desk, tmp_path)
    taken = second.backup()
    assert second.ids == [taken.snapshot]
    assert save(second).snapshot == taken.snapshot


def test_what_its_own_profile_has_no_store_for_any_more_is_saved_all_the_same(
    desk: Desk, tmp_path: Path
) -> None:
    first, second = of_second(desk, tmp_path)
    rmtree(first.context.store)
    saved = save(second)
    assert (second.ids, saved.others) == ([saved.snapshot], {})


def test_a_workspace_of_the_same_profile_that_this_job_works_in_is_told_as_its_own(
    desk: Desk,
) -> None:
    desk = of_job(desk, 1)
    desk.backup()
    there = of_job(renamed(desk, "work2"), 1)
    there.write("work2/file")
    saved = save(there)
    assert (saved.own_others, saved.old_others, saved.forked_others) == (["work"], [], [])
    assert [one for one in there.events if isinstance(one, Log)] == []
    settings = msgspec.structs.replace(there.context.settings, name="another")
    other = Desk(msgspec.structs.replace(there.context, settings=settings))
    assert save(other).own_others == []
    # Nobody has done anything in it since another job.
    assert save(of_job(there, 2)).own_others == []
    desk.write("work/since")
    assert save(of_job(there, 2)).own_others == ["work"]


def test_an_older_copy_is_a_fork_only_when_it_had_something_new(desk: Desk) -> None:
    desk = of_job(desk, 1)
    first = str(desk.backup().snapshot)
    desk.write("work/more")
    desk.backup()
    write_base(desk.context.workspace, desk.context.store, first, profile="test")
    (desk.work / "more").unlink()
    there = of_job(renamed(desk, "work2"), 3)
    saved = save(there)
    assert (saved.own_others, saved.old_others, saved.forked_others) == ([], ["work"], [])
    desk.write("work/other")
    saved = save(there)
    assert (saved.own_others, saved.old_others, saved.forked_others) == ([], [], ["work"])


def foretell(desk: Desk) -> NodeSaved:
    return save_node(desk.context, desk.notify, SaveNode(dry_run=True))


def test_a_dry_run_says_what_would_be_stored_and_writes_nothing(desk: Desk) -> None:
    desk.write("work/file")
    desk.backup()
    other = renamed(desk, "work2")
    other.write("work2/file")
    other.backup()
    other.write("work2/more", "of its own")
    before = (desk.ids, other.ids)
    seen = foretell(desk)
    assert list(seen.foretold) == ["work", "work2"]
    assert seen.foretold["work"].kind == "unchanged"
    assert seen.foretold["work2"].changed_files == 1
    assert (seen.unsaved, seen.stored, (desk.ids, other.ids)) == (0, False, before)


def test_a_dry_run_names_what_the_real_one_would_leave_unsaved(desk: Desk) -> None:
    desk.write("work/closed").chmod(0)
    desk.write("work.before-1/x")
    other = renamed(desk, "work_exp")
    other.write("work_exp/file")
    other.backup()
    rmtree(find_place(other.context.store, "work_exp").directory)
    seen = foretell(desk)
    assert seen.unsaved == 3
    assert seen.unsaved_paths == save(desk).unsaved_paths
    (desk.scratch / "work").rename(desk.scratch / "thesis")
    assert foretell(desk).unsaved_paths == save(desk).unsaved_paths
    assert "thesis (it was `work`)" in foretell(desk).unsaved_paths


def test_the_way_out_fits_why_something_is_not_saved(desk: Desk) -> None:
    desk.write("work/file")
    other = renamed(desk, "work_exp")
    other.write("work_exp/file")
    other.backup()
    rmtree(find_place(other.context.store, "work_exp").directory)
    (way,) = save(desk).unsaved_ways
    assert f"`scratchflow run --cwd {desk.scratch} -- rm -r work_exp` deletes it" in way
    (desk.scratch / "work_exp").rename(desk.scratch / "work_exp.old")  # as it says
    assert save(desk).unsaved == 0
    desk.write("work/closed").chmod(0)
    assert save(desk).unsaved_ways == ["make files readable (`chmod`, `chown`) or delete them"]
    desk.write("work.before-1/x")
    _, way = save(desk).unsaved_ways
    assert way.startswith(
        "`scratchflow --set workspace=work.before-1 backup` saves `work.before-1`"
    )


@pytest.mark.parametrize("is_noted", [True, False])
def test_another_workspace_that_is_half_restored_keeps_the_node(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, is_noted: bool
) -> None:
    """The notes of an earlier version do not say in which store its snapshots are."""
    desk.write("work/file")
    other = renamed(desk, "p2")
    other.write("p2/file", "first")
    first = str(other.backup().snapshot)
    other.write("p2/file", "second")
    interrupt(other, first, monkeypatch)
    if not is_noted:
        note = Restoring(snapshot=first, mode="delta")
        begin_restoring(other.context.workspace, note)
    for saved in (foretell(desk), save(desk)):
        half = f"p2 (its restore of {first} has not finished)"
        assert (saved.unsaved, saved.unsaved_paths) == (1, [half])
        (way,) = saved.unsaved_ways
        assert way.startswith("`scratchflow --set workspace=p2 restore` finishes it; `")
        assert "`scratchflow --set workspace=p2 restore --abandon` takes a snapshot" in way
        assert "p2" not in saved.other_files
    with pytest.raises(NodeNotSaved, match="has not finished"):
        require_saved("node-1", saved, verb="clear", leave_behind=False)
    other.restore(abandon=True)
    assert save(desk).unsaved == 0


def test_one_whose_restore_cannot_be_finished_is_given_up(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = renamed(desk, "p2")
    other.write("p2/file", "first")
    first = str(other.backup().snapshot)
    other.write("p2/file", "second")
    interrupt(other, first, monkeypatch)
    other.place.manifest(first).unlink()
    (way,) = save(desk).unsaved_ways
    assert way.startswith(f"the store does not have {first} any more: `scratchflow --set")
    assert "restore --abandon`" in way
    assert "rm -r" not in way
    other.restore(abandon=True)
    assert save(desk).unsaved == 0


def test_a_half_restored_one_of_another_store_is_finished_from_there(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "elsewhere"
    other = Desk(msgspec.structs.replace(renamed(desk, "p2").context, store=store))
    other.write("p2/file", "first")
    first = str(other.backup().snapshot)
    other.write("p2/file", "second")
    interrupt(other, first, monkeypatch)
    (way,) = save(desk).unsaved_ways
    assert way.startswith(f"`scratchflow --set store={store} --set workspace=p2 restore`")


def test_a_restore_that_runs_in_another_workspace_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = renamed(desk, "p2")
    other.write("p2/file", "first")
    first = str(other.backup().snapshot)
    other.write("p2/file", "second")
    interrupt(other, first, monkeypatch)
    waits = threading.Event()

    def hear(event: Event) -> None:
        if isinstance(event, Log) and "waiting for it" in event.message:
            waits.set()

    request = SaveNode(message="before clear")
    with ThreadPoolExecutor() as pool, other.context.alone(lambda _: None):
        saving = pool.submit(save_node, desk.context, Notifier(hear), request)
        assert waits.wait(60)
        write_base(other.context.workspace, other.context.store, first)
        end_restoring(other.context.workspace)
    saved = saving.result()
    assert (saved.unsaved, saved.others) == (0, {"p2": other.ids[-1]})
