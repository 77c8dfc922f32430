"""A task once more, for a person: its files, parameters, environment and command, beside the live workspace."""

from __future__ import annotations

import subprocess

import msgspec
import pytest

from scratchflow.model.errors.jobs import JobMissing
from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.model.requests import DebugTask
from scratchflow.model.results.jobs import DebugReady
from scratchflow.node.job.debug import one_line, prepare_debug
from tests.unit.conftest import Desk
from tests.unit.node.job.test_run import JOB, submitted

WORDS = ["a b", "new\nline", "it's", "$HOME", "\\", "é\x1b"]


def ready(desk: Desk, task: int = 0) -> DebugReady:
    return prepare_debug(desk.context, desk.notify, DebugTask(job=JOB, task=task))


def run(done: DebugReady) -> subprocess.CompletedProcess[str]:
    return subprocess.run([done.script], capture_output=True, text=True, check=False)


def test_the_task_runs_again_from_its_own_files_with_its_parameters(desk: Desk) -> None:
    script = (
        'pwd; cat README; echo "$0 $MODE $SLURM_ARRAY_TASK_ID"; cat "$SCRATCHFLOW_PARAMS"; exit 3'
    )
    tasks = [{"lr": 0.1}, {"lr": 0.01}]
    submitted(desk, "sh", "-c", script, "{lr}", tasks=tasks, variables={"MODE": "x y"})
    desk.write("work/README", "changed since")
    done = ready(desk, 1)
    assert done.directory == f"{desk.scratch}/debug/{JOB}-1/work"
    ended = run(done)
    assert ended.returncode == 3
    directory, said, words, parameters = (ended.stdout).replace("hello", "hello\n").splitlines()
    assert (directory, said, words) == (done.directory, "hello", "0.01 x y 1")
    assert msgspec.json.decode(parameters) == {"lr": 0.01}
    assert (desk.work / "README").read_text() == "changed since"


def test_what_was_tried_there_stays(desk: Desk) -> None:
    submitted(desk, "cat", "README")
    first = ready(desk)
    (desk.scratch / f"debug/{JOB}-0/work/README").write_text("mended")
    again = ready(desk)
    assert (first.is_new, again.is_new) == (True, False)
    assert run(again).stdout == "mended"


def test_every_word_is_one_of_bash_and_of_one_line(desk: Desk) -> None:
    submitted(desk, "printf", "%s|", *WORDS)
    done = ready(desk)
    assert run(done).stdout == "".join(f"{word}|" for word in WORDS)
    assert "\n" not in done.command
    assert one_line("plain") == "plain"


def test_an_interactive_bash_has_the_command_in_its_history_and_starts_there(desk: Desk) -> None:
    submitted(desk, "printf", "%s|", *WORDS)
    done = ready(desk)
    argv = ["bash", "--rcfile", done.bashrc, "-i"]
    asked = "pwd; history | cat; exit\n"
    shell = subprocess.run(argv, input=asked, capture_output=True, text=True, check=False)
    lines = shell.stdout.splitlines()
    assert done.directory in lines
    assert f"1  {done.command}" in [line.strip() for line in lines]


def test_a_file_in_the_way_is_named(desk: Desk) -> None:
    submitted(desk, "true")
    desk.write("debug", "a file")
    with pytest.raises(WorkspaceFailed, match="Not a directory"):
        ready(desk)


def test_without_a_record_there_is_nothing_to_debug(desk: Desk) -> None:
    with pytest.raises(JobMissing):
        ready(desk)
