"""`hop --to`: the node here goes only when the other cluster has all that was on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows.clear.last_backup import SavedCopy
from scratchflow.flows.hop import to_profile as module
from scratchflow.flows.hop.to_profile import hop_to
from scratchflow.flows.moved import note_move, read_move
from scratchflow.flows.transfer import copy as copy_module
from scratchflow.flows.transfer.copy import Require
from scratchflow.model.errors.allocation import NodeNotSaved
from scratchflow.model.errors.hop import (
    ClustersDiverged,
    DamagedThere,
    HopToItself,
    HopUnfinished,
    NameTakenThere,
    OtherWorkThere,
    UnsavedWouldDiverge,
    WorkDiverged,
    WouldDiverge,
)
from scratchflow.model.errors.snapshots import DamagedAtSource, SnapshotDamaged, SnapshotMissing
from scratchflow.model.errors.store import NoSpace
from scratchflow.model.errors.transfer import WorkspaceNamedOtherwise
from scratchflow.model.events import Event, Log, Warned
from scratchflow.model.requests import ArchiveOf, Hold, Settle, WholeSnapshot
from scratchflow.model.results.backup import BackupTaken, NodeSaved
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.snapshots import SnapshotRow, SnapshotsListed
from scratchflow.model.results.status import AllocationShown, JobsShown
from scratchflow.model.results.transfer import (
    ArchiveLacking,
    SnapshotLacking,
    SnapshotsLacking,
    SnapshotsOffered,
)

A, B, C = (f"20261115T10{number}000Z-00000{number}" for number in range(1, 4))


class World:
    """Two clusters; every step is noted, and `saves` are the snapshots that the node here gives one after the other."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        config = tmp_path / "config.toml"
        config.write_text(
            "".join(f'[profiles.{name}]\nlogin = "{name}"\nstore = "/s"\n' for name in ("a", "b"))
        )
        self.who = Caller(
            asked=Asked(config=str(config), profile="a"),
            environment={"HOME": str(tmp_path), "USER": "u"},
        )
        self.steps: list[str] = []
        self.events: list[Event] = []
        self.saves = [A]
        self.jobs: list[AllocationShown] = [open_job(7)]
        self.jobs_there: list[AllocationShown] = []
        self.asked: list[Settle] = []
        self.rows = [A]
        self.unsaved = 0
        self.blocked: list[str] = []
        self.damaged: list[str] = []
        self.in_the_way: list[str] = []
        self.as_full_bytes = 0
        self.cleared: str | None = None
        self.went_on_from = ""
        self.base_there: str | None = None
        self.newest_there: str | None = None
        self.newest_work_there: str | None = None
        self.parents: dict[str, str] = {}
        self.parent: str | None = None
        self.answers: dict[str, Any] = {}
        self.seen_there = ("unchanged", A)
        self.settled: Literal["restored", "nothing"] = "restored"
        monkeypatch.setattr(module, "cluster_of", self._cluster)
        monkeypatch.setattr(module, "save_copies", self._save)
        monkeypatch.setattr(module, "foretell_last_backup", self._foretell)
        monkeypatch.setattr(module, "copy_snapshots", self._copy)
        monkeypatch.setattr(module, "up", self._up)
        monkeypatch.setattr(module, "clear_on", self._clear)

    def hop(self, **more: Any) -> Any:
        return hop_to(self.who, self.events.append, Hold(**more), "b")

    def _cluster(self, settings: Any, caller: Caller, _: object) -> Any:
        from contextlib import nullcontext

        cluster = SimpleNamespace(
            emit=self.events.append,
            settings=settings,
            caller=caller,
            on_login=lambda *_: JobsShown(
                jobs=self.jobs if settings.name == "a" else self.jobs_there
            ),
            at_workspace=self._at(settings.name),
        )
        return nullcontext(cluster)

    def _at(self, profile: str) -> Callable[..., Any]:
        def at(do: str, request: Any, *_: Any, **__: Any) -> Any:
            if do in self.answers:
                return self.answers[do]
            if do == "snapshots list":
                return SnapshotsListed(
                    snapshots=[_row(one, before) for one, before in self._chain()]
                )
            self.steps.append(
                f"{do} {getattr(request, 'snapshot', '')} on {profile}".replace("  ", " ")
            )
            if do == "settle":
                self.asked.append(request)
            if do == "settle" and self.went_on_from:
                raise WorkDiverged(node="far-1", snapshot=self.went_on_from, other=request.snapshot)
            if do == "settle":
                base = self.base_there or request.snapshot
                return Settled(action=self.settled, path="/w", snapshot=base)
            kind, snapshot = self.seen_there
            return _taken(kind, snapshot, self.parent)

        return at

    def _chain(self) -> list[tuple[str, str | None]]:
        return list(zip(self.rows, [None, *self.rows], strict=False))

    def _save(self, *_: Any) -> list[SavedCopy]:
        snapshot = self.saves.pop(0) if len(self.saves) > 1 else self.saves[0]
        self.steps.append(f"save {snapshot}")
        self.seen_there = ("unchanged", snapshot)
        saved = NodeSaved(snapshot=snapshot, unsaved=self.unsaved, unsaved_paths=["x"])
        return [SavedCopy("node-1", saved)]

    def _foretell(self, *_: Any) -> list[SavedCopy]:
        saved = NodeSaved(snapshot=None, unsaved=self.unsaved, unsaved_paths=["x"])
        return [SavedCopy("node-1", saved)]

    def _copy(
        self, _: Any, offer: Any, to: str, __: Any, *, dry_run: bool = False, require: Require
    ) -> Any:
        offered = [WholeSnapshot(one, "work", "{}", []) for one in offer.snapshots]
        require(
            SnapshotsOffered(snapshots=offered, parents=self.parents),
            SnapshotsLacking(
                snapshots=[], newest=self.newest_there, newest_work=self.newest_work_there
            ),
        )
        doing = "look at" if dry_run else "copy"
        self.steps.append(f"{doing} {' '.join(offer.snapshots)} to {to}")
        return SimpleNamespace(
            sent_bytes=10,
            damaged=self.damaged,
            as_full_bytes=self.as_full_bytes,
            blocked=self.blocked,
            in_the_way=dict.fromkeys(self.in_the_way, "`x` is a link"),
        )

    def _up(self, caller: Caller, _: Any, request: Hold, **__: Any) -> Any:
        doing = "look at up" if request.dry_run else "up"
        self.steps.append(f"{doing} {caller.settings().name}")
        return SimpleNamespace(node="far-1", job_id=9, end_time=None, alias="compile_machine")

    def _clear(self, *_: Any) -> Any:
        self.steps.append("clear")
        return SimpleNamespace(snapshot=self.cleared or self.saves[0])


