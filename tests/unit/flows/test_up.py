"""`up` does what is missing and nothing else, and says when the workspace is not the newest one."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows import up as module
from scratchflow.flows.alias import places_of
from scratchflow.flows.moved import note_move
from scratchflow.flows.up import up
from scratchflow.model.errors.allocation import AllocationEnded, NodeFailed, NodeSilent
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.restore import WorkspaceOfOther
from scratchflow.model.errors.ssh import AliasIsLoginHost
from scratchflow.model.errors.store import StoreLost, StoreReplaced, StoreUnusable
from scratchflow.model.events import PHASE_WORKSPACE, Emit, Log, Progress, Warned
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.requests import Hold, MakeReady, SwitchOn
from scratchflow.model.results.allocation import Allocated
from scratchflow.model.results.backup import AutobackupShown, AutobackupSwitched, CopyShown
from scratchflow.model.results.restore import Restored, Settled
from scratchflow.model.results.status import Problem, StatusShown
from scratchflow.model.results.up import MadeReady, UpAndRunning
from scratchflow.node.environment.missing import missing_in_words
from scratchflow.process.interrupted import Interrupted
from scratchflow.ssh.config.alias import park_alias, point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from tests.unit.flows.told import ToldCluster, give, job, seen

OFF = AutobackupSwitched(enabled=True, changed=True, node="node-1", every_s=1800)
ON = AutobackupSwitched(enabled=True, changed=False, node="node-1", every_s=1800)
THERE = Settled(action="nothing", path="/scratch/u/work", snapshot=None)
NEW = Allocated(
    job_id=9,
    node="node-9",
    partition="dev",
    end_time="then",
    alias="a",
    reused=False,
    warm=None,
    command="salloc …",
)


class Desk:
    """`up` on a cluster with these answers; requests for a node are kept."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
        usual = {"look": seen(job(1)), "settle": THERE, "autobackup on": ON}
        given = {name.replace("_", " "): answer for name, answer in answers.items()}
        every = {**usual, **given}
        every.setdefault("make ready", MadeReady(seen=every["look"]))
        self.cluster = give(monkeypatch, module, ToldCluster(directory, every))
        self.taken: list[Hold] = []
        monkeypatch.setattr(module, "allocate_on", self._allocate)

    def _allocate(self, _: object, request: Hold) -> Allocated:
        self.taken.append(request)
        return NEW

    def alias_at(self, node: str) -> None:
        target = AliasTarget("p", node, "ada", "aws")
        settings = self.cluster.settings
        point_alias(places_of(settings), settings.profile.alias, target)

    def up(self, **request: Any) -> UpAndRunning:
        return up(self.cluster.caller, self.cluster.emit, Hold(**request), run_editor=False)


def test_when_all_is_there_nothing_is_taken_or_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = MadeReady(seen=seen(job(1)), workspace=THERE, autobackup=ON)
    desk = Desk(tmp_path, monkeypatch, make_ready=ready)
    desk.alias_at("node-1")
    done = desk.up()
    assert (done.changed, done.reused, done.node, done.job_id) == (False, True, "node-1", 1)
    assert desk.taken == []
    assert desk.cluster.asked == [("make ready", MakeReady(alias=("node-1",)), None)]
    assert any(isinstance(event, Log) for event in desk.cluster.told)


def test_an_alias_that_is_the_login_host_is_refused_before_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch)
    (tmp_path / "config.toml").write_text('[profiles.p]\nlogin = "aws"\nalias = "aws"\n')
    with pytest.raises(AliasIsLoginHost):
        desk.up(dry_run=True)
    assert desk.cluster.done == []


def test_what_the_login_host_left_undone_is_done_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch)
    desk.alias_at("node-1")
    assert not desk.up().changed
    assert desk.taken == []
    assert desk.cluster.done == ["make ready", "settle", "autobackup on"]


def test_without_an_alias_here_it_is_not_the_login_hosts_business(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch)
    desk.up()
    ((_, asked, _), *_rest) = desk.cluster.asked
    assert asked == MakeReady(alias=None)
    settings = desk.cluster.settings
    park_alias(places_of(settings), settings.profile.alias, settings.name)
    desk.cluster.asked.clear()
    desk.up()
    assert desk.cluster.asked[0][1] == MakeReady(alias=())


