"""The environment beside the workspace, `/scratch/$USER/env`: made with whichever tool the node has.

Everything goes to the tools as arguments or as a file. Only the profile's own module names meet a shell, as
its arguments too.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from scratchflow.disk.private import PRIVATE
from scratchflow.model.errors import EnvironmentFailed
from scratchflow.model.text import last_line

ENV_NAME = "env"
EnvironmentKind = Literal["none", "venv", "conda"]

_UNFINISHED = ".scratchflow-env-unfinished"
CONDAS = ("micromamba", "mamba", "conda")
_MAKE_S = 3600.0
# The names come as arguments; `module` exists only in a login shell.
_WITH_MODULES = 'count=$1; shift; module load "${@:1:count}" || exit 97; shift "$count"; exec "$@"'
_NO_SUCH_MODULE = 97


class EnvironmentOptions(msgspec.Struct, frozen=True):
    """What to put there. `requirements` is the content of such a file."""

    kind: EnvironmentKind
    python: str = ""
    packages: Sequence[str] = ()
    requirements: str = ""
    modules: Sequence[str] = ()


def make_environment(
    scratch: Path,
    options: EnvironmentOptions,
    environment: Mapping[str, str],
    tell: Callable[[str], None],
) -> Path:
    """Makes it, whole or not at all; one that is there already only gets the packages.

    A note stands while it is being made: what a killed run left is made anew.
    """
    path = scratch / ENV_NAME
    unfinished = scratch / _UNFINISHED
    if unfinished.exists():
        shutil.rmtree(path, ignore_errors=True)
    run = _Runner(options.modules, environment)
    is_new = not (path / "bin" / "python").exists()
    if is_new and path.exists():
        raise _failed(f"`{path}` is there, and is no environment", f"move `{path}` away")
    steps = _venv_steps if options.kind == "venv" else _conda_steps
    with tempfile.TemporaryDirectory(prefix="scratchflow-") as place:
        listed = _requirements_file(Path(place), options)
        if is_new:
            unfinished.touch()
        try:
            for phase, argv in steps(path, options, run, listed, is_new=is_new):
                tell(phase)
                run(argv)
        except BaseException:
            if is_new:  # half an environment is worse than none
                shutil.rmtree(path, ignore_errors=True)
                unfinished.unlink(missing_ok=True)
            raise
    if is_new:
        path.chmod(PRIVATE)
    unfinished.unlink(missing_ok=True)
    return path


def activation(kind: EnvironmentKind, path: str, environment: Mapping[str, str]) -> str:
    """The line that a shell runs to use the environment at this path."""
    if kind == "venv":
        return f"source {shlex.quote(f'{path}/bin/activate')}"
    search = environment.get("PATH")
    tool = next((tool for tool in CONDAS if shutil.which(tool, path=search)), "conda")
    return f"{tool} activate {shlex.quote(path)}"


def _requirements_file(place: Path, options: EnvironmentOptions) -> Path | None:
    if not options.requirements:
        return None
    file = place / "requirements.txt"
    file.write_text(options.requirements, "utf-8")
    return file


_Steps = list[tuple[str, list[str]]]


def _venv_steps(
    path: Path, options: EnvironmentOptions, run: _Runner, listed: Path | None, *, is_new: bool
) -> _Steps:
    uv = run.find("uv")
    python = options.python or "python3"
    make = [uv, "venv", f"--python={python}", str(path)] if uv else _plain_venv(python, path, run)
    wanted = [*(["-r", str(listed)] if listed else []), *options.packages]
    inside = str(path / "bin" / "python")
    installer = [uv, "pip", "install", f"--python={inside}"] if uv else [inside, *_PIP]
    return [
        *([("making the environment", make)] if is_new else []),
        *([("installing packages", [*installer, *wanted])] if wanted else []),
    ]


_PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input", "install"]


def _plain_venv(python: str, path: Path, run: _Runner) -> list[str]:
    names = [python, f"python{python}"] if python[:1].isdigit() else [python]
    found = next(filter(None, map(run.find, names)), None)
    if found is None:
        raise _failed(f"there is no `{python}` on the node", "`--python` names one that is there")
    return [found, "-m", "venv", str(path)]


def _conda_steps(
    path: Path, options: EnvironmentOptions, run: _Runner, listed: Path | None, *, is_new: bool
) -> _Steps:
    tool = next(filter(None, map(run.find, CONDAS)), None)
    if tool is None:
        remedy = "`--env venv` does without; or put conda's module into `environment.modules`"
        raise _failed(f"there is none of {', '.join(CONDAS)} on the node", remedy)
    python = f"python={options.python}" if options.python else "python"
    wanted = [*options.packages, *(["--file", str(listed)] if listed else [])]
    if is_new:
        make = [tool, "create", "--yes", "--prefix", str(path), python, *wanted]
        return [("making the environment", make)]
    install = [tool, "install", "--yes", "--prefix", str(path), *wanted]
    return [("installing packages", install)] if wanted else []


class _Runner:
    """Runs the tools, after the profile's modules where it has some."""

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self._modules = list(modules)
        self._environment = dict(environment)

    def find(self, program: str) -> str | None:
        """Where a program is; a path is itself."""
        if not self._modules:
            return shutil.which(program, path=self._environment.get("PATH"))
        done = self._run(["sh", "-c", 'command -v -- "$1"', "sh", program])
        found = done.stdout.decode("utf-8", "replace").strip().splitlines()
        return found[-1] if done.returncode == 0 and found else None

    def __call__(self, argv: Sequence[str]) -> None:
        done = self._run(argv)
        if done.returncode == 0:
            return
        words = last_line(done.stderr or done.stdout) or f"exit code {done.returncode}"
        tool = os.path.basename(argv[0])
        raise _failed(f"{tool}: {words}", "correct `--python` or the packages, and run it again")

    def _run(self, argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        modules = self._modules
        shell = ["bash", "-l", "-c", _WITH_MODULES, "bash", str(len(modules)), *modules]
        try:
            done = subprocess.run(
                [*shell, *argv] if modules else argv,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_MAKE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _failed(f"`{argv[0]}` did not end within an hour", "try fewer packages") from None
        except OSError as error:
            raise _failed(f"`{argv[0]}`: {error.strerror}", "is it installed?") from None
        if modules and done.returncode == _NO_SUCH_MODULE:
            names = ", ".join(modules)
            remedy = "`module avail` on the cluster lists them; correct `environment.modules`"
            raise _failed(f"the modules {names} could not be loaded", remedy)
        return done


def _failed(reason: str, remedy: str) -> EnvironmentFailed:
    return EnvironmentFailed(reason=reason, remedy=remedy)
