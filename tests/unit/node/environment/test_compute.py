"""A layer that fails is named with the tool's own words; what a profile prints or leaves running is not."""

from __future__ import annotations

import os
import pwd
import signal
from pathlib import Path
from typing import Any

import pytest

from scratchflow.model.errors.run import LayerFailed
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.node.environment.compute import compute
from tests.unit.node.environment.node_home import CONDA_PROGRAM, MODULE_PROGRAM, NodeHome

_FAILING = [
    ({"modules": ["gcc/12", "nosuch"]}, "environment.modules", "nosuch", "are unknown"),
    ({"after_modules": "nosuchcommand x"}, "environment.after_modules", "nosuchcommand x", "command not found"),
    ({"after_modules": "echo no licence >&2; exit 3"}, "environment.after_modules", "exit 3", "no licence"),
    ({"conda": "nosuch"}, "environment.conda", "nosuch", "EnvironmentNameNotFound"),
    ({"venv": "nosuch"}, "environment.venv", "nosuch", "nosuch/bin/activate: No such file"),
    ({"variables": {"UID": "7"}}, "environment.variables", "UID", "readonly variable"),
    ({"prologue": "sh -c 'exit 5'"}, "environment.prologue", "exit 5", "exit code 5"),
    ({"prologue": "echo it isn't"}, "environment.prologue", "isn't", "unexpected EOF"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "layer", "name", "words"), _FAILING)
def test_a_failing_layer_gives_exit_code_40_with_its_words(
    at_node: NodeHome, options: dict[str, Any], layer: str, name: str, words: str
) -> None:
    program = at_node.tool("lmod", MODULE_PROGRAM)
    at_node.tool("conda", CONDA_PROGRAM)
    at_node.profile(f"export LMOD_CMD={program}; echo 'Welcome to the cluster'")
    with pytest.raises(LayerFailed) as failed:
        at_node.change(**options)
    error = failed.value
    assert error.exit_code == 40
    assert error.fields["layer"] == layer
    assert name in error.fields["name"]
    assert words in error.fields["words"]
    assert "Welcome" not in str(error)
    assert "/script" not in error.fields["words"]  # the file that bash ran
    assert error.shown_hint


def test_without_a_module_command_it_says_so(at_node: NodeHome) -> None:
    if any(Path(path).exists() for path in ("/usr/share/lmod", "/usr/share/modules")):
        pytest.skip("this machine has a module command")
    with pytest.raises(LayerFailed, match="there is no `module` command") as caught:
        at_node.change(modules=["gcc/12"])
    assert "`scratchflow config unset environment.modules`" in caught.value.shown_hint


def test_without_any_conda_it_says_so(at_node: NodeHome) -> None:
    with pytest.raises(LayerFailed, match="there is no conda, mamba or micromamba") as caught:
        at_node.change(conda="torch")
    assert "`environment.modules`" in caught.value.shown_hint


def test_a_profile_that_ends_the_shell_is_told_as_such(at_node: NodeHome) -> None:
    at_node.profile("echo maintenance; exit 1")
    with pytest.raises(LayerFailed, match=r"`login shell` failed on node-1.*maintenance"):
        at_node.change(variables={"X": "1"})


def test_what_a_profile_leaves_running_is_not_waited_for(at_node: NodeHome) -> None:
    pid = at_node.home / "pid"
    at_node.profile(f"sleep 1000 & echo $! > {pid}")
    try:
        assert at_node.values(variables={"X": "1"})["X"] == "1"
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


@pytest.mark.slow
def test_what_a_line_leaves_running_ends_with_it(at_node: NodeHome) -> None:
    pids = at_node.home / "pids"
    left = f"(while :; do sleep 1000; done) & echo $! > {pids}; sleep 1000 & echo $! >> {pids}"
    assert at_node.values(variables={"X": "1"}, prologue=left)["X"] == "1"
    assert [pid for pid in pids.read_text().split() if is_running(int(pid))] == []


@pytest.mark.slow
def test_what_a_failing_line_leaves_running_ends_too(at_node: NodeHome) -> None:
    pid = at_node.home / "pid"
    with pytest.raises(LayerFailed):
        at_node.change(prologue=f"sleep 1000 & echo $! > {pid}; false")
    assert not is_running(int(pid.read_text()))


def is_running(pid: int) -> bool:
    """Not one that only waits to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
def test_a_line_that_never_ends_is_ended(at_node: NodeHome) -> None:
    options = EnvironmentOptions(prologue="sleep 1000")
    with pytest.raises(LayerFailed, match=r"environment.prologue.*did not end within 0.5 s"):
        compute(options, at_node.scratch, at_node.base, node="n", limit_s=0.5)


def test_values_with_newlines_and_odd_bytes_come_through(at_node: NodeHome) -> None:
    found = at_node.values(prologue=r"export LINES_OF=$'a\nb=c\n' RAW=$'\xff'; unset USER")
    assert (found["LINES_OF"], found["RAW"]) == ("a\nb=c\n", "\udcff")
    assert "USER" not in found


def test_a_step_without_the_user_s_name_gets_it(at_node: NodeHome) -> None:
    options = EnvironmentOptions(variables={"CCACHE_DIR": "/c/$USER"})
    base = {name: value for name, value in at_node.base.items() if name != "USER"}
    change = compute(options, at_node.scratch, base, node="n")
    assert change.values["CCACHE_DIR"] == f"/c/{pwd.getpwuid(os.getuid()).pw_name}"


def test_the_prompt_of_activate_is_no_variable_of_a_command(at_node: NodeHome) -> None:
    at_node.venv("env")
    at_node.profile("export PROMPT_COMMAND=date PS2=more")
    names = {"PS1", "PS2", "PROMPT_COMMAND"}
    assert not names & at_node.values(venv="env").keys()
    change = compute(
        EnvironmentOptions(venv="env"), at_node.scratch, {**at_node.base, "PS1": "$ "}, node="n"
    )
    assert not names & {*change.values, *change.removed}


def test_a_prompt_that_the_profile_sets_is_kept(at_node: NodeHome) -> None:
    assert at_node.values(variables={"PS1": "node> "})["PS1"] == "node> "
