"""What is run for each kind of server: its words, its environment, and what to do when it is not installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from scratchflow.model.errors.serve import ServerNotInstalled
from scratchflow.model.requests import RunServer
from scratchflow.node.serving.listening import Address
from scratchflow.process.child import ChildTimedOut, run_child

SOCKET, PORT = "{socket}", "{port}"
_LOOK_S = 60.0
_HAS_MODULE = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
# As pip looks: one of the system is closed to it, an environment never is.
_TAKES_PACKAGES = """
import importlib.util, os, sys, sysconfig
is_closed = os.path.isfile(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))
is_system = sys.prefix == sys.base_prefix
sys.exit(importlib.util.find_spec("pip") is None or (is_system and is_closed))
"""
_TENSORBOARD = Path(__file__).with_name("tensorboard_on_socket.py")


class Program(msgspec.Struct, frozen=True):
    """A process to start."""

    argv: list[str]
    environment: Mapping[str, str]
    # What a browser asks for first, when it is known to be a web server.
    page: str = ""
    # The directory that TensorBoard shows.
    logs: str = ""


def wants_port(asked: RunServer) -> bool:
    """Whether the program listens on a port: some cannot do better."""
    return asked.kind == "command" and any(PORT in word for word in asked.words)


def program_of(
    asked: RunServer,
    address: Address,
    environment: Mapping[str, str],
    *,
    directory: str,
    private: Path,
    node: str,
) -> Program:
    """The program for this server. ServerNotInstalled (exit code 40) when it is not there."""
    if asked.kind == "tensorboard":
        python = _python_with("tensorboard", "TensorBoard", environment, node)
        logs = os.path.join(directory, *asked.words[:1])
        argv = [python, str(_TENSORBOARD), address.socket, logs]
        return Program(argv, {**environment, "PYTHONUNBUFFERED": "1"}, page="/", logs=logs)
    if asked.kind == "jupyter":
        return _jupyter(
            asked, address, environment, directory=directory, private=private, node=node
        )
    words = [
        word.replace(SOCKET, address.socket).replace(PORT, str(address.port))
        for word in asked.words
    ]
    return Program([_found(words[0], environment, directory, node), *words[1:]], environment)


def _jupyter(
    asked: RunServer,
    address: Address,
    environment: Mapping[str, str],
    *,
    directory: str,
    private: Path,
    node: str,
) -> Program:
    """JupyterLab by its own option. Its kernels are on sockets too: on ports, every user of the node could listen to them."""
    python = _python_with("jupyterlab", "JupyterLab", environment, node)
    token, runtime = private / "token", private / "r"
    token.write_text(asked.token, encoding="ascii")
    token.chmod(0o600)
    runtime.mkdir(mode=0o700)
    options = {
        "ServerApp.sock": address.socket,
        "ServerApp.sock_mode": "0600",
        "ServerApp.root_dir": directory,
        "KernelManager.transport": "ipc",
    }
    # A file: the words of a process are for everybody to see, its environment for every kernel.
    given = {"JUPYTER_TOKEN_FILE": str(token), "JUPYTER_RUNTIME_DIR": str(runtime)}
    kept = {name: value for name, value in environment.items() if name != "JUPYTER_TOKEN"}
    argv = [python, "-m", "jupyterlab", "--no-browser"]
    argv += [f"--{name}={value}" for name, value in options.items()]
    return Program(argv, {**kept, **given, "PYTHONUNBUFFERED": "1"}, page="/login")


def _python_with(module: str, program: str, environment: Mapping[str, str], node: str) -> str:
    """The environment's Python, which has the module."""
    path = environment.get("PATH")
    python = shutil.which("python", path=path) or shutil.which("python3", path=path)
    if python is None:
        remedy = "`scratchflow create --env venv` makes an environment; `environment.venv` or `environment.conda` says which one is used"
        raise ServerNotInstalled(program="Python", node=node, remedy=remedy)
    if not _has_module(python, module, environment):
        remedy = _how_to_install(python, module, environment)
        raise ServerNotInstalled(program=program, node=node, remedy=remedy)
    return python


def _how_to_install(python: str, module: str, environment: Mapping[str, str]) -> str:
    if _says_yes([python, "-c", _TAKES_PACKAGES], environment):
        name = os.path.basename(python)
        return f"`scratchflow run -- {name} -m pip install {module}` installs it there"
    return (
        f"`scratchflow create --env venv --packages {module}` makes an environment with it beside the"
        " workspace, and `scratchflow config set environment.venv env` uses that; then try again"
    )


def _has_module(python: str, module: str, environment: Mapping[str, str]) -> bool:
    return _says_yes([python, "-c", _HAS_MODULE, module], environment)


def _says_yes(argv: list[str], environment: Mapping[str, str]) -> bool:
    """Whether the program ends with anything but 1."""
    try:
        # Not in the workspace: a directory there may have the module's name.
        done = run_child(["env", "-C", "/", *argv], timeout_s=_LOOK_S, environment=environment)
    except (OSError, ChildTimedOut):
        return True  # whoever starts it hears why it does not run
    return done.returncode != 1


def _found(word: str, environment: Mapping[str, str], directory: str, node: str) -> str:
    """The program's path; as typed when it is one, from the workspace on."""
    if "/" in word:
        found = word if os.access(os.path.join(directory, word), os.X_OK) else None
    else:
        found = shutil.which(word, path=environment.get("PATH"))
    if found is None:
        remedy = f"`scratchflow run -- {word}` tries it; `environment` in the profile says where programs are found"
        raise ServerNotInstalled(program=f"`{word}`", node=node, remedy=remedy)
    return found
