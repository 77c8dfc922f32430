"""`run` where there is no cluster: the command takes the place of the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.flows.run import run as module
from scratchflow.flows.run.foreground import Foreground
from scratchflow.flows.run.start import Wanted
from scratchflow.model.events import Answered, Asking, Progress, Warned
from scratchflow.model.requests import RunAt
from scratchflow.model.results.run import RunCarrier, RunPlace, RunWindow
from tests.unit.flows.told import ToldCluster, give


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "SLURM" not in name}
    places = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "STATE")}
    (tmp_path / "DATA/scratchflow/scratch/work/src").mkdir(parents=True)
    return {**kept, **places, "HOME": str(tmp_path)}


def run(
    environment: dict[str, str], *words: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-m", "scratchflow", "run", *words]
    return subprocess.run(argv, env=environment, input=stdin, capture_output=True, check=False)


@pytest.mark.slow
def test_directory_words_input_and_code_are_the_commands_own(
    environment: dict[str, str], tmp_path: Path
) -> None:
    script = 'pwd; cat; printf "%s|" "$@"; echo err >&2; exit 7'
    done = run(
        environment, "--cwd", "src", "--", "sh", "-c", script, "sh", "a b", "-n", stdin=b"in\n"
    )
    work = tmp_path / "DATA/scratchflow/scratch/work/src"
    assert (done.returncode, done.stdout) == (7, f"{work}\nin\na b|-n|".encode())
    assert done.stderr.splitlines()[-1] == b"err"


def test_a_signal_is_the_commands_own(environment: dict[str, str]) -> None:
    assert run(environment, "--", "sh", "-c", "kill -9 $$").returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_missing_directory_is_an_error(environment: dict[str, str]) -> None:
    done = run(environment, "--cwd", "none", "--", "true")
    assert done.returncode == 30
    assert b"there is no directory" in done.stderr


def test_json_is_refused_before_anything_runs(environment: dict[str, str]) -> None:
    done = run(environment, "--json", "--", "echo", "ran")
    assert done.returncode == 2
    assert b"ran" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "next_step"),
    [
        (["shell"], "run -- bash -l` does without"),
        (["run", "--pty", "--", "cat"], "leave it out here"),
    ],
)
def test_what_needs_a_terminal_is_refused_without_one_before_anything_is_asked(
    environment: dict[str, str], tmp_path: Path, words: list[str], next_step: str
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[profiles.there]\nlogin = "nobody.invalid"\nstore = "~/store"\n')
    argv = [sys.executable, "-m", "scratchflow", "--config", str(config), *words]
    done = subprocess.run(argv, env=environment, input=b"", capture_output=True, check=False)
    assert done.returncode == 2
    assert next_step in " ".join(done.stderr.decode().split())


@pytest.mark.parametrize(("is_old", "next_step"), [(True, "up"), (False, "restore")])
def test_work_in_a_copy_that_is_not_the_newest_is_warned_of_once_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_old: bool, next_step: str
) -> None:
    carrier = RunCarrier(job_id=7, node="node-1", argv=[], terminal_argv=[])
    place = RunPlace(directory="/s/work", base="a", newest="b", is_old=is_old)
    answers = {"run carrier": carrier, "run place": place}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers, profile='login = "local"'))
    window = RunWindow(session="s", window="w", host="h")
    monkeypatch.setattr(module, "leave", lambda *_: window)
    wanted = Wanted(command=("make",), detach=True)
    assert module.run(cluster.caller, cluster.emit, wanted).window == window
    (warning,) = cluster.told
    assert isinstance(warning, Warned)
    assert warning.code == "workspace.behind"
    assert f"from snapshot a, and the newest is b: `scratchflow {next_step}`" in warning.message


def test_a_shell_is_announced_and_has_the_terminal_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = RunCarrier(job_id=7, node="node-1", argv=[], terminal_argv=[])
    answers = {"run carrier": carrier, "run place": RunPlace(directory="/s/work")}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers, profile='login = "local"'))
    monkeypatch.setattr(module, "_require_terminal", lambda _: None)
    monkeypatch.setattr(Foreground, "code", lambda _: 3)
    assert module.run(cluster.caller, cluster.emit, Wanted(terminal=True)).code == 3
    assert cluster.told == [Progress(phase="connecting to the node"), Asking(), Answered()]
    cluster.told.clear()
    module.run(cluster.caller, cluster.emit, Wanted(command=("make",)))
    assert cluster.told == [Asking(), Answered()]
    asked = [request for do, request, _ in cluster.asked if do == "run place"]
    assert asked == [RunAt(for_shell=True), RunAt()]
