"""`config` as a verb: shows every key, and says when a change takes effect."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from scratchflow.cli.config import _changed, _shown
from scratchflow.config.keys import profile_keys
from scratchflow.config.settings import Asked, load_settings
from scratchflow.flows import config as flow
from scratchflow.flows import profiles
from tests.unit.config.written import load


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


@pytest.mark.parametrize("overrides", [(), ("slurm.cpus_per_task=3",)])
def test_show_lists_every_key_also_one_that_is_not_set(
    file: Path, overrides: tuple[str, ...]
) -> None:
    file.write_text("[profiles.a]\n")
    asked = Asked(config=str(file), overrides=overrides)
    shown = flow.show(asked, {}, lambda _: None, origin=True)
    lines = list(_shown(shown))
    for key in profile_keys():
        assert any(f"{key.rpartition('.')[2]} = " in line for line in lines)
    assert shown.values["slurm"]["cpus_per_task"] == (3 if overrides else None)
    unset = [line for line in lines if line.startswith("# cpus_per_task = (not set)")]
    assert len(unset) == (not overrides)
    assert load(file, "\n".join(lines)).profile == load_settings(asked, {}).profile


def test_variables_come_from_where_they_are_set_and_leave_other_lines_short(file: Path) -> None:
    value = "x" * 70
    file.write_text(f'[profiles.a.environment]\nvariables = {{ LONG = "{value}" }}\n')
    asked = Asked(config=str(file))
    shown = flow.show(asked, {}, lambda _: None, origin=True)
    lines = {line.split(" = ")[0]: str(line) for line in _shown(shown)}
    assert lines["variables"].endswith(f"  # {file}")
    assert len(lines["conda"]) < 60
    assert flow.get(asked, {}, "environment.variables").origin == str(file)


def test_a_change_says_when_a_running_auto_backup_takes_it_over(file: Path) -> None:
    asked = Asked(config=str(file), profile="local")
    changed = flow.change(asked, {}, lambda _: None, "backup.also", '["env"]', dry_run=False)
    assert "`scratchflow autobackup on`" in changed.takes_effect
    of_another = flow.change(
        asked, {}, lambda _: None, "profiles.gpu.backup.every", "5m", dry_run=False
    )
    assert "`scratchflow -p gpu autobackup on`" in of_another.takes_effect
    assert (
        flow.change(asked, {}, lambda _: None, "backup.also", '["env"]', dry_run=False).takes_effect
        == ""
    )
    assert flow.change(asked, {}, lambda _: None, "wait", "5m", dry_run=False).takes_effect == ""
    assert (
        "the next node"
        in flow.change(asked, {}, lambda _: None, "scratch", "/s", dry_run=False).takes_effect
    )


def test_a_change_of_the_store_says_where_the_snapshots_stay_and_how_to_bring_them(
    file: Path,
) -> None:
    file.write_text('[profiles.second]\nlogin = "aws"\nworkspace = "w 2"\n')
    asked = Asked(config=str(file))
    changed = flow.change(asked, {}, lambda _: None, "store", "/fsx/alice", dry_run=False)
    stay, bring = changed.stays
    assert "stay in `~/scratchflow/w 2`" in stay
    assert "`scratchflow -p second --set 'store=~/scratchflow' snapshots list`" in stay
    assert "snapshots copy --all --to second`" in bring
    assert stay in list(_changed(changed))
    assert flow.change(asked, {}, lambda _: None, "store", "/fsx/alice", dry_run=False).stays == []
    assert "/fsx/alice/w 2" in flow.unset(asked, {}, "store", dry_run=True).stays[0]


def test_the_way_that_brings_snapshots_along_leads_to_the_old_store(file: Path) -> None:
    file.write_text('[profiles.second]\nlogin = "aws"\nworkspace = "w"\n')
    asked = Asked(config=str(file))
    _, bring = flow.change(asked, {}, lambda _: None, "store", "/fsx/alice", dry_run=False).stays
    words = shlex.split(bring.split("`")[1])
    overrides = {"store": words[2].partition("=")[2], "workspace": words[4].partition("=")[2]}
    assert words[:2] == ["scratchflow", "--set"]
    profiles.copy(asked, {}, lambda _: None, words[-2], words[-1], overrides, dry_run=False)
    old = load_settings(Asked(config=str(file), profile="second-old"), {}).profile
    assert (old.store, old.workspace) == ("~/scratchflow", "w")


def test_another_workspace_says_where_the_snapshots_stay(file: Path) -> None:
    file.write_text('[profiles.second]\nlogin = "aws"\n')
    asked = Asked(config=str(file))
    (stay,) = flow.change(asked, {}, lambda _: None, "workspace", "thesis", dry_run=True).stays
    assert "`scratchflow -p second --set workspace=work snapshots list`" in stay
    assert flow.change(asked, {}, lambda _: None, "alias", "a", dry_run=True).stays == []
    assert (
        flow.change(asked, {}, lambda _: None, "profiles.new.store", "/x", dry_run=True).stays == []
    )