def test_after_ctrl_c_in_the_one_request_it_says_that_the_node_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch)
    desk.alias_at("node-1")
    begun: list[Progress] = []

    def interrupted(*_: object, emit: Emit) -> None:
        for event in begun:
            emit(event)
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(desk.cluster, "on_login", interrupted)
    with pytest.raises(Interrupted):  # the node was not looked at yet
        desk.up()
    begun.append(Progress(phase=PHASE_WORKSPACE))
    with pytest.raises(EndedBySignal, match="`node-1` stays ours: `scratchflow up` goes on"):
        desk.up()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            WorkspaceOfOther(path="/w", profile="login", job="", own_scratch="/s"),
            "; job 9 on `node-9` stays yours; `scratchflow clear` gives it back",
        ),
        (
            StoreReplaced(store="/s", node="node-9", workspace="/w", snapshot="a", ways="look"),
            "; job 9 on `node-9` stays yours; `scratchflow clear --no-backup` gives it back, and saves nothing of what is there",
        ),
        (AllocationEnded(job_id=9, reason="it was cancelled"), ""),
        (NodeSilent(node="node-9", job_id=9, reason="srun: timeout"), ""),
    ],
)
def test_an_error_on_the_node_that_was_taken_says_that_its_job_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: ScratchflowError, said: str
) -> None:
    hint = error.shown_hint
    desk = Desk(tmp_path, monkeypatch, look=seen(None), settle=error)
    with pytest.raises(type(error)) as caught:
        desk.up()
    assert caught.value.shown_hint == hint + said


def test_an_error_on_a_node_that_was_held_before_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = WorkspaceOfOther(path="/w", profile="login", job="", own_scratch="/s")
    desk = Desk(tmp_path, monkeypatch, settle=refused)
    desk.alias_at("node-1")
    with pytest.raises(WorkspaceOfOther) as caught:
        desk.up()
    assert "stays yours" not in caught.value.shown_hint


@pytest.mark.parametrize("held", [None, job(2, "pending")])
def test_without_a_running_node_one_is_taken_before_the_workspace_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: Any
) -> None:
    desk = Desk(tmp_path, monkeypatch, look=seen(held))
    done = desk.up()
    assert (done.changed, done.node, done.job_id, done.end_time) == (True, "node-9", 9, "then")
    assert desk.taken == [Hold()]


@pytest.mark.parametrize(
    "lost",
    [
        NodeFailed(node="node-1", reason="Slurm has given it up"),
        AllocationEnded(job_id=1, reason="its time is up"),
    ],
)
def test_a_node_that_is_lost_while_it_is_looked_at_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: ScratchflowError
) -> None:
    desk = Desk(tmp_path, monkeypatch, make_ready=lost, look=seen(None))
    desk.alias_at("node-1")
    done = desk.up()
    assert (done.node, desk.taken) == ("node-9", [Hold()])
    (warned,) = [event for event in desk.cluster.told if isinstance(event, Warned)]
    assert (warned.code, warned.message) == (lost.code, f"{lost}; taking another node")


def test_that_the_work_is_at_another_cluster_is_told_before_a_node_is_taken_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    desk = Desk(tmp_path, monkeypatch, look=seen(None))
    config = tmp_path / "config.toml"
    config.write_text(
        'default_profile = "p"\n' + config.read_text() + '[profiles.b]\nlogin = "b"\n'
    )
    note_move("p", "b")
    for dry_run, told in ((True, 1), (False, 1), (False, 0)):
        desk.cluster.told.clear()
        desk.up(dry_run=dry_run)
        warned = [event for event in desk.cluster.told if isinstance(event, Warned)]
        assert len(warned) == told
        assert all("the work went to profile `b`" in event.message for event in warned)


def test_an_alias_that_leads_elsewhere_and_a_node_that_is_asked_for_go_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch)
    desk.alias_at("node-3")
    desk.up()
    desk.alias_at("node-1")
    desk.up(node="node-4")
    assert desk.taken == [Hold(), Hold(node="node-4")]


