"""Snapshots are named with their number and their owners, and no command removes another profile's."""

from __future__ import annotations

import shlex

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.removal.in_use import InUse
from scratchflow.flows.setup.removal.left_behind import left_behind
from scratchflow.flows.setup.removal.traces import ClosedPlace, Traces, WorkspaceTrace
from scratchflow.model.profile import Profile
from scratchflow.model.results.status import ElsewhereShown
from tests.unit.flows.setup.removal.conftest import STORE, commands, found, left


def test_what_nobody_could_ask_about_is_named_without_a_number(settings: Settings) -> None:
    profile, snapshots = left(settings, None)
    assert str(settings.path) in profile.what
    assert "profiles remove p" in profile.how
    assert snapshots.what.startswith("the snapshots in ")


def test_the_snapshots_of_every_workspace_are_counted_and_theirs_alone_removed(
    settings: Settings,
) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 1), WorkspaceTrace(STORE, "p2", 3))
    _, first, second = left(settings, traces)
    assert first.what == "1 snapshot in /fsx/ada's store/w on `aws`"
    assert second.what == "3 snapshots in /fsx/ada's store/p2 on `aws`"
    assert "gone for good" in second.how
    ssh, login, far = shlex.split(second.how.split("`")[1])
    assert (ssh, login) == ("ssh", "aws")
    assert shlex.split(far) == ["rm", "-rf", "/fsx/ada's store/p2"]


def test_a_workspace_within_another_is_named_with_it(settings: Settings) -> None:
    """One command would remove the snapshots of both."""
    _, snapshots = left(settings, found(WorkspaceTrace(STORE, "w", 1, within=("inner",))))
    assert snapshots.what == (
        "1 snapshot, with all that is saved of `w/inner`, in /fsx/ada's store/w on `aws`"
    )


def test_what_is_another_profiles_is_named_as_that(settings: Settings) -> None:
    traces = found(WorkspaceTrace("/s", "work_gpu", 1), WorkspaceTrace("/s", "w", 1))
    gpu = Profile(login="aws", store="/s/", workspace="work_gpu")
    elsewhere = Profile(login="lab", store="/s", workspace="w")
    _, theirs, nobodys = left(settings, traces, gpu=gpu, lab=elsewhere)
    assert theirs.what.endswith("of profile `gpu`")
    assert "profile" not in nobodys.what


def test_the_same_workspace_in_another_store_is_not_told_as_the_other_profiles(
    settings: Settings,
) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 10), WorkspaceTrace("/fsx/second", "w", 2))
    second = Profile(login="aws", store="/fsx/second", workspace="w")
    _, ours, theirs = left(settings, traces, second=second)
    assert ours.what.endswith("of profile `p`")
    assert theirs.what.endswith("of profile `second`")
    third = msgspec.structs.replace(settings.profile, alias="third")
    _, both, _ = left(settings, traces, second=second, third=third)
    assert both.what.endswith("of profiles `p` and `third`")


def test_the_store_that_we_made_in_the_home_is_named_unless_another_profile_has_it(
    settings: Settings,
) -> None:
    traces = found(WorkspaceTrace("~/scratchflow", "w", 1), WorkspaceTrace(STORE, "w", 1))
    *_, shown = left(settings, traces)
    assert shown.what == "~/scratchflow on `aws`, which is empty after that"
    assert shown.how == "`ssh aws 'rmdir ~/scratchflow'`"
    sharing = left(settings, traces, other=Profile(login="aws", workspace="x"))
    assert not any("rmdir" in one.how for one in sharing)
    assert not any("rmdir" in one.how for one in left(settings, found(traces.workspaces[1])))


def test_a_store_of_ours_with_more_in_it_is_not_called_empty(settings: Settings) -> None:
    store = "~/scratchflow"
    more = Traces(workspaces=(WorkspaceTrace(store, "w", 1),), stores_with_more=(store,))
    closed = (ClosedPlace(store, "x", "Permission denied"),)
    for traces in (more, msgspec.structs.replace(more, stores_with_more=(), closed=closed)):
        shown = left(settings, traces)[-1]
        assert shown.what == "~/scratchflow on `aws`, with what else is in it"
        assert shown.how == "`ssh aws 'ls -la ~/scratchflow'` shows that"


def test_what_could_not_be_read_is_told_with_the_reason_and_the_next_step(
    settings: Settings,
) -> None:
    traces = Traces(closed=(ClosedPlace(STORE, "w", "Permission denied"),))
    _, shown = left(settings, traces)
    assert "/fsx/ada's store/w on `aws`" in shown.what
    assert "could not look there (Permission denied)" in shown.what
    look, again = shown.how.split("`")[1::2]
    assert shlex.split(look) == ["ssh", "aws", 'ls -ld "/fsx/ada\'s store/w"']
    assert again == "scratchflow -p p setup --remove"


def test_what_submitted_jobs_made_is_named_with_the_snapshots_it_lies_beside(
    settings: Settings,
) -> None:
    *_, snapshots = left(settings, found(WorkspaceTrace(STORE, "w", 13, (), 9)))
    assert snapshots.what.startswith("13 snapshots and the records and outputs of 9 jobs in ")


def test_a_workspace_of_no_profile_in_the_store_of_another_profile_alone_is_not_removed(
    settings: Settings,
) -> None:
    other = msgspec.structs.replace(settings.profile, store="/fsx/other")
    traces = found(
        WorkspaceTrace(STORE, "w", 1, ("n1",)),
        WorkspaceTrace("/fsx/other", "w", 3, ("n1",)),
        WorkspaceTrace("/fsx/other", "p2", 2, ("n2",)),
    )
    shown = left(settings, traces, other=other)
    assert "p2" not in commands(shown)
    kept = {one.what for one in shown if one.how.startswith("still used by profile `other`; ")}
    assert "2 snapshots in /fsx/other/p2 on `aws`" in kept
    assert "/scratch/ada/p2 on the scratch of n2" in kept
    elsewhere = msgspec.structs.replace(other, scratch="/local/ada")
    shown = left(settings, traces, other=elsewhere)
    assert "/fsx/other/p2" not in commands(shown)
    every = left_behind(settings, traces, {"other": other}, all_profiles=True)
    assert "/fsx/other/p2" in commands(every)


def test_where_a_profile_of_another_machine_saves_is_not_guessed(settings: Settings) -> None:
    in_use = InUse([ElsewhereShown(profile="far", job_id=8, state="pending")])
    for traces in (None, found(WorkspaceTrace(STORE, "w", 1))):
        job, _, snapshots, _ = left_behind(settings, traces, {}, in_use=in_use)
        assert job.what == "job 8 of profile `far`, which waits in Slurm's queue"
        assert snapshots.how.startswith("only when job 8 has ended, which may need it: `ssh aws ")