def open_job(number: int) -> AllocationShown:
    return AllocationShown(
        state="running",
        job_id=number,
        node="node-1",
        nodes=["node-1"],
        partition="p",
        end_time=None,
        seconds_left=None,
    )


def _row(snapshot: str, parent: str | None) -> SnapshotRow:
    return SnapshotRow(
        id=snapshot,
        time="",
        kind="full",
        parent=parent,
        node="",
        files=0,
        bytes=0,
        stored_bytes=0,
        verified=True,
        message="",
        damaged=None,
    )


def _taken(kind: Any, snapshot: str, parent: str | None) -> BackupTaken:
    return BackupTaken(
        kind=kind,
        snapshot=snapshot,
        parent=parent,
        files=0,
        bytes=0,
        changed_files=0,
        changed_bytes=0,
        stored_bytes=0,
        duration_s=0.0,
    )


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_the_node_here_is_given_back_last(world: World) -> None:
    done = world.hop()
    assert world.steps == [
        f"save {A}",
        f"copy {A} to b",
        "up b",
        f"settle {A} on b",
        "backup on b",
        f"save {A}",
        "clear",
    ]
    assert (done.source, done.to, done.node, done.snapshot) == ("a", "b", "far-1", A)
    assert (done.from_job_id, done.sent_bytes, done.left_behind) == (7, 10, None)


def test_whoever_goes_on_working_is_caught_up_with(world: World) -> None:
    world.saves, world.rows = [A, C], [A, B, C]
    done = world.hop()
    assert world.steps[-6:-1] == [
        f"save {C}",
        f"copy {C} {B} to b",
        f"settle {C} on b",
        "backup on b",
        f"save {C}",
    ]
    assert done.snapshot == C


def test_a_node_that_was_given_back_already_is_not_needed(world: World) -> None:
    world.jobs, world.rows = [], [A, B]
    world.saves = [B]
    world.seen_there = ("unchanged", B)
    assert world.hop().snapshot == B
    assert not any(step.startswith("save") for step in world.steps)
    world.rows = []
    with pytest.raises(SnapshotMissing):
        world.hop()


