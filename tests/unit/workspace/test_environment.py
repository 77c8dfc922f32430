"""An environment beside the workspace, with real Pythons and with tools that play conda."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.model.errors.run import EnvironmentFailed
from scratchflow.workspace.environment import EnvironmentOptions, make_environment


def _tools(place: Path, **scripts: str) -> dict[str, str]:
    """A PATH that has nothing but a shell's own programs and these."""
    place.mkdir(exist_ok=True)
    for name, script in scripts.items():
        tool = place / name
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
    return {"PATH": f"{place}:/usr/bin:/bin", "HOME": str(place)}


def _make(scratch: Path, environment: dict[str, str], **options: object) -> Path:
    scratch.mkdir(exist_ok=True)
    return make_environment(scratch, EnvironmentOptions(**options), environment, lambda _: None)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_venv_is_made_with_the_python_that_was_named(tmp_path: Path) -> None:
    environment = {"PATH": os.defpath, "HOME": str(tmp_path)}
    made = _make(tmp_path / "scratch", environment, kind="venv", python=sys.executable)
    assert (made / "bin/python").exists()
    assert made == tmp_path / "scratch/env"


def test_uv_is_taken_where_it_is_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    uv = (
        f'echo "$@" >> {log}; [ "$1" = venv ] && mkdir -p "$3/bin" && touch "$3/bin/python"; exit 0'
    )
    environment = _tools(tmp_path / "tools", uv=uv)
    made = _make(
        tmp_path / "scratch",
        environment,
        kind="venv",
        python="3.12",
        packages=("numpy",),
        requirements="torch\n",
    )
    first, second = log.read_text().splitlines()
    assert first == f"venv --python=3.12 {made}"
    assert second.startswith(f"pip install --python={made}/bin/python -r ")
    assert second.endswith(" numpy")


def test_the_first_conda_that_is_there_is_taken(tmp_path: Path) -> None:
    log = tmp_path / "log"
    play = f'echo "$(basename "$0") $@" >> {log}; mkdir -p "$4/bin"; touch "$4/bin/python"'
    environment = _tools(tmp_path / "tools", mamba=play, conda=play)
    made = _make(
        tmp_path / "scratch", environment, kind="conda", python="3.11", packages=("numpy",)
    )
    assert log.read_text() == f"mamba create --yes --prefix {made} python=3.11 numpy\n"


def test_without_any_conda_it_says_what_does_without(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailed) as failed:
        _make(tmp_path / "scratch", _tools(tmp_path / "tools"), kind="conda")
    assert failed.value.exit_code == 40
    assert "--env venv" in failed.value.shown_hint


def test_a_failure_leaves_no_half_environment_and_tells_the_tools_last_words(
    tmp_path: Path,
) -> None:
    broken = 'mkdir -p "$4/bin"; echo "No such package: nosuch" >&2; exit 1'
    environment = _tools(tmp_path / "tools", micromamba=broken)
    with pytest.raises(EnvironmentFailed, match="No such package: nosuch"):
        _make(tmp_path / "scratch", environment, kind="conda", packages=("nosuch",))
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    "said",
    [
        "NewConnectionError('Failed to establish a new connection: [Errno -2] Name or service not known')",
        "dns error: failed to lookup address information: Temporary failure in name resolution",
        "CondaHTTPError: [Errno 101] Network is unreachable",
    ],
)
def test_a_node_without_internet_is_told_as_such(tmp_path: Path, said: str) -> None:
    environment = _tools(tmp_path / "tools", micromamba=f'echo "{said}" >&2; exit 1')
    with pytest.raises(EnvironmentFailed, match="the node reaches no package index") as failed:
        _make(tmp_path / "scratch", environment, kind="conda", packages=("numpy",))
    assert "`PIP_FIND_LINKS`" in failed.value.shown_hint


