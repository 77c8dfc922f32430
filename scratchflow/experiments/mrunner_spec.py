"""mrunner's experiment files, run as they are: in a child process, within a time limit.

The child is the Python that the user's shell finds, because such files import what the user has installed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scratchflow.experiments.command import kept_as_is
from scratchflow.experiments.sets import require_few_enough, require_name
from scratchflow.experiments.spec import Remark, Spec, without_secrets
from scratchflow.model.errors.base import SpecInvalid
from scratchflow.model.text import few_lines
from scratchflow.process.child import ChildTimedOut, Completed, run_alone

TIME_LIMIT_S = 60.0
"""How long a file may take to say what it wants."""

_CHILD = Path(__file__).with_name("mrunner_child.py")
# What a shell would not take as plain words.
_FOR_A_SHELL = re.compile(r"[;&|<>$`*?()\[\]{}~#!\n]|\A\s*\w+=", re.ASCII)
# One job, one array: what the tasks of it cannot differ in.
_SHARED = ("name", "script", "tags", "env", "python_path")


def read_mrunner_spec(
    path: Path, *, python: str | None = None, time_limit_s: float = TIME_LIMIT_S
) -> Spec:
    """The experiments of the file, which share everything but their parameters."""
    done = _evaluated(path, python or shutil.which("python3") or sys.executable, time_limit_s)
    answer = _answer(path, done)
    said = done.stderr.decode("utf-8", "replace")
    if "error" in answer:
        words = few_lines(said)
        problem = f"{answer['error']}; it said: {words}" if words else answer["error"]
        raise SpecInvalid(path=path, problem=problem)
    experiments: list[dict[str, Any]] = answer["experiments"]
    if not experiments:
        raise SpecInvalid(path=path, problem="it gives no experiments")
    first = experiments[0]
    for key in _SHARED:
        if any(one[key] != first[key] for one in experiments):
            problem = f"its experiments differ in `{key}`; write a file for each"
            raise SpecInvalid(path=path, problem=problem)
    require_few_enough(len(experiments))
    for name in {name: None for one in experiments for name in one["parameters"]}:
        require_name(name)
    variables, withheld = without_secrets(first["env"], "env")
    remarks = [Remark(key, fate) for key, fate in answer["remarks"].items()]
    return Spec(
        path=str(path),
        sets=[one["parameters"] for one in experiments],
        name=str(first["name"]),
        command=command_of(first["script"], path),
        tags=first["tags"],
        variables=variables,
        python_path=first["python_path"],
        remarks=[*remarks, *withheld],
        said=said,
    )


def command_of(script: str, path: Path) -> list[str]:
    """mrunner's text of a command as words. What only a shell understands is given to bash, parameters behind it."""
    if _FOR_A_SHELL.search(script):
        return ["bash", "-c", kept_as_is(f'{script} "$@"'), "bash"]
    try:
        return shlex.split(script)
    except ValueError as error:
        problem = f"`script`: {str(error).lower()}"
        raise SpecInvalid(path=path, problem=problem) from None


def _evaluated(path: Path, python: str, time_limit_s: float) -> Completed:
    if not path.is_file():
        problem = "it is no file" if path.exists() else "there is no such file"
        raise SpecInvalid(path=path, problem=problem)
    try:
        return run_alone([python, str(_CHILD), str(path)], timeout_s=time_limit_s)
    except ChildTimedOut:
        problem = f"it was not done after {time_limit_s:g} s, and was ended"
        raise SpecInvalid(path=path, problem=problem) from None
    except OSError as error:
        problem = f"`{python}` cannot be started: {error.strerror}"
        raise SpecInvalid(path=path, problem=problem) from None


def _answer(path: Path, done: Completed) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(done.stdout)
    except ValueError:  # it ended the process itself, or was killed
        raise SpecInvalid(
            path=path, problem=f"it ended without an answer: {done.last_line}"
        ) from None
    return found
