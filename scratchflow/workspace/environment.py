"""The environment beside the workspace, `/scratch/$USER/env`: made with whichever tool the node has.

Everything goes to the tools as arguments or as a file; nothing meets a shell.
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
from scratchflow.model.errors.run import EnvironmentFailed
from scratchflow.model.requests import RequirementsKind
from scratchflow.model.text import few_lines

ENV_NAME = "env"
EnvironmentKind = Literal["none", "venv", "conda"]

_UNFINISHED = ".scratchflow-env-unfinished"
CONDAS = ("micromamba", "mamba", "conda")
_MAKE_S = 3600.0
_UV_ENVIRONMENT = "UV_PROJECT_ENVIRONMENT"
_FILE_NAMES = {"list": "requirements.txt", "conda": "environment.yml", "project": "pyproject.toml"}

# What pip, uv and conda say, in the words of the system's resolver and sockets.
_NO_NETWORK = (
    "Name or service not known",
    "Temporary failure in name resolution",
    "failed to lookup address information",
    "Could not resolve host",
    "Network is unreachable",
    "No route to host",
    "Connection timed out",
)
_WITHOUT_NETWORK = (
    "name a proxy, an index or a directory of wheels in `environment.variables`"
    " (`https_proxy`, `PIP_INDEX_URL`, `PIP_FIND_LINKS`)"
)


class EnvironmentOptions(msgspec.Struct, frozen=True):
    """What to put there. `requirements` is the content of such a file, `lock` that of a project's lock."""

    kind: EnvironmentKind
    python: str = ""
    packages: Sequence[str] = ()
    requirements: str = ""
    requirements_kind: RequirementsKind = "list"
    lock: str = ""


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
    run = _Runner({**environment, _UV_ENVIRONMENT: str(path)})
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
    file = place / _FILE_NAMES[options.requirements_kind]
    file.write_text(options.requirements, "utf-8")
    if options.lock:
        file.with_name("uv.lock").write_text(options.lock, "utf-8")
    return file


_Steps = list[tuple[str, list[str]]]


def _venv_steps(
    path: Path, options: EnvironmentOptions, run: _Runner, listed: Path | None, *, is_new: bool
) -> _Steps:
    uv = run.find("uv")
    if listed and options.requirements_kind == "project":
        return _project_steps(path, options, uv, listed)
    python = options.python or "python3"
    make = [uv, "venv", f"--python={python}", str(path)] if uv else _plain_venv(python, path, run)
    wanted = [*(["-r", str(listed)] if listed else []), *options.packages]
    inside = str(path / "bin" / "python")
    installer = [uv, "pip", "install", f"--python={inside}"] if uv else [inside, *_PIP]
    return [
        *([("making the environment", make)] if is_new else []),
        *([("installing packages", [*installer, *wanted])] if wanted else []),
    ]


def _project_steps(path: Path, options: EnvironmentOptions, uv: str | None, listed: Path) -> _Steps:
    """What a `pyproject.toml` needs, in the versions of its lock. The project itself lies in the workspace."""
    if uv is None:
        remedy = "`uv export > requirements.txt`, then `--requirements requirements.txt`"
        raise _failed("there is no `uv` on the node to read `pyproject.toml`", remedy)
    # `--inexact`: what is there already stays.
    sync = [uv, "sync", "--no-install-project", "--inexact", f"--project={listed.parent}"]
    sync += ["--locked"] if options.lock else []
    sync += [f"--python={options.python}"] if options.python else []
    more = [uv, "pip", "install", f"--python={path / 'bin' / 'python'}", *options.packages]
    return [
        ("installing packages", sync),
        *([("installing packages", more)] if options.packages else []),
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
    if listed and options.requirements_kind == "conda":
        return _described_steps(path, options, tool, listed, is_new=is_new)
    python = f"python={options.python}" if options.python else "python"
    wanted = [*options.packages, *(["--file", str(listed)] if listed else [])]
    if is_new:
        make = [tool, "create", "--yes", "--prefix", str(path), python, *wanted]
        return [("making the environment", make)]
    install = [tool, "install", "--yes", "--prefix", str(path), *wanted]
    return [("installing packages", install)] if wanted else []


def _described_steps(
    path: Path, options: EnvironmentOptions, tool: str, listed: Path, *, is_new: bool
) -> _Steps:
    """An `environment.yml`: micromamba takes it where others take a list, conda has verbs of its own for it."""
    where = ["--prefix", str(path)]
    if os.path.basename(tool) == "micromamba":
        verb = [*(["create"] if is_new else ["install"]), "--yes"]
    else:
        verb = ["env", "create" if is_new else "update"]
    made = [tool, *verb, *where, "--file", str(listed)]
    more = [tool, "install", "--yes", *where, *options.packages]
    return [
        ("making the environment" if is_new else "installing packages", made),
        *([("installing packages", more)] if options.packages else []),
    ]


class _Runner:
    """Runs the tools."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)

    def find(self, program: str) -> str | None:
        """Where a program is; a path is itself."""
        return shutil.which(program, path=self._environment.get("PATH"))

    def __call__(self, argv: Sequence[str]) -> None:
        done = self._run(argv)
        if done.returncode == 0:
            return
        said = (done.stderr or done.stdout).decode("utf-8", "replace")
        tool = os.path.basename(argv[0])
        if away := next((words for words in _NO_NETWORK if words in said), ""):
            raise _failed(f"the node reaches no package index ({tool}: {away})", _WITHOUT_NETWORK)
        words = few_lines(said) or f"exit code {done.returncode}"
        raise _failed(f"{tool}: {words}", "correct `--python` or the packages, and run it again")

    def _run(self, argv: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                argv,
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


def _failed(reason: str, remedy: str) -> EnvironmentFailed:
    return EnvironmentFailed(reason=reason, remedy=remedy)
