"""A laptop whose ssh leads to this machine, where stand-ins of Slurm's commands refuse everything.

What a real login host would give to a shell is given to one here, and what a real `salloc` is given
arrives in our real tmux: a value that is ever taken for a command leaves its mark.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_SSH = """\
#!/bin/sh
# The configuration is read by the real one; a shared connection is never alive.
for word; do
    case $word in
        -G) exec {ssh} "$@" ;;
        -O) exit 255 ;;
    esac
done
while [ "$1" != -- ]; do shift; done
shift 2
HOME={far} exec sh -c "$*"
"""

_SALLOC = """\
#!/bin/sh
echo 'salloc: error: Job submit/allocate failed: Invalid partition name specified' >&2
exit 1
"""

_SILENT = "#!/bin/sh\n"


class Laptop:
    """The real program, with a home, a login host and a Slurm of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home, self.far = directory / "home", directory / "far"
        self.programs = directory / "bin"
        for made in (self.home / ".ssh", self.far, self.programs, directory / "tmux"):
            made.mkdir(parents=True, mode=0o700)
        # The ProxyCommand is what makes us leave it to the system's ssh, which is ours here.
        (self.home / ".ssh/config").write_text("Host far\n  ProxyCommand false\n")
        ssh = _SSH.format(ssh=shutil.which("ssh"), far=self.far)
        self._add("ssh", ssh)
        self._add("salloc", _SALLOC)
        for name in ("squeue", "scontrol", "sinfo", "scancel", "sacct", "srun"):
            self._add(name, _SILENT)

    def _add(self, name: str, text: str) -> None:
        file = self.programs / name
        file.write_text(text)
        file.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        return {
            **kept,
            "HOME": str(self.home),
            "PATH": f"{self.programs}:{kept['PATH']}",
            "TMPDIR": str(self.directory),
            "TMUX_TMPDIR": str(self.directory / "tmux"),
            "PYTHONPATH": str(Path(__file__).parents[3]),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs it in an empty directory, where a relative path would leave its mark too."""
        here = self.directory / "here"
        here.mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, "-m", "scratchflow", *arguments],
            cwd=here,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def marks(self) -> list[str]:
        """The files that only a value which was run could have made."""
        return [str(path) for path in self.directory.rglob("canary*")]

    def close(self) -> None:
        """Ends the tmux server, if one was started."""
        kill = ["tmux", "-L", "scratchflow", "kill-server"]
        subprocess.run(kill, env=self.environment, capture_output=True, check=False)