def test_what_is_there_and_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "scratch/env").mkdir(parents=True)
    (tmp_path / "scratch/env/thesis").write_text("mine")
    environment = _tools(tmp_path / "tools", conda="exit 1")
    with pytest.raises(EnvironmentFailed, match="is no environment"):
        _make(tmp_path / "scratch", environment, kind="conda")
    assert (tmp_path / "scratch/env/thesis").read_text() == "mine"


@pytest.mark.parametrize("tool", ["micromamba", "mamba", "conda"])
def test_an_environment_yml_goes_to_the_verb_that_the_tool_has_for_it(
    tmp_path: Path, tool: str
) -> None:
    log = tmp_path / "log"
    play = (
        f'echo "$@" >> {log}; for last; do :; done; case $last in *.yml) cat "$last" >> {log} ;; esac\n'
        f"mkdir -p {tmp_path}/scratch/env/bin; touch {tmp_path}/scratch/env/bin/python"
    )
    environment = _tools(tmp_path / "tools", **{tool: play})
    wanted = {"kind": "conda", "requirements": "name: x\n", "requirements_kind": "conda"}
    made = _make(tmp_path / "scratch", environment, **wanted, packages=("-c", "pytorch", "torch"))
    first, content, second = log.read_text().splitlines()
    verb = "create --yes" if tool == "micromamba" else "env create"
    assert first.startswith(f"{verb} --prefix {made} --file ")
    assert first.endswith("/environment.yml")
    assert content == "name: x"
    assert second == f"install --yes --prefix {made} -c pytorch torch"
    _make(tmp_path / "scratch", environment, **wanted)
    again = "install --yes" if tool == "micromamba" else "env update"
    assert log.read_text().splitlines()[3].startswith(f"{again} --prefix {made} --file ")


_PROJECT = (
    '[project]\nname = "thesis"\nversion = "1"\nrequires-python = ">=3.10"\ndependencies = []\n'
)


def test_a_project_without_uv_says_what_does_without(tmp_path: Path) -> None:
    wanted = {"kind": "venv", "requirements": _PROJECT, "requirements_kind": "project"}
    with pytest.raises(EnvironmentFailed, match="no `uv` on the node") as failed:
        _make(tmp_path / "scratch", _tools(tmp_path / "tools"), **wanted)
    assert "uv export" in failed.value.shown_hint


def test_a_real_uv_makes_what_the_lock_says_and_refuses_one_that_is_old(tmp_path: Path) -> None:
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("there is no uv on the PATH")
    environment = _tools(tmp_path / "tools")
    environment |= {"PATH": f"{Path(uv).parent}:/usr/bin:/bin", "UV_OFFLINE": "1"}
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(_PROJECT)
    subprocess.run([uv, "lock", "--project", str(project)], env=environment, check=True)
    lock = (project / "uv.lock").read_text()
    wanted = {"kind": "venv", "requirements_kind": "project", "lock": lock}
    made = _make(tmp_path / "scratch", environment, requirements=_PROJECT, **wanted)
    assert (made / "bin/python").exists()
    assert (made / "pyvenv.cfg").exists()
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    newer = _PROJECT.replace(">=3.10", ">=3.11")
    with pytest.raises(EnvironmentFailed, match=r"uv: .*lockfile.*needs to be updated"):
        _make(tmp_path / "scratch", environment, requirements=newer, **wanted)
    assert (made / "bin/python").exists()  # what was there stays


def test_what_a_killed_run_left_is_made_anew(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    (scratch / "env/bin").mkdir(parents=True)
    (scratch / "env/bin/python").touch()
    (scratch / ".scratchflow-env-unfinished").touch()
    play = 'mkdir -p "$4/bin"; echo whole > "$4/bin/python"'
    made = _make(scratch, _tools(tmp_path / "tools", conda=play), kind="conda")
    assert (made / "bin/python").read_text() == "whole\n"
    assert [path.name for path in scratch.iterdir()] == ["env"]