@pytest.mark.parametrize(
    "news",
    [
        {"autobackup_on": OFF},
        {"settle": Settled(action="created", path="/w", snapshot="s")},
        {"settle": Settled(action="restored", path="/w", snapshot="s")},
    ],
)
def test_each_thing_that_was_missing_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, news: dict[str, Any]
) -> None:
    assert Desk(tmp_path, monkeypatch, **news).up().changed


def test_what_is_saved_before_a_restore_is_not_said_to_be_of_an_earlier_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored = Restored(
        snapshot="b",
        mode="delta",
        target="/w",
        files=1,
        bytes=1,
        written_files=1,
        written_bytes=1,
        duration_s=0.1,
        safety_snapshot="c",
    )
    settled = Settled(action="restored", path="/w", snapshot="b", restored=restored)
    desk = Desk(tmp_path, monkeypatch, settle=settled)
    desk.up()
    said = " ".join(event.message for event in desk.cluster.told if isinstance(event, Log))
    assert "in no snapshot yet is saved as a fork, snapshot c" in said
    assert "earlier job" not in said


def test_a_workspace_that_is_not_the_newest_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = Settled(action="nothing", path="/w", snapshot=None, newer="20261115T093000Z-3f2a9c")
    desk = Desk(tmp_path, monkeypatch, settle=behind)
    desk.up()
    (warning,) = [event for event in desk.cluster.told if isinstance(event, Warned)]
    assert warning.code == "workspace.behind"
    assert "3f2a9c" in warning.message
    assert any(isinstance(event, Log) for event in desk.cluster.told)


def test_a_dry_run_foretells_and_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch, look=seen())
    done = desk.up(dry_run=True)
    assert (done.dry_run, done.changed, done.command) == (True, True, "salloc …")
    assert (done.workspace, done.autobackup, done.editor.opened) == (None, None, False)
    assert desk.cluster.done == ["look"]


