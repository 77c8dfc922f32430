"""A verb that may be done elsewhere parses without doing anything, and runs with what was typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.verbs import parse
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.results.backup import BackupTaken


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    places = f'scratch = "{tmp_path}/scratch"\nstore = "{tmp_path}/store"\n'
    file.write_text(f'[profiles.here]\nscheduler = "none"\n{places}[profiles.other]\n{places}')
    return file


def test_parsing_reads_no_configuration_and_touches_nothing(tmp_path: Path) -> None:
    call = parse(["backup", "--config", str(tmp_path / "gone.toml")])
    assert call.op == "backup"
    assert list(tmp_path.iterdir()) == []


def test_what_was_typed_reaches_where_the_workspace_is(config: Path, tmp_path: Path) -> None:
    arguments = ["backup", "-m", "by hand", "-p", "here", "--config", str(config)]
    with pytest.raises(WorkspaceMissing):
        parse(arguments).flow(lambda _: None)
    (tmp_path / "scratch/work").mkdir(parents=True, mode=0o700)
    (tmp_path / "scratch").chmod(0o700)
    (tmp_path / "scratch/work/file").write_text("x")
    call = parse(arguments)
    taken = call.flow(lambda _: None)
    assert isinstance(taken, BackupTaken)
    assert taken.files == 1
    assert any(str(taken.snapshot)[-6:] in line for line in call.show(taken))


def test_a_verb_of_the_cluster_is_the_login_hosts(config: Path) -> None:
    call = parse(["nodes", "-p", "here", "--config", str(config)])
    assert call.op == "nodes"
    with pytest.raises(SchedulerMissing):
        call.flow(lambda _: None)
