"""`config` as a verb: shows every key, and says when a change takes effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.config import _shown
from scratchflow.config.keys import profile_keys
from scratchflow.config.settings import Asked, load_settings
from scratchflow.flows import config as flow
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


def test_a_change_says_when_a_running_auto_backup_takes_it_over(file: Path) -> None:
    asked = Asked(config=str(file), profile="local")
    changed = flow.change(asked, {}, "backup.also", '["env"]', dry_run=False)
    assert "`scratchflow autobackup on`" in changed.takes_effect
    of_another = flow.change(asked, {}, "profiles.gpu.backup.every", "5m", dry_run=False)
    assert "`scratchflow -p gpu autobackup on`" in of_another.takes_effect
    assert flow.change(asked, {}, "backup.also", '["env"]', dry_run=False).takes_effect == ""
    assert flow.change(asked, {}, "wait", "5m", dry_run=False).takes_effect == ""
