"""Every operation in the table is a function that exists and takes what the table says it takes."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.dispatch.operations import (
    ON_LOGIN,
    ON_NODE,
    OnLogin,
    OnNode,
    do_here,
    function_of,
)
from scratchflow.login.host import LoginHost
from scratchflow.model import requests
from scratchflow.model.errors.jobs import JobMissing
from scratchflow.model.errors.store import StoreLost
from scratchflow.model.errors.workspace import ScratchClosed
from scratchflow.model.results.by_op import result_of
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.directory import find_place
from scratchflow.store.known import note_store


@pytest.mark.parametrize("do", [*ON_NODE, *ON_LOGIN])
def test_it_takes_its_arguments_last_and_gives_its_result(do: str) -> None:
    operation: OnNode | OnLogin = ON_NODE.get(do) or ON_LOGIN[do]
    function = function_of(operation)
    first = [NodeContext, Notifier] if isinstance(operation, OnNode) else [LoginHost]
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())
    wanted, further = parameters[: len(first) + 1], parameters[len(first) + 1 :]
    assert [hints[one.name] for one in wanted] == [*first, operation.arguments]
    assert all(one.default is not inspect.Parameter.empty for one in further)
    assert hints["return"] is result_of(do)


def test_no_operation_is_both_the_nodes_and_the_login_hosts() -> None:
    assert not ON_NODE.keys() & ON_LOGIN.keys()


@pytest.mark.slow
def test_reading_the_table_loads_nothing_that_does_the_work() -> None:
    program = (
        "import sys, scratchflow.dispatch.operations\n"
        "rooms = ('node', 'login', 'reach', 'agent', 'cluster', 'ssh', 'store', 'archive')\n"
        "print(*(name for name in sys.modules if name.split('.')[1:2] in [[room] for room in rooms]"
        " and name.startswith('scratchflow.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("do", "asked"),
    [
        ("snapshots list", requests.Nothing()),
        ("snapshots verify", requests.Verify()),
        ("snapshots prune", requests.Prune(dry_run=True)),
        ("snapshots show", requests.Show(snapshot="latest")),
        ("snapshots cat", requests.Cat(path="a")),
        ("snapshots history", requests.History(path="a")),
        ("restore", requests.Restore(dry_run=True)),
        ("autobackup status", requests.Nothing()),
    ],
)
def test_a_store_that_is_away_is_not_told_as_one_without_snapshots(
    do: str, asked: requests.Arguments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    config = tmp_path / "config.toml"
    config.write_text(
        f'[profiles.a]\nscheduler = "none"\nscratch = "{tmp_path}/scratch"\nstore = "{tmp_path}/store"\n'
    )
    settings = load_settings(Asked(config=str(config), profile="a"), {})
    (tmp_path / "scratch/work").mkdir(parents=True)
    place = find_place(tmp_path / "store", "work")
    note_store(tmp_path / "home", place, "an id")
    with pytest.raises(StoreLost, match="was there before"):
        do_here(do, settings, asked, lambda _: None)


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """A profile whose scratch is the user's own and closed to everybody."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    config = tmp_path / "config.toml"
    config.write_text(
        f'[profiles.a]\nscheduler = "none"\nscratch = "{tmp_path}/scratch"\nstore = "{tmp_path}/store"\n'
    )
    scratch = tmp_path / "scratch"
    (scratch / "work").mkdir(parents=True)
    scratch.chmod(0)
    yield load_settings(Asked(config=str(config), profile="a"), {})
    scratch.chmod(0o700)


@pytest.mark.parametrize(
    ("do", "asked"),
    [
        ("backup", requests.Backup()),
        ("create", requests.Create()),
        ("settle", requests.Settle()),
        ("restore", requests.Restore()),
    ],
)
def test_a_scratch_that_the_user_has_closed_is_told_with_what_opens_it(
    do: str, asked: requests.Arguments, closed: Settings
) -> None:
    with pytest.raises(ScratchClosed) as caught:
        do_here(do, closed, asked, lambda _: None)
    assert f"chmod u+rwx {closed.profile.scratch}" in caught.value.shown_hint


def test_a_job_opens_the_scratch_that_another_jobs_command_has_closed(closed: Settings) -> None:
    with pytest.raises(JobMissing):
        do_here("job run", closed, requests.RunJob(job="20261115T093000Z-abcdef"), lambda _: None)
    assert Path(closed.profile.scratch).stat().st_mode & 0o777 == 0o700
