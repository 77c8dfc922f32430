"""The shell script that applies the layers. Only this module knows the words of `module`, conda and venv.

A login bash runs it, because that is where sites define `module`. Each layer first writes its name to a file,
so that whatever ends the shell, we know in which layer. Lines and activations run at the top level: in
a function, a `declare` would be lost at its end.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scratchflow.model.profile import EnvironmentOptions


class ScriptFiles(msgspec.Struct, frozen=True):
    """Where the script writes: the layer it is at, what the tools say, the environment at its end.

    `before` gets the processes that startup files have left in the background.
    """

    before: Path
    layer: Path
    words: Path
    dump: Path


NO_MODULE = "there is no `module` command"
NO_CONDA = "there is no conda, mamba or micromamba"

# `>|`: a user's profile may have set `noclobber`.
_FUNCTIONS = r"""
set +eu +f +o posix
__scratchflow_begin() {
    printf '%s\n%s' "$1" "$2" >|"$__scratchflow_layer"
    : >|"$__scratchflow_words"
}
# With the layer's own code. Not `exit`: that would run the user's ~/.bash_logout.
__scratchflow_fail() { exec /bin/sh -c "exit $?"; }
__scratchflow_has() { type -t "$1" >/dev/null; }

# `$NAME`, `${NAME}`, `$$` and a leading `~` as paths have them; nothing is run.
__scratchflow_expand() {
    local rest=$1 name
    local in_braces='^\{([A-Za-z_][A-Za-z0-9_]*)\}' bare='^([A-Za-z_][A-Za-z0-9_]*)'
    __scratchflow_value=
    case $rest in '~' | '~/'*) __scratchflow_value=$HOME rest=${rest:1} ;; esac
    while [[ $rest == *'$'* ]]; do
        __scratchflow_value+=${rest%%'$'*}
        rest=${rest#*'$'}
        if [[ $rest == '$'* ]]; then
            __scratchflow_value+='$' rest=${rest:1}
        elif [[ $rest =~ $in_braces || $rest =~ $bare ]]; then
            name=${BASH_REMATCH[1]} rest=${rest:${#BASH_REMATCH[0]}}
            if [[ -z ${!name+set} ]]; then
                printf '$%s is not set\n' "$name" >&2
                return 1
            fi
            __scratchflow_value+=${!name}
        else
            __scratchflow_value+='$'
        fi
    done
    __scratchflow_value+=$rest
}
__scratchflow_beneath_scratch() {
    __scratchflow_expand "$1" || return
    [[ $__scratchflow_value == /* ]] || __scratchflow_value=$__scratchflow_scratch/$__scratchflow_value
}

__scratchflow_find_module() {
    local init
    __scratchflow_has module && return
    if [[ -n $LMOD_CMD && -x $LMOD_CMD ]]; then
        module() { eval "$("$LMOD_CMD" bash "$@")"; }
        return
    fi
    for init in "${MODULESHOME:-/nonexistent}/init/bash" /usr/share/lmod/lmod/init/bash \
        /usr/share/modules/init/bash /usr/share/Modules/init/bash; do
        if [[ -r $init ]]; then
            . "$init"
            __scratchflow_has module && return
        fi
    done
    echo "$__scratchflow_no_module: a login shell defines none, and LMOD_CMD and MODULESHOME lead to none" >&2
    return 1
}
# Before version 4, Tcl's `module` reports an error and still returns 0.
__scratchflow_load() {
    __scratchflow_find_module && module load "$1" && [[ $(<"$__scratchflow_words") != *:ERROR:* ]]
}

__scratchflow_conda_programs() {
    local base
    type -P conda micromamba mamba
    printf '%s\n' "$CONDA_EXE" "$MAMBA_EXE"
    case $1 in */envs/*) printf '%s\n' "${1%%/envs/*}/bin/conda" ;; esac
    for base in ~/miniforge3 ~/mambaforge ~/miniconda3 ~/anaconda3 /opt/conda /opt/miniforge3 /opt/miniconda3; do
        printf '%s\n' "$base/bin/conda"
    done
    printf '%s\n' ~/.local/bin/micromamba ~/bin/micromamba
}
__scratchflow_conda_with() {
    local hook
    case ${1##*/} in
    conda) hook=$("$1" shell.bash hook) ;;
    *) hook=$("$1" shell hook --shell bash) ;;
    esac || return
    eval "$hook" && "${1##*/}" activate "$2" && [[ -n $CONDA_PREFIX ]]
}
__scratchflow_conda() {
    local program found= programs
    case $1 in */* | '~' | '$'*) __scratchflow_beneath_scratch "$1" || return ;; *) __scratchflow_value=$1 ;; esac
    mapfile -t programs < <(__scratchflow_conda_programs "$__scratchflow_value")
    for program in "${programs[@]}"; do
        [[ -f $program && -x $program ]] || continue
        found=1
        __scratchflow_conda_with "$program" "$__scratchflow_value" && return
    done
    [[ -n $found ]] || echo "$__scratchflow_no_conda on the PATH of a login shell, nor in the usual places" >&2
    return 1
}
"""


def script_of(options: EnvironmentOptions, scratch: Path, files: ScriptFiles) -> str:
    """The whole script; every value in it is quoted."""
    given = {
        "layer": files.layer,
        "words": files.words,
        "scratch": scratch,
        "no_module": NO_MODULE,
        "no_conda": NO_CONDA,
    }
    names = [f"__scratchflow_{name}={shlex.quote(str(value))}" for name, value in given.items()]
    begin = f"jobs -p >|{shlex.quote(str(files.before))}"
    end = f"exec /usr/bin/env -0 >|{shlex.quote(str(files.dump))}"
    return "\n".join([begin, *names, _FUNCTIONS, *_layers(options), end, ""])


def _layers(options: EnvironmentOptions) -> Iterator[str]:
    for module in options.modules:
        yield from _layer("modules", module, f"__scratchflow_load {shlex.quote(module)}")
    if options.after_modules:
        yield from _line("after_modules", options.after_modules)
    if options.conda:
        yield from _layer(
            "conda", options.conda, f"__scratchflow_conda {shlex.quote(options.conda)}"
        )
    if options.venv:
        found = f"__scratchflow_beneath_scratch {shlex.quote(options.venv)}"
        yield from _layer("venv", options.venv, f'{found} && . "$__scratchflow_value/bin/activate"')
    for name, value in options.variables.items():
        expanded = f"__scratchflow_expand {shlex.quote(value)}"
        yield from _layer("variables", name, f'{expanded} && export {name}="$__scratchflow_value"')
    if options.prologue:
        yield from _line("prologue", options.prologue)


def _line(layer: str, line: str) -> Iterator[str]:
    return _layer(layer, line, f"eval {shlex.quote(line)}")


def _layer(layer: str, name: str, command: str) -> Iterator[str]:
    yield f"__scratchflow_begin {layer} {shlex.quote(name)}"
    yield f"{command} || __scratchflow_fail"
