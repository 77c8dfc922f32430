"""Each layer in a real bash: its effect, its order, and that no value is read as shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.errors.run import LayerFailed
from tests.unit.node.environment.node_home import CONDA_PROGRAM, MODULE_PROGRAM, NodeHome

_LMOD = 'module() { eval "$("$LMOD_CMD" bash "$@")"; }; export -f module'


def test_every_layer_applies_in_the_order_of_the_table(at_node: NodeHome) -> None:
    program = at_node.tool("lmod", MODULE_PROGRAM)
    at_node.profile(f"export LMOD_CMD={program}; {_LMOD}")
    at_node.tool("conda", CONDA_PROGRAM)
    venv = at_node.venv("env")
    with (venv / "bin/activate").open("a") as activate:
        activate.write('\nexport ORDER="${ORDER}e"\n')
    found = at_node.values(
        modules=["gcc/12"],
        after_modules='export ORDER="${ORDER}a"',
        conda="torch",
        venv="env",
        variables={"ORDER": "${ORDER}v", "CCACHE_DIR": "/tmp/$USER/ccache"},
        prologue='export ORDER="${ORDER}p"',
    )
    assert found["ORDER"] == "macevp"
    assert (found["CC"], found["CONDA_PREFIX"]) == ("gcc-12", "torch")
    assert found["VIRTUAL_ENV"] == str(venv)
    assert found["PATH"].startswith(f"{venv}/bin:")
    assert found["CCACHE_DIR"] == "/tmp/ada/ccache"
    assert found["BASH_FUNC_module%%"].startswith("() {")


def test_without_the_function_lmod_s_program_is_called(at_node: NodeHome) -> None:
    program = at_node.tool("lmod", MODULE_PROGRAM)
    at_node.profile(f"export LMOD_CMD={program}")
    assert at_node.values(modules=["gcc/12"])["CC"] == "gcc-12"


def test_without_the_function_tcl_s_own_init_file_is_read(at_node: NodeHome) -> None:
    program = at_node.tool("modulecmd", MODULE_PROGRAM)
    init = at_node.tools / "init"
    init.mkdir()
    (init / "bash").write_text(f'module() {{ eval "$({program} bash "$@")"; }}\n')
    at_node.profile(f"export MODULESHOME={at_node.tools}")
    assert at_node.values(modules=["gcc/12"])["CC"] == "gcc-12"


@pytest.mark.parametrize("package", ["/usr/share/lmod/lmod", "/usr/share/modules"])
def test_a_real_module_command_loads_and_says_what_it_does_not_know(
    at_node: NodeHome, package: str
) -> None:
    if not Path(package, "init/bash").exists():
        pytest.skip(f"this machine has no {package}")
    files = at_node.home / "modulefiles/hello"
    files.mkdir(parents=True)
    (files / "1.0").write_text("#%Module1.0\nsetenv HELLO 1\nprepend-path PATH /opt/hello\n")
    at_node.profile(f"export MODULESHOME={package} MODULEPATH={files.parent}")
    found = at_node.values(modules=["hello/1.0"])
    assert (found["HELLO"], found["LOADEDMODULES"]) == ("1", "hello/1.0")
    assert found["PATH"].startswith("/opt/hello:")
    with pytest.raises(LayerFailed, match=r"nosuch/2`: .*nosuch/2"):
        at_node.change(modules=["hello/1.0", "nosuch/2"])


def test_an_old_tcl_module_that_fails_with_exit_code_0_has_failed(at_node: NodeHome) -> None:
    program = at_node.tool("modulecmd", MODULE_PROGRAM)
    at_node.profile(f'module() {{ eval "$({program} bash "$@")"; }}')
    with pytest.raises(LayerFailed, match="Unable to locate a modulefile"):
        at_node.change(modules=["quiet"])


@pytest.mark.parametrize("name", ["conda", "micromamba"])
def test_conda_is_found_by_each_of_its_names_and_takes_a_prefix(
    at_node: NodeHome, name: str
) -> None:
    at_node.tool(name, CONDA_PROGRAM)
    found = at_node.values(conda="$HOME/envs/my torch")
    assert found["CONDA_PREFIX"] == f"{at_node.home}/envs/my torch"
    assert found["WITH"] == name


def test_conda_in_a_usual_place_needs_no_path(at_node: NodeHome) -> None:
    place = at_node.home / "miniforge3/bin"
    place.mkdir(parents=True)
    at_node.tool("conda", CONDA_PROGRAM).rename(place / "conda")
    assert at_node.values(conda="torch")["CONDA_PREFIX"] == "torch"
    beneath = at_node.values(conda="./env")["CONDA_PREFIX"]
    assert beneath == f"{at_node.scratch}/./env"


def test_an_environment_that_the_first_tool_does_not_know_is_looked_for_by_the_next(
    at_node: NodeHome,
) -> None:
    at_node.tool("conda", CONDA_PROGRAM.replace('"torch"*', '"other"*'))
    at_node.tool("micromamba", CONDA_PROGRAM)
    assert at_node.values(conda="torch")["WITH"] == "micromamba"


def test_variables_keep_every_character_and_run_nothing(at_node: NodeHome, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    hostile = f"`touch {canary}` $(touch {canary}); 'a' \"b\" \\ * ? # $$HOME $ ${{USER}}$"
    found = at_node.values(variables={"X": hostile, "EMPTY": "", "HERE": "~/x"})
    assert found["X"] == hostile.replace("$$", "$", 1).replace("${USER}", "ada")
    assert (found["EMPTY"], found["HERE"]) == ("", f"{at_node.home}/x")
    assert not canary.exists()


def test_names_of_modules_and_environments_run_nothing(at_node: NodeHome, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    hostile = f"$(touch {canary}); `touch {canary}`'\""
    at_node.profile("module() { return 1; }")
    at_node.tool("conda", CONDA_PROGRAM)
    for layer in ({"modules": [hostile]}, {"conda": hostile}, {"venv": hostile}):
        with pytest.raises(LayerFailed):
            at_node.change(**layer)
    assert not canary.exists()


def test_a_variable_made_of_one_that_is_not_set_is_refused_by_name(at_node: NodeHome) -> None:
    with pytest.raises(LayerFailed, match=r"CCACHE_DIR.*\$SLURM_TMPDIR is not set"):
        at_node.change(variables={"CCACHE_DIR": "$SLURM_TMPDIR/ccache"})


def test_a_declared_export_of_a_line_lasts(at_node: NodeHome) -> None:
    assert at_node.values(after_modules="declare -x KEPT=1")["KEPT"] == "1"


def test_odd_shell_options_of_a_profile_change_nothing(at_node: NodeHome) -> None:
    at_node.profile("set -a -e -u -f -C; shopt -s nocasematch failglob")
    change = at_node.change(variables={"X": "1"}, prologue="false; echo $UNSET_NAME; true")
    assert change.values["X"] == "1"
    assert not [name for name in change.values if "scratchflow" in name]
    with pytest.raises(LayerFailed) as failed:
        at_node.change(after_modules="echo before", prologue="echo after; false")
    assert failed.value.fields["layer"] == "environment.prologue"
    assert failed.value.fields["words"] == "after"