@pytest.mark.parametrize("seen", [("incremental", A), ("unchanged", B)])
def test_what_does_not_equal_it_keeps_the_node(
    world: World, seen: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(*arguments: Any) -> Any:
        copies = world._save(*arguments)
        world.seen_there = seen
        return copies

    monkeypatch.setattr(module, "save_copies", save)
    with pytest.raises(HopUnfinished):
        world.hop()
    assert "clear" not in world.steps


def test_files_in_no_snapshot_keep_the_node_before_anything_is_sent(world: World) -> None:
    world.unsaved = 1
    with pytest.raises(NodeNotSaved) as refused:
        world.hop()
    assert world.steps == [f"save {A}"]
    assert "`scratchflow hop --to b --leave-behind`" in refused.value.shown_hint


def test_a_snapshot_that_cannot_be_copied_keeps_the_node(world: World) -> None:
    world.blocked = [A]
    with pytest.raises(NameTakenThere, match="another archive under the name") as caught:
        world.hop()
    assert "clear" not in world.steps
    assert caught.value.shown_hint.startswith("`scratchflow -p a backup --full` takes")
    assert "`scratchflow -p a hop --to b` then goes on" in caught.value.shown_hint


@pytest.mark.parametrize("at", ["up", "settle"])
def test_damage_in_the_other_store_is_told_with_the_way_on(
    world: World, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: Any, **__: Any) -> Any:
        raise SnapshotDamaged(snapshot=A, reason="a file does not match its digest")

    if at == "up":
        monkeypatch.setattr(module, "up", damaged)
    else:
        monkeypatch.setattr(module._Moving, "_settle", damaged)
    with pytest.raises(DamagedThere) as caught:
        world.hop()
    assert "in the store of `b`, snapshot" in str(caught.value)
    assert "`scratchflow -p b snapshots verify`" in caught.value.shown_hint
    assert "`scratchflow -p a hop --to b` sends it again" in caught.value.shown_hint
    assert "clear" not in world.steps


def test_what_makes_later_moves_small_again_is_said(world: World) -> None:
    world.as_full_bytes = 1000
    world.hop()
    said = [one.message for one in world.events if isinstance(one, Log)]
    # The workspace is on the other cluster by then.
    assert any(
        "run `scratchflow -p b backup --full` once when the move is done" in one for one in said
    )


def test_what_is_in_the_way_in_the_other_store_is_named_and_the_node_kept(world: World) -> None:
    world.in_the_way = [A]
    with pytest.raises(HopUnfinished, match="in the store of `b`, `x` is a link; look what it is"):
        world.hop()
    assert "clear" not in world.steps
    assert world.steps[-1].startswith("copy")


def test_work_on_both_sides_keeps_both_nodes_and_says_how_to_take_the_one_or_the_other(
    world: World,
) -> None:
    world.went_on_from = B
    with pytest.raises(ClustersDiverged) as caught:
        world.hop()
    assert str(caught.value).endswith(f": at `b`, and at `a` up to snapshot {A}")
    assert "clear" not in world.steps
    assert caught.value.exit_code == 37
    hint = caught.value.shown_hint
    for step in (
        "`scratchflow -p b backup`",
        f"`scratchflow -p b restore {A}`",
        "`scratchflow -p a hop --to b`",
        "`scratchflow -p a clear`",
    ):
        assert step in hint


def test_where_the_work_went_is_noted_and_that_it_came_is_not(world: World) -> None:
    note_move("b", "a")
    world.hop(dry_run=True)
    there = module.of_profile(world.who, "b")
    assert read_move(there.settings()) is not None
    world.hop()
    assert read_move(there.settings()) is None
    moved = read_move(world.who.settings())
    assert moved is not None
    assert moved.to == "b"


@pytest.mark.parametrize("dry_run", [True, False])
def test_work_there_that_is_not_known_here_is_not_restored_over(
    world: World, *, dry_run: bool
) -> None:
    world.saves = world.rows = [B]
    world.newest_there = world.newest_work_there = A
    with pytest.raises(OtherWorkThere) as caught:
        world.hop(dry_run=dry_run)
    assert caught.value.exit_code == 37
    assert f"at `b` up to snapshot {A}, and at `a` up to snapshot {B}" in str(caught.value)
    assert f"`scratchflow -p a snapshots copy {B} --to b`" in caught.value.shown_hint
    assert "`scratchflow -p b up`" in caught.value.shown_hint
    looked = ("save", "backup on a")  # a dry run asks what it would save
    assert [step for step in world.steps if not step.startswith(looked)] == []


@pytest.mark.parametrize(
    ("newest_there", "parents"),
    [(None, {}), (B, {}), (A, {A: C}), (A, {B: A}), (C, {})],
    ids=["nothing there", "the same", "known here", "its parent", "newer: `up` restores it"],
)
def test_work_there_that_is_known_here_or_newer_is_no_hindrance(
    world: World, newest_there: str | None, parents: dict[str, str]
) -> None:
    world.saves = world.rows = [B]
    world.newest_there = world.newest_work_there = newest_there
    world.parents = parents
    world.hop()
    assert world.steps[-1] == "clear"


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_empty_workspace_there_is_no_other_work(world: World, *, dry_run: bool) -> None:
    world.saves = world.rows = [C]
    world.newest_there, world.newest_work_there = B, None
    world.hop(dry_run=dry_run)
    assert world.steps[-1] == ("look at up b" if dry_run else "clear")


def test_what_somebody_went_back_to_there_is_no_other_work(world: World) -> None:
    world.saves = world.rows = [C]
    world.newest_there, world.newest_work_there, world.parents = B, A, {C: A}
    world.hop()
    assert world.steps[-1] == "clear"


@pytest.mark.parametrize(("kind", "is_refused"), [("incremental", True), ("unchanged", False)])
def test_a_dry_run_knows_that_what_is_not_saved_yet_would_be_newer(
    world: World, kind: str, *, is_refused: bool
) -> None:
    world.newest_there = world.newest_work_there = B
    world.seen_there = (kind, A)
    if is_refused:
        with pytest.raises(UnsavedWouldDiverge) as caught:
            world.hop(dry_run=True)
        assert caught.value.exit_code == ClustersDiverged.exit_code
        assert A not in f"{caught.value} {caught.value.shown_hint}"  # they have it in common
        assert "`scratchflow -p a backup` saves it" in caught.value.shown_hint
    else:
        world.hop(dry_run=True)
    world.jobs = []
    world.hop(dry_run=True)  # without a node here nothing is saved


def test_a_workspace_there_that_is_ahead_is_told_by_its_own_snapshot(world: World) -> None:
    world.settled, world.base_there = "nothing", C
    done = world.hop()
    assert (done.snapshot, done.left_behind) == (C, None)


def test_what_the_last_look_saved_goes_over_as_well(world: World) -> None:
    world.cleared = B
    done = world.hop()
    assert world.steps[-1] == f"copy {B} to b"
    assert done.left_behind == B
    assert [one.code for one in world.events if isinstance(one, Warned)] == ["hop.left_behind"]


def test_a_dry_run_names_the_steps_and_only_looks(world: World) -> None:
    done = world.hop(dry_run=True)
    assert done.commands[1] == "scratchflow -p a snapshots copy --to b"
    assert world.steps == [f"look at {A} to b", "look at up b"]
    world.rows = []  # the first one is yet to be taken
    world.hop(dry_run=True)
    assert world.steps[2:] == ["look at  to b", "look at up b"]
    world.jobs = []
    with pytest.raises(SnapshotMissing):
        world.hop(dry_run=True)


def test_a_dry_run_asks_a_node_that_is_held_there_what_the_run_would_ask(world: World) -> None:
    world.jobs_there, world.parents = [open_job(9)], {B: A}
    world.rows, world.seen_there = [A, B], ("unchanged", B)
    world.hop(dry_run=True)
    assert world.asked == [Settle(dry_run=True, snapshot=B, parents={B: A})]
    world.jobs = []  # the newest snapshot is what would be copied
    world.hop(dry_run=True)
    assert world.asked[1:] == world.asked[:1]


def test_without_slurm_there_a_dry_run_asks_the_machine(world: World) -> None:
    world.hop(dry_run=True)
    assert world.asked == []
    config = Path(world.who.asked.config or "")
    config.write_text(config.read_text() + 'scheduler = "none"\n')
    world.hop(dry_run=True)
    assert [one.snapshot for one in world.asked] == [A]


def test_a_dry_run_asks_there_for_what_is_not_saved_here_yet(world: World) -> None:
    world.jobs_there, world.parents = [open_job(9)], {B: A}
    world.rows, world.seen_there, world.parent = [A, B], ("incremental", ""), B
    world.hop(dry_run=True)
    (asked,) = world.asked
    assert asked.dry_run
    assert asked.snapshot not in {A, B}
    assert asked.parents == {B: A, asked.snapshot: B}


def test_a_dry_run_refuses_what_the_run_would_find_on_the_node_there(world: World) -> None:
    world.jobs_there, world.went_on_from = [open_job(9)], B
    with pytest.raises(WouldDiverge) as caught:
        world.hop(dry_run=True)
    assert caught.value.exit_code == ClustersDiverged.exit_code
    assert f"at `b`, and at `a` up to snapshot {A}; nothing was copied" in str(caught.value)
    assert f"`scratchflow -p a snapshots copy {A} --to b`" in caught.value.shown_hint


def test_a_dry_run_that_is_refused_for_unsaved_work_asks_for_a_backup_first(world: World) -> None:
    world.jobs_there, world.went_on_from = [open_job(9)], B
    world.rows, world.seen_there, world.parent = [A, B], ("incremental", ""), B
    with pytest.raises(UnsavedWouldDiverge, match="at `a`, where it is not saved yet"):
        world.hop(dry_run=True)


def test_what_the_next_step_brings_is_no_reason_for_a_warning(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(caller: Caller, emit: Any, request: Hold, **more: Any) -> Any:
        emit(Warned(code="workspace.behind", message="not the newest"))
        emit(Warned(code="nodes.fork", message="something else"))
        return world._up(caller, emit, request, **more)

    monkeypatch.setattr(module, "up", warn)
    world.hop()
    assert [one.code for one in world.events if isinstance(one, Warned)] == ["nodes.fork"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_workspaces_of_two_names_are_refused_before_anything_is_done(
    world: World, *, dry_run: bool
) -> None:
    config = Path(world.who.asked.config or "")
    config.write_text(config.read_text() + 'workspace = "work_b"\n')
    with pytest.raises(
        WorkspaceNamedOtherwise, match="that of profile `b` is named `work_b`"
    ) as no:
        world.hop(dry_run=dry_run)
    assert "`scratchflow -p b config set workspace work` gives it" in no.value.shown_hint
    assert world.steps == []


def test_a_dry_run_refuses_what_the_other_store_has_no_room_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = ArchiveOf(A, 5_000_000, "0" * 64)
    offered = SnapshotsOffered(snapshots=[WholeSnapshot(A, "work", "{}", [archive])], store_id="1")
    lacking = SnapshotsLacking(
        snapshots=[SnapshotLacking(A, [ArchiveLacking(archive)])],
        newest=B,
        store_id="2",
        room_bytes=4_000_000,
        directory="/s/work",
    )
    world.answers = {"snapshots offer": offered, "snapshots lacking": lacking}
    monkeypatch.setattr(copy_module, "cluster_of", world._cluster)
    monkeypatch.setattr(module, "copy_snapshots", copy_module.copy_snapshots)
    with pytest.raises(NoSpace) as caught:
        world.hop(dry_run=True)
    assert caught.value.exit_code == 33
    assert str(caught.value).startswith("profile `b`")
    assert "4.77 MiB would come, and there is room for 3.81 MiB" in str(caught.value)
    assert "`scratchflow -p b snapshots prune`" in caught.value.shown_hint
    assert world.steps == []  # `up` there was not looked at, and nothing was done


def test_a_dry_run_refuses_the_snapshot_that_could_not_be_copied_unless_a_newer_one_is_taken(
    world: World,
) -> None:
    world.damaged = [A]
    world.hop(dry_run=True)
    world.jobs = []
    with pytest.raises(DamagedAtSource, match="in the store of profile `a`"):
        world.hop(dry_run=True)
    world.damaged, world.blocked = [], [A]
    with pytest.raises(NameTakenThere):
        world.hop(dry_run=True)


def test_the_same_profile_is_refused(world: World) -> None:
    with pytest.raises(HopToItself):
        hop_to(world.who, world.events.append, Hold(), "a")


def test_a_dry_run_fails_for_what_no_backup_here_can_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch)
    world.unsaved = 1
    with pytest.raises(NodeNotSaved, match="`x`"):
        world.hop(dry_run=True)
    assert world.steps == []


def test_an_environment_that_does_not_go_along_is_named_also_by_a_dry_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch)
    with (tmp_path / "config.toml").open("a") as config:
        config.write('environment.venv = "env"\n')
    world.hop(dry_run=True)
    (said,) = [
        one
        for one in world.events
        if isinstance(one, Warned) and one.code == "environment.not_saved"
    ]
    assert "`scratchflow -p b create --env venv --packages …` makes it again" in said.message
