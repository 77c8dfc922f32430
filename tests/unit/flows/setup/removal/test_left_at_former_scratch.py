"""A copy where `scratch` was before it was changed is named, with a command unless a profile may still have it."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.removal.traces import WorkspaceTrace
from scratchflow.model.results.setup import LeftBehind
from tests.unit.flows.setup.removal.conftest import STORE, found, left


def shown(settings: Settings, *copies: tuple[str, str], scratch: str = "") -> list[LeftBehind]:
    profile = msgspec.structs.replace(settings.profile, scratch=scratch or settings.profile.scratch)
    settings = msgspec.structs.replace(settings, profile=profile)
    traces = found(WorkspaceTrace(STORE, "w", 2, ("n1",), copies=copies))
    return [one for one in left(settings, traces) if "former" in one.what]


def test_it_is_named_with_its_nodes_and_what_removes_it(settings: Settings) -> None:
    (one,) = shown(settings, ("n1", "/scratch/ada/b/w"), ("n2", "/scratch/ada/b/w"))
    assert one.what.startswith("/scratch/ada/b/w, a copy of the workspace")
    assert one.what.endswith("on n1, n2")
    assert "`rm -rf /scratch/ada/b/w /scratch/ada/b/.scratchflow/w` in a job on each" in one.how


@pytest.mark.parametrize(
    "scratch", ["/scratch/ada", "/scratch/$USER", "/scratch/${USER}/", "$TMPDIR", "$X/ada"]
)
def test_what_may_be_the_present_place_is_not(settings: Settings, scratch: str) -> None:
    assert shown(settings, ("n1", "/scratch/ada/w"), scratch=scratch) == []


def test_nor_is_a_path_that_is_no_workspace_of_that_name(settings: Settings) -> None:
    assert shown(settings, ("n1", "/home/ada"), ("n1", "/home/ada/other")) == []


def test_one_that_another_profile_has_by_now_is_still_used(settings: Settings) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 2, ("n1",), copies=(("n1", "/data/b/w"),)))
    other = msgspec.structs.replace(settings.profile, scratch="/data", workspace="b")
    (one,) = (one for one in left(settings, traces, second=other) if "former" in one.what)
    assert one.how.startswith("still used by profile `second`")
    same = msgspec.structs.replace(settings.profile, scratch="/data/b")
    assert not [one for one in left(settings, traces, second=same) if "former" in one.what]
