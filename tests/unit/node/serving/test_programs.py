"""What is run for each kind of server."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from scratchflow.model.errors.serve import ServerNotInstalled
from scratchflow.model.requests import RunServer
from scratchflow.node.serving.listening import Address
from scratchflow.node.serving.programs import Program, program_of, wants_port

ON_SOCKET = Address("/tmp/x/s")
SECRET = "geheim"  # noqa: S105 - to look for


def asked(*words: str, kind: str = "command") -> RunServer:
    return RunServer(name="n", kind=kind, words=words, cwd="", start="a", token=SECRET)  # type: ignore[arg-type]


def program(
    request: RunServer,
    directory: Path,
    address: Address = ON_SOCKET,
    environment: Mapping[str, str] = os.environ,
) -> Program:
    return program_of(
        request,
        address,
        environment,
        directory=str(directory),
        private=directory,
        node="node-1",
    )


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A PATH with a Python of its own, which finds the modules of a directory."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").symlink_to(sys.executable)
    return {"PATH": f"{programs}:/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "modules")}


def test_a_command_is_told_where_to_listen(tmp_path: Path) -> None:
    found = program(asked("sh", "--uds={socket}", "a {socket} b", "{sock}"), tmp_path)
    assert found.argv[1:] == ["--uds=/tmp/x/s", "a /tmp/x/s b", "{sock}"]
    assert os.path.basename(found.argv[0]) == "sh"
    request = asked("sh", "-p{port}")
    assert wants_port(request)
    assert program(request, tmp_path, Address(port=81)).argv[1:] == ["-p81"]
    assert not wants_port(asked("sh", "{socket}"))


def test_a_program_of_the_workspace_is_found_from_there(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(ServerNotInstalled):
        program(asked("./run.sh", "{socket}"), tmp_path)
    script.chmod(0o755)
    assert program(asked("./run.sh", "{socket}"), tmp_path).argv[0] == "./run.sh"


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ServerNotInstalled, match="no `no-such-program` on `node-1`") as caught:
        program(asked("no-such-program", "{socket}"), tmp_path)
    assert caught.value.exit_code == 40


@pytest.mark.parametrize("kind", ["tensorboard", "jupyter"])
def test_what_is_not_installed_is_told_with_the_line_that_installs_it(
    kind: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / kind).mkdir()  # a directory of that name in the workspace is no module
    (tmp_path / "jupyterlab").mkdir(exist_ok=True)
    (tmp_path / "modules" / "pip").mkdir(parents=True)
    (tmp_path / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    with pytest.raises(ServerNotInstalled) as caught:
        program(asked("runs", kind=kind), tmp_path, environment=environment)
    module = {"tensorboard": "tensorboard", "jupyter": "jupyterlab"}[kind]
    assert f"`scratchflow run -- python -m pip install {module}`" in caught.value.shown_hint
    assert caught.value.exit_code == 40


@pytest.mark.parametrize("is_closed", [True, False])
def test_where_pip_would_refuse_an_environment_is_named_instead(
    tmp_path: Path, environment: dict[str, str], *, is_closed: bool
) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    closed = f"import sys, sysconfig\nsys.prefix = sys.base_prefix\nsysconfig.get_path = lambda _: {str(tmp_path)!r}\n"
    no_pip = "import sys\nsys.path[:] = [one for one in sys.path if 'packages' not in one]\n"
    (modules / "sitecustomize.py").write_text(closed if is_closed else no_pip)
    if is_closed:  # a system's own Python, as Debian has it
        (modules / "pip").mkdir()
        (tmp_path / "EXTERNALLY-MANAGED").touch()
    with pytest.raises(ServerNotInstalled) as caught:
        program(asked(kind="jupyter"), tmp_path, environment=environment)
    assert "`scratchflow create --env venv --packages jupyterlab`" in caught.value.shown_hint
    assert "`scratchflow config set environment.venv env`" in caught.value.shown_hint
    assert "pip install" not in caught.value.shown_hint


def test_without_a_python_that_is_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ServerNotInstalled, match="no Python"):
        program(asked("runs", kind="tensorboard"), tmp_path, environment={"PATH": str(tmp_path)})


def test_tensorboard_gets_the_logs_of_the_workspace(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "modules" / "tensorboard").mkdir(parents=True)
    found = program(asked("runs", kind="tensorboard"), tmp_path, environment=environment)
    assert found.argv[2:] == ["/tmp/x/s", found.logs]
    assert found.logs == str(tmp_path / "runs")
    assert Path(found.argv[1]).is_file()


def test_jupyters_token_is_in_no_word_and_no_variable(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "modules" / "jupyterlab").mkdir(parents=True)
    found = program(
        asked(kind="jupyter"), tmp_path, environment={**environment, "JUPYTER_TOKEN": "x"}
    )
    assert "--ServerApp.sock=/tmp/x/s" in found.argv
    assert SECRET not in " ".join(found.argv)
    assert SECRET not in " ".join(found.environment.values())
    assert "JUPYTER_TOKEN" not in found.environment
    file = Path(found.environment["JUPYTER_TOKEN_FILE"])
    assert file.read_text() == SECRET
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
