"""Every command that asks, in a real terminal: the question is in sight, and no bar draws over it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.ssh.config import include
from scratchflow.ssh.config.paths import SshPaths
from tests.terminal import ENTER, LARGE, SMALL, Terminal

ROOT = Path(__file__).resolve().parents[3]
SIZES = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x40"])


class Desk:
    """The real program with a home of its own, and a workspace with two snapshots."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        self.work = home / ".local/share/scratchflow/scratch/work"
        self.work.mkdir(parents=True)
        for number in range(10):
            (self.work / str(number)).write_text("x")
        self.run("backup", "-m", "first")
        (self.work / "more").write_text("x")
        self.run("backup")

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "scratchflow", *arguments]

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            self.argv(*arguments),
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def terminal(self, size: tuple[int, int], *arguments: str) -> Terminal:
        return Terminal(self.argv(*arguments), self.environment, size=size, cwd=ROOT)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@SIZES
def test_backup_of_a_workspace_that_shrank(desk: Desk, size: tuple[int, int]) -> None:
    for number in range(10):
        (desk.work / str(number)).unlink()
    with desk.terminal(size, "backup") as terminal:
        terminal.wait_for_question("[y/N]:")
        terminal.press(f"n{ENTER}")
        assert terminal.end() == 36


@SIZES
def test_prune_of_a_snapshot_by_its_id(desk: Desk, size: tuple[int, int]) -> None:
    with desk.terminal(size, "snapshots", "prune", "latest") as terminal:
        shown = terminal.wait_for_question("Sure? [y/N]:")
        assert any("Remove for good" in row for row in shown)
        terminal.press(ENTER)
        assert terminal.end() == 2


@SIZES
def test_a_wrong_answer_is_asked_for_again_in_our_own_words(
    desk: Desk, size: tuple[int, int]
) -> None:
    config = desk.home / "config.toml"
    config.write_text('[profiles.a]\nscheduler = "none"\n')
    arguments = ("profiles", "remove", "a", "--config", str(config))
    with desk.terminal(size, *arguments) as terminal:
        terminal.wait_for_question("Remove profile `a`? Its snapshots and workspaces stay. [y/N]:")
        terminal.press(f"maybe{ENTER}")
        terminal.wait_for("answer `y` or `n`")
        terminal.press(f"y{ENTER}")
        assert terminal.end() == 0
        assert "Error" not in terminal.text
    assert "profiles" not in config.read_text()


@SIZES
def test_setup_remove(desk: Desk, size: tuple[int, int]) -> None:
    config = desk.home / ".ssh/config"
    config.parent.mkdir(mode=0o700)
    config.write_text("Host uni\n")
    config.chmod(0o600)
    include.apply(include.plan_install(SshPaths.of(config)))
    with desk.terminal(size, "setup", "--remove") as terminal:
        terminal.wait_for_question("Remove this? [y/N]:")
        terminal.press(f"y{ENTER}")
        assert terminal.end() == 0
    assert config.read_text() == "Host uni\n"


@SIZES
def test_config_import(desk: Desk, size: tuple[int, int]) -> None:
    source = desk.home / "config.yaml"
    source.write_text("contexts:\n  lab: {slurm_url: me@lab, neptune: true, partition: gpu}\n")
    with desk.terminal(size, "config", "import", str(source)) as terminal:
        shown = terminal.wait_for_question("Add this? [Y/n]:")
        assert any("not taken: scratchflow does not work with neptune" in row for row in shown)
        assert any('+partition = "gpu"' in row for row in shown)
        terminal.press(ENTER)
        assert terminal.end() == 0
    assert desk.run("config", "get", "login") == "me@lab\n"
