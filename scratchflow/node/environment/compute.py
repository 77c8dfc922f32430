"""Runs the layers in one bash, and finds out what they changed or which one failed."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from scratchflow.model.errors.run import LayerFailed
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.text import few_lines
from scratchflow.node.environment.change import Change, change_between, parse_dump
from scratchflow.node.environment.script import NO_CONDA, NO_MODULE, ScriptFiles, script_of
from scratchflow.process.child import end_group, kill_child

# Modules and conda may lie on a slow shared file system.
LIMIT_S = 300.0
_LOGIN_SHELL = "login shell"
# `activate` puts `(env) ` before a prompt. The shell here has none, and that would be all of the prompt elsewhere.
_OF_A_PROMPT = {"PS0", "PS1", "PS2", "PROMPT_COMMAND"}

_REMEDIES = {
    "modules": "`module avail` there lists what can be loaded; correct `environment.modules`",
    "conda": "`conda env list` there lists the environments; correct `environment.conda`",
    "venv": "correct `environment.venv`; `scratchflow create --env venv` makes the venv `env` beneath scratch",
    _LOGIN_SHELL: "look at `/etc/profile` and `~/.bash_profile` there: `bash -l` has to read them without ending",
}

# By how the tool's words begin: what helps where the tool itself is not there.
_REMEDIES_WITHOUT_IT = {
    NO_MODULE: "`scratchflow config unset environment.modules` does without; or let `~/.bash_profile` there read the file that defines `module`",
    NO_CONDA: "name the module that brings conda in `environment.modules`, or put micromamba into `~/.local/bin` there; `scratchflow config unset environment.conda` does without",
}


def compute(
    options: EnvironmentOptions,
    scratch: Path,
    base: Mapping[str, str],
    *,
    node: str,
    limit_s: float = LIMIT_S,
) -> Change:
    """What the layers make of this environment; LayerFailed with the tool's own words."""
    with tempfile.TemporaryDirectory(prefix="scratchflow-") as name:
        place = Path(name)
        files = ScriptFiles(
            before=place / "before",
            layer=place / "layer",
            words=place / "words",
            dump=place / "dump",
        )
        script = place / "script"
        # A file, because other users can see arguments, and a tool may read standard input.
        script.write_bytes(os.fsencode(script_of(options, scratch, files)))
        problem = _run(script, files, {**of_this_user(), **base}, limit_s)
        if problem is None and files.dump.exists():
            change = change_between(base, parse_dump(files.dump.read_bytes()))
            return change.without(_OF_A_PROMPT - options.variables.keys())
        raise _failed(files, problem or "it ended the shell", node)


def _run(script: Path, files: ScriptFiles, base: Mapping[str, str], limit_s: float) -> str | None:
    """Runs the script to its end; what is wrong when it did not get there."""
    with files.words.open("ab") as words:
        try:
            # Into a file: what a profile leaves running would keep a pipe open.
            process = subprocess.Popen(
                ["bash", "--login", script],
                env=base,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return f"`bash` cannot be started: {error.strerror}"
    try:
        code = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return f"it did not end within {limit_s:g} s"
    finally:
        kill_child(process)
        # What the user's own startup files left running is theirs, and cannot be told apart.
        if not _content(files.before):
            end_group(process.pid)
    return None if code == 0 else f"exit code {code}"


def of_this_user() -> dict[str, str]:
    """What profiles and layers take for granted; a step of a job may come without."""
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        return {}
    return {"USER": entry.pw_name, "LOGNAME": entry.pw_name, "HOME": entry.pw_dir}


def _failed(files: ScriptFiles, problem: str, node: str) -> LayerFailed:
    layer, _, name = _content(files.layer).partition("\n")
    layer = layer or _LOGIN_SHELL
    words = words_of(_content(files.words), str(files.words.parent)) or problem
    absent = [text for start, text in _REMEDIES_WITHOUT_IT.items() if words.startswith(start)]
    return LayerFailed(
        layer=layer if layer == _LOGIN_SHELL else f"environment.{layer}",
        name=name or "bash --login",
        node=node,
        words=words,
        remedy=[*absent, _REMEDIES.get(layer, f"correct `environment.{layer}`")][0],
    )


def words_of(said: str, place: str) -> str:
    """What the tools said. bash names our script and its line, which mean nothing to the reader."""
    lines = [
        line.partition(": line ")[2].partition(": ")[2] if place in line else line
        for line in said.splitlines()
    ]
    return few_lines("\n".join(lines))


def _content(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