def test_what_follows_is_done_on_the_node_that_was_taken_not_on_a_younger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop that starts at the same moment holds a younger job until it gives way."""
    desk = Desk(tmp_path, monkeypatch, look=seen())
    desk.up()
    assert [(do, number) for do, _, number in desk.cluster.asked if do == "settle"] == [
        ("settle", NEW.job_id)
    ]
    assert ("autobackup on", SwitchOn(job_id=NEW.job_id), None) in desk.cluster.asked


def test_that_the_snapshots_are_in_another_store_is_told_before_a_workspace_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch, look=seen(None, "store.moved"))
    profile = msgspec.structs.replace(desk.cluster.settings.profile, store="$PROJECT/store")
    desk.cluster.settings = msgspec.structs.replace(desk.cluster.settings, profile=profile)
    desk.up()
    warned = [one.code for one in desk.cluster.told if isinstance(one, Warned)]
    assert "store.moved" in warned
    assert desk.taken


def test_with_the_store_away_no_node_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, monkeypatch, look=seen(None, "store.lost"))
    with pytest.raises(StoreLost) as caught:
        desk.up()
    assert (caught.value.exit_code, desk.taken) == (10, [])


def test_a_dry_run_fails_with_a_store_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = seen(None, "store.unusable")
    with pytest.raises(StoreUnusable) as caught:
        Desk(tmp_path, monkeypatch, look=closed).up(dry_run=True)
    assert caught.value.exit_code == 10
    held = Desk(tmp_path, monkeypatch, look=seen(job(1), "store.unusable"))
    assert held.up(
        dry_run=True
    ).dry_run  # the workspace is there: `up` has nothing to do in the store


def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked: StatusShown) -> Desk:
    """`up` on this machine, without a cluster."""
    desk = Desk(tmp_path, monkeypatch, look=looked)
    profile = msgspec.structs.replace(desk.cluster.settings.profile, scheduler="none")
    desk.cluster.settings = msgspec.structs.replace(desk.cluster.settings, profile=profile)
    return desk


@pytest.mark.parametrize("problem", ["store.lost", "store.replaced", "store.unusable"])
def test_without_a_cluster_a_dry_run_fails_with_a_store_that_up_would_fail_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    looked = seen(job(1), problem)
    with pytest.raises(ScratchflowError) as caught:
        _alone(tmp_path, monkeypatch, looked).up(dry_run=True)
    assert (caught.value.code, caught.value.exit_code) == (problem, 10)


def test_without_a_cluster_a_dry_run_passes_where_up_has_nothing_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = AutobackupShown(enabled=True, every_s=1800)
    looked = msgspec.structs.replace(seen(job(1), "store.unusable"), autobackup=running)
    assert _alone(tmp_path, monkeypatch, looked).up(dry_run=True).dry_run


def test_after_ctrl_c_it_says_that_the_node_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise Interrupted(signal.SIGINT)

    desk = Desk(tmp_path, monkeypatch, look=seen(None), settle=interrupted)
    with pytest.raises(EndedBySignal, match="`node-9` stays ours: `scratchflow up` goes on"):
        desk.up()


FULL = Problem(name="disk.no_space", detail="no space left at `/store`", fix="free some")
BEHIND = Problem(name="alias.behind", detail="the alias leads elsewhere", fix="`scratchflow up`")


@pytest.mark.parametrize(
    ("switched", "problems"), [(ON, [FULL, BEHIND]), (OFF, [FULL])], ids=["unchanged", "changed"]
)
def test_what_it_does_not_mend_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    switched: AutobackupSwitched,
    problems: list[Problem],
) -> None:
    wrong = msgspec.structs.replace(seen(job(1)), problems=[FULL, BEHIND])
    desk = Desk(tmp_path, monkeypatch, look=wrong, autobackup_on=switched)
    desk.alias_at("node-1")
    assert desk.up().problems == problems


@pytest.mark.parametrize("action", ["nothing", "restored"])
def test_an_environment_that_is_not_on_the_node_is_told_once_as_the_node_itself_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: Any
) -> None:
    before = Problem(name="environment.missing", detail="as the auto-backup saw it", fix="")
    looked = msgspec.structs.replace(seen(job(1)), problems=[before])
    there = Settled(action=action, path="/w", snapshot="s")
    desk = Desk(tmp_path, monkeypatch, look=looked, settle=there)
    desk.alias_at("node-1")
    assert desk.up().problems == []
    without = msgspec.structs.replace(there, missing_layer="venv")
    desk = Desk(tmp_path, monkeypatch, look=looked, settle=without)
    profile = msgspec.structs.replace(
        desk.cluster.settings.profile, environment=EnvironmentOptions(venv="env")
    )
    detail, fix = missing_in_words(profile, "venv", "node-1")
    config = tmp_path / "config.toml"
    config.write_text(f'{config.read_text()}environment.venv = "env"\n')
    assert desk.up().problems == [Problem(name="environment.missing", detail=detail, fix=fix)]


def test_a_workspace_that_was_missing_on_a_further_node_and_was_brought_is_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = Problem(name="nodes.missing", detail="there is no workspace on `node-2`", fix="`up`")
    copies = [CopyShown(node="node-2", exists=False)]
    before = msgspec.structs.replace(seen(job(1)), problems=[missing], copies=copies)
    brought = msgspec.structs.replace(THERE, nodes=["node-1", "node-2"])
    ready = MadeReady(seen=before, workspace=brought, autobackup=ON)
    desk = Desk(tmp_path, monkeypatch, make_ready=ready)
    desk.alias_at("node-1")
    done = desk.up()
    assert (done.changed, done.problems) == (True, [])
    still = msgspec.structs.replace(ready, workspace=THERE)
    desk = Desk(tmp_path, monkeypatch, make_ready=still)
    assert desk.up().problems == [missing]


@pytest.mark.parametrize(("failed", "is_told"), [("node-3", True), (NEW.node, False)])
def test_work_on_a_node_that_failed_is_named_unless_we_have_that_node_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: str, is_told: bool
) -> None:
    left = Problem(name="workspace.on_failed_node", detail=f"changed on `{failed}`", fix="hop")
    ended = Problem(name="allocation.ended", detail="job 1 has ended", fix="up")
    before = msgspec.structs.replace(seen(None), problems=[ended, left])
    restored = Settled(action="restored", path="/w", snapshot="s")
    desk = Desk(tmp_path, monkeypatch, look=before, settle=restored, autobackup_on=OFF)
    assert desk.up().problems == ([left] if is_told else [])
