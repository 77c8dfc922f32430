"""What nodes still have is named by their names, and no command removes what another profile uses."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.removal.left_behind import left_behind
from scratchflow.flows.setup.removal.traces import WorkspaceTrace
from scratchflow.model.profile import Profile, decode_duration, to_plain
from scratchflow.model.results.setup import LeftBehind
from tests.unit.flows.setup.removal.conftest import STORE, commands, found, left


def _of_copies(shown: list[LeftBehind]) -> list[LeftBehind]:
    return [one for one in shown if one.what.startswith("copies of the workspace")]


def test_copies_come_before_the_snapshots_without_which_nobody_knows_them(
    settings: Settings,
) -> None:
    shown = left(settings, found(WorkspaceTrace(STORE, "w", 2, ("n1",), jobs=1)))
    whats = [one.what for one in shown]
    (snapshots,) = (number for number, what in enumerate(whats) if what.startswith("2 snapshots"))
    copies = [number for number, what in enumerate(whats) if what.startswith("copies of")]
    assert copies
    assert max(copies) < snapshots
    assert "what no snapshot has, as on a node that failed" in shown[copies[0]].how


def test_copies_and_our_notes_are_named_by_their_nodes(settings: Settings) -> None:
    first = WorkspaceTrace(STORE, "w", 2, ("n1", "n3"))
    second = WorkspaceTrace(STORE, "p2", 2, ("n2", "n1"))
    shown = left(settings, found(first, second, WorkspaceTrace(STORE, "never", 1)))
    (copies,) = _of_copies(shown)
    assert copies.what.endswith("n1, n2, n3")
    assert "`rm -rf /scratch/ada/w /scratch/ada/p2 /scratch/ada/.scratchflow`" in copies.how


@pytest.mark.parametrize(
    ("keys", "paths"),
    [
        ({"environment": {"venv": "env"}, "backup": {"also": ["env", "data"]}}, ["env", "data"]),
        ({"environment": {"conda": "./env"}}, ["env"]),
        ({"environment": {"venv": "/scratch/ada/env"}}, ["env"]),
    ],
)
def test_environments_and_what_is_saved_with_the_workspace_are_removed_with_the_copies(
    settings: Settings, keys: dict[str, Any], paths: list[str]
) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 2, ("n1",)))
    shown = left(_with(settings, **keys), traces)
    (copies,) = _of_copies(shown)
    words = " ".join(f"/scratch/ada/{name}" for name in ("w", *paths, ".scratchflow"))
    assert f"`rm -rf {words}` in a job on each" in copies.how
    assert all(f", /scratch/ada/{name}" in copies.what for name in paths)
    assert not any("if `create --env`" in one.what for one in shown)


def test_an_environment_that_the_profile_does_not_name_is_told_apart(settings: Settings) -> None:
    keys = {"environment": {"venv": "~/env", "conda": "torch"}, "backup": {"also": ["$X/y"]}}
    traces = found(WorkspaceTrace(STORE, "w", 2, ("n1",)))
    _, made, copies, _ = left(_with(settings, **keys), traces)
    assert "/scratch/ada/env on n1, if `create --env` made" in made.what
    assert made.how.startswith("`rm -rf /scratch/ada/env` in a job on each")
    assert "`rm -rf /scratch/ada/w /scratch/ada/.scratchflow`" in copies.how


def test_an_environment_that_another_profile_uses_is_not_removed(settings: Settings) -> None:
    ours = _with(settings, environment={"venv": "env"})
    mini = _with(ours, workspace="work").profile
    traces = found(WorkspaceTrace(STORE, "w", 2, ("n1",)))
    _, env, copies, _ = left(ours, traces, mini=mini)
    assert env.what == "/scratch/ada/env on the scratch of n1"
    assert env.how.startswith("still used by profile `mini`")
    assert "`rm -rf /scratch/ada/w /scratch/ada/.scratchflow/w`" in copies.how
    (every,) = _of_copies(left_behind(settings, traces, {"mini": mini}, all_profiles=True))
    assert "`rm -rf /scratch/ada/w /scratch/ada/env /scratch/ada/.scratchflow`" in every.how


def test_copies_that_jobs_may_have_left_are_named_when_there_were_jobs(settings: Settings) -> None:
    shown = left(settings, found(WorkspaceTrace(STORE, "w", 2, ("n1",), jobs=3)))
    (copies,) = (one for one in shown if one.what.startswith("copies of jobs"))
    assert copies.what.startswith("copies of jobs on scratch, if any: of `jobs debug`")
    assert "`rm -rf /scratch/ada/jobs /scratch/ada/debug` in a job there" in copies.how
    without = left(settings, found(WorkspaceTrace(STORE, "w", 2, ("n1",))))
    assert not [one for one in without if "copies of jobs" in one.what]


def test_a_workspace_of_no_profile_is_removed_only_if_no_other_profile_uses_it(
    settings: Settings,
) -> None:
    """`--set workspace=p2` works with each profile of that store and scratch."""
    mini = msgspec.structs.replace(settings.profile, workspace="work")
    traces = found(WorkspaceTrace(STORE, "p2", 2, ("n1",)), WorkspaceTrace(STORE, "w", 1, ("n1",)))
    doubt = "only if profile `mini` does not use it: "
    shown = [one.how for one in left(settings, traces, mini=mini) if "rm -rf" in one.how]
    assert [how.startswith(doubt) for how in shown] == [True, True, False, True, False]
    assert "`rm -rf /scratch/ada/p2 /scratch/ada/.scratchflow/p2`" in shown[0]
    assert "`rm -rf /scratch/ada/env`" in shown[1]
    assert "`rm -rf /scratch/ada/w /scratch/ada/.scratchflow/w`" in shown[2]
    assert "only if" not in commands(left(settings, traces))


def test_of_all_profiles_the_copies_on_a_scratch_of_their_own_are_named(settings: Settings) -> None:
    other = msgspec.structs.replace(settings.profile, store="/fsx/other", scratch="/scratch/ada/b")
    away = msgspec.structs.replace(other, login="far", scratch="/else")
    traces = found(
        WorkspaceTrace(STORE, "w", 1, ("n1",)),
        WorkspaceTrace("/fsx/other", "w", 3, ("n2",), jobs=1),
    )
    others = {"other": other, "away": away}
    every = left_behind(settings, traces, others, all_profiles=True)
    (copies,) = [one for one in every if "/scratch/ada/b/w" in one.how]
    assert copies.what == "copies of the workspace and our notes on the scratch of n2"
    assert "`rm -rf /scratch/ada/b/w /scratch/ada/b/.scratchflow` in a job on each" in copies.how
    assert any("/scratch/ada/b/jobs" in one.how for one in every)
    assert "/else" not in commands(every)
    assert "/scratch/ada/b" not in commands(left(settings, traces, other=other))


@pytest.mark.parametrize(
    ("theirs", "is_used"),
    [
        ({"scratch": "/scratch/$USER"}, True),
        ({"scratch": "/scratch/${USER}/"}, True),
        ({"scratch": "$SCRATCH"}, True),
        ({"scratch": "/scratch", "workspace": "ada"}, True),
        ({"scratch": "/other", "backup": {"also": ["data"]}}, False),
        ({"workspace": "x", "backup": {"also": ["w/data"]}}, True),
        ({"workspace": "x", "environment": {"venv": "./w/env"}}, True),
        ({"workspace": "x", "environment": {"venv": "/scratch/$USER/w"}}, True),
        ({"workspace": "x", "environment": {"venv": "~/w", "conda": "w"}}, False),
        ({"workspace": "w2"}, False),
        ({"scratch": "~/w"}, False),
        ({"login": "lab"}, False),
    ],
)
def test_a_place_that_may_be_another_profiles_is_not_removed(
    settings: Settings, theirs: dict[str, Any], is_used: bool
) -> None:
    plain = {"login": "aws", "store": "/else", "scratch": "/scratch/ada", "workspace": "w"}
    other = msgspec.convert({**plain, **theirs}, Profile)
    shown = left(settings, found(WorkspaceTrace(STORE, "w", 1, ("n1",))), other=other)
    assert ("rm -rf /scratch/ada/w " not in commands(shown)) == is_used


def _with(settings: Settings, **keys: Any) -> Settings:
    profile = msgspec.convert(
        {**to_plain(settings.profile), **keys}, Profile, dec_hook=decode_duration
    )
    return msgspec.structs.replace(settings, profile=profile)
