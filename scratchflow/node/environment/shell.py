"""The environment as a file that a shell on the node reads: `.` it in any POSIX shell.

An interactive bash gets a second file: it reads what a login shell reads, and the environment after
that, because startup files like to set PATH anew.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from scratchflow.disk.durable import replace_file
from scratchflow.disk.name_digest import name_digest
from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.requests import Nothing
from scratchflow.model.results.run import EnvironmentReady
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.cache import changed_ns, depends_on
from scratchflow.node.environment.change import NO_CHANGE, Change
from scratchflow.node.environment.environment import change_for
from scratchflow.node.progress import Notifier
from scratchflow.process.child import ChildTimedOut, run_child
from scratchflow.workspace.own_scratch import make_own_scratch
from scratchflow.workspace.workspace import Workspace

_PREFIX, _SUFFIX = "environment.", ".sh"
# For as many tables at most, as `--set environment.…` makes them; the oldest goes.
_MOST_KEPT = 4
BASHRC_SUFFIX = ".bashrc"
"""`FILE.bashrc` is for `bash --rcfile`."""
FRESH_SUFFIX = ".fresh"
"""`. FILE.fresh` fails when what the environment was computed from has changed."""

_HEADING = "# the environment of the profile\n"
_STAT_S = 30.0
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# bash before 4.3 and some distributions end it with `()`.
_FUNCTION = re.compile(r"BASH_FUNC_([A-Za-z0-9_.:+-]+)(?:%%|\(\))", re.ASCII)

# The prompt is the user's own, with what `activate` puts before it: `(env) `. Versions of venv differ in whether
# VIRTUAL_ENV_PROMPT has the parentheses. conda takes the `(base) ` of a startup file away before it puts another.
_BASHRC = """\
[ -r /etc/profile ] && . /etc/profile
for __scratchflow_file in ~/.bash_profile ~/.bash_login ~/.profile; do
    [ -r "$__scratchflow_file" ] && . "$__scratchflow_file" && break
done
__scratchflow_base=${{CONDA_PROMPT_MODIFIER-}}
. {file}
__scratchflow_prompt=${{CONDA_PROMPT_MODIFIER-}}
if [ -n "${{VIRTUAL_ENV-}}" ] && [ -z "${{VIRTUAL_ENV_DISABLE_PROMPT-}}" ]; then
    __scratchflow_name=${{VIRTUAL_ENV_PROMPT:-${{VIRTUAL_ENV##*/}}}}
    __scratchflow_name=${{__scratchflow_name#"("}}
    __scratchflow_prompt="(${{__scratchflow_name%") "}}) $__scratchflow_prompt"
fi
case $PS1 in
"$__scratchflow_prompt"*) ;;
*) PS1=$__scratchflow_prompt${{PS1#"$__scratchflow_base"}} ;;
esac
unset __scratchflow_file __scratchflow_base __scratchflow_name __scratchflow_prompt
"""


def prepare_shell(
    context: NodeContext,
    _: Notifier,
    __: Nothing,
    environment: Mapping[str, str] = os.environ,
) -> EnvironmentReady:
    """Computes the environment and writes the files; an empty path when the profile has no layers."""
    change = change_for(context, environment)
    if change == NO_CHANGE:
        return EnvironmentReady(file="")
    try:
        file = _write_shell_files(context.workspace, context.profile.environment, change)
        fresh = fresh_text(depends_on(change, environment))
        replace_file(file.with_name(f"{file.name}{FRESH_SUFFIX}"), fresh)
    except OSError as error:
        raise WorkspaceFailed(path=context.workspace.state, reason=error.strerror) from None
    except ChildTimedOut:  # without the file, the next `run` has it computed again
        file.with_name(f"{file.name}{FRESH_SUFFIX}").unlink(missing_ok=True)
    return EnvironmentReady(file=str(file))


def _write_shell_files(workspace: Workspace, options: EnvironmentOptions, change: Change) -> Path:
    """Writes both files beside the workspace, readable for their owner alone; the path of the first.

    Their name says which table they were made from: what `--set` changes for one command is in a file of its own,
    and a later command that does without finds that of the profile.
    """
    make_own_scratch(workspace)
    table = name_digest(repr(msgspec.to_builtins(options)).encode("utf-8", "surrogateescape"))
    file = workspace.state / f"{_PREFIX}{table}{_SUFFIX}"
    # Never empty: an empty file is one that something has damaged.
    replace_file(file, f"{_HEADING}{shell_text(change)}".encode("utf-8", "surrogateescape"))
    bashrc = os.fsencode(bashrc_text(str(file)))
    replace_file(file.with_name(f"{file.name}{BASHRC_SUFFIX}"), bashrc)
    _remove_oldest(workspace)
    return file


def _remove_oldest(workspace: Workspace) -> None:
    """Variables may hold secrets: those of tables that nobody has used lately go."""
    found = [
        file
        for file in workspace.state.glob(f"{_PREFIX}*")
        if file.name.endswith((_SUFFIX, BASHRC_SUFFIX, FRESH_SUFFIX))
    ]
    tables: dict[str, list[Path]] = {}
    for file in sorted(found, key=lambda one: changed_ns(str(one)), reverse=True):
        tables.setdefault(file.name.split(_SUFFIX)[0], []).append(file)
    for files in list(tables.values())[_MOST_KEPT:]:
        for file in files:
            file.unlink(missing_ok=True)


def bashrc_text(file: str) -> str:
    """For `bash --rcfile`: what a login shell reads, then this file, and which environment it is in the prompt."""
    return _BASHRC.format(file=shlex.quote(file))


# With nanoseconds, and the same wherever it is asked; of a file that is not there it says that.
# Links are followed: many people keep their startup files in a repository and link to them.
_STATED = 'TZ=UTC0 LC_ALL=C stat -L -c "%n %y %s" -- {files} 2>&1'


def fresh_text(files: Sequence[str]) -> bytes:
    """A line of shell that succeeds as long as these files are as they are now."""
    ask = _STATED.format(files=" ".join(map(shlex.quote, files)))
    said = run_child(["sh", "-c", os.fsencode(ask)], timeout_s=_STAT_S).stdout
    expected = shlex.quote(os.fsdecode(said).rstrip("\n"))
    return os.fsencode(f'[ "$({ask})" = {expected} ]\n')


def shell_text(change: Change) -> str:
    """The change in the words of a POSIX shell. Functions are for bash alone, and another shell skips them."""
    return "".join(f"{line}\n" for line in _lines(change))


def _lines(change: Change) -> Iterator[str]:
    for name in change.removed:
        if _VARIABLE.fullmatch(name):
            yield f"unset {name}"
    for name, value in change.values.items():
        function = _FUNCTION.fullmatch(name)
        if _VARIABLE.fullmatch(name):
            yield f"export {name}={shlex.quote(value)}"
        elif function and value.startswith("() {"):
            # Quoted as a whole: another shell may not even be able to parse it.
            define = f"{function[1]} {value}\nexport -f {function[1]}"
            yield f'[ -z "$BASH_VERSION" ] || eval {shlex.quote(define)}'
