"""A home on a node with tools that play `module` and conda, and a real venv."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scratchflow.model.profile import EnvironmentOptions
from scratchflow.node.environment.change import Change
from scratchflow.node.environment.compute import compute

# As Lmod and Tcl's do it: the program prints shell code, on an error `false`, and its words on stderr.
MODULE_PROGRAM = r"""#!/bin/bash
[ "$1" = bash ] && [ "$2" = load ] || exit 1
case $3 in
gcc/12) echo 'export CC=gcc-12; export ORDER="${ORDER}m"; export LOADEDMODULES="$LOADEDMODULES:gcc/12";' ;;
quiet) echo 'ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile' >&2 ;;
*)
    echo 'Lmod has detected the following error:  The following module(s) are unknown: "'"$3"'"' >&2
    echo >&2
    echo 'Please check the spelling or version number.' >&2
    echo 'false' ;;
esac
"""

CONDA_PROGRAM = r"""#!/bin/bash
case "$1 $2" in
'shell.bash hook')
    echo "export CONDA_EXE='$0'"
    echo 'conda() { local code; code=$("$CONDA_EXE" shell.posix "$@") || return; eval "$code"; }' ;;
'shell hook')
    echo "export MAMBA_EXE='$0'"
    echo 'micromamba() { local code; code=$("$MAMBA_EXE" shell.posix "$@") || return; eval "$code"; }' ;;
'shell.posix activate')
    case $3 in
    "torch"* | /*) echo "export CONDA_PREFIX='$3' ORDER=\"\${ORDER}c\" WITH='$(basename "$0")'" ;;
    *) echo "EnvironmentNameNotFound: Could not find conda environment: $3" >&2; exit 1 ;;
    esac ;;
*) exit 2 ;;
esac
"""


class NodeHome:
    """Where the layers are computed: a home, a scratch and a directory of tools."""

    def __init__(self, place: Path) -> None:
        self.home, self.scratch, self.tools = place / "home", place / "scratch", place / "tools"
        for directory in (self.home, self.scratch, self.tools):
            directory.mkdir(mode=0o700)
        self.profile("")

    @property
    def base(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "USER": "ada"}

    def profile(self, more: str) -> None:
        """What a login shell reads; Debian's `/etc/profile` sets PATH anew before that."""
        (self.home / ".bash_profile").write_text(f'PATH="{self.tools}:/usr/bin:/bin"\n{more}\n')

    def tool(self, name: str, text: str) -> Path:
        path = self.tools / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def venv(self, name: str) -> Path:
        path = self.scratch / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
        return path

    def change(self, **options: object) -> Change:
        wanted = EnvironmentOptions(**options)  # type: ignore[arg-type]
        return compute(wanted, self.scratch, self.base, node="node-1")

    def values(self, **options: object) -> dict[str, str]:
        return self.change(**options).applied_to(self.base)
