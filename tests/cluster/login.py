"""The login host of a minicluster with scratchflow on it, as alice uses it."""

from __future__ import annotations

import itertools
import json
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from scratchflow.cluster.command import CommandUnanswered
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.by_code import all_errors
from scratchflow.process.child import Completed
from tests.cluster.minicluster import Minicluster, retry_until

ROOT = Path(__file__).resolve().parents[2]
# Not on /fsx, which may be slow to start programs from.
APP = "/home/app"
# A time zone that is not the machine's: no time may depend on it.
ENVIRONMENT = ("TZ=Asia/Tokyo", "LC_ALL=C", "SLURM_TIME_FORMAT=%s", f"PYTHONPATH={APP}")


def install(cluster: Minicluster) -> None:
    """Brings the package and what it imports to where the cluster's own Python finds it."""
    target = cluster.shared(APP)
    for name in ("scratchflow", "msgspec", "libtmux", "xxhash", "lz4"):
        copy_package(cluster, name)
    shutil.copy(ROOT / "tests/cluster/on_login.py", target)
    version = cluster.exec("login", "python3", "-c", "import sys; print(sys.version_info[:2])")
    here = sys.version_info[:2]
    assert version.stdout.strip() == str(here), "msgspec is compiled: both Pythons must be alike"


def copy_package(cluster: Minicluster, name: str) -> None:
    """Brings one more package there."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, cluster.shared(APP) / name, dirs_exist_ok=True)


@dataclass
class LoginHost:
    """Slurm through the seam from outside, and scratchflow itself on the host."""

    cluster: Minicluster

    @property
    def slurm(self) -> Slurm:
        return Slurm(self.run, "alice", "login")

    def run(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """The seam: a command on the login host as alice."""
        try:
            done = subprocess.run(
                self._argv(argv),
                env=self.cluster._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired as error:
            raise CommandUnanswered(str(error)) from error
        return Completed(done.returncode, done.stdout, done.stderr)

    def alice(self, *argv: str) -> str:
        """What a command of hers prints; it must not fail."""
        done = self.run(argv, 60)
        assert done.returncode == 0, done
        return done.text

    def begin(self, do: str, **asked: object) -> subprocess.Popen[str]:
        """Starts scratchflow on the host; its lines come on stdout."""
        request: dict[str, object] = {"profile": "aws", "session": "scratchflow"}
        request |= {"token": secrets.token_hex(4), "options": {}}
        request |= {"hold": "direct", "node": "", "wait_s": 30, "keep_waiting": False}
        text = json.dumps({**request, **asked, "do": do})
        return subprocess.Popen(
            self._argv(["python3", f"{APP}/on_login.py", text]),
            env=self.cluster._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def do(self, do: str, **asked: object) -> Any:
        """Runs it to its end; what it returned, or the error it raised."""
        with self.begin(do, **asked) as process:
            return result(process)

    def allocate(
        self,
        profile: str = "aws",
        *,
        wait_s: float = 30,
        keep_waiting: bool = False,
        node: str = "",
        hold: str = "direct",
        session: str = "scratchflow",
        **options: object,
    ) -> RunningAllocation:
        asked = {"time": "5:00", "exclusive": True, **options}
        done = self.do(
            "allocate",
            profile=profile,
            wait_s=wait_s,
            keep_waiting=keep_waiting,
            node=node,
            hold=hold,
            session=session,
            options=asked,
        )
        return msgspec.convert(done, RunningAllocation)

    def now(self) -> float:
        return time.time()

    def job_by_hand(self, name: str) -> int:
        done = self.run(["salloc", "--no-shell", f"--job-name={name}"], 60)
        granted = re.search(r"Granted job allocation (\d+)", done.error_text)
        assert granted, done
        return int(granted[1])

    def scancel(self, job_id: int) -> None:
        self.cluster.exec("login", "scancel", str(job_id))

    def drain(self, node: str, reason: str) -> None:
        update = ["scontrol", "update", f"nodename={node}", "state=drain", f"reason={reason}"]
        self.cluster.exec("login", *update)

    def cancel_while_pending(self, profile: str, node: str) -> None:
        self.allocate("another", node=node)
        options = {"time": "5:00", "exclusive": True}
        with self.begin("allocate", profile=profile, node=node, options=options) as process:
            for line in lines(process):
                if line.get("seen", {}).get("state") == "pending":
                    self.scancel(line["seen"]["job_id"])
                    break
            result(process)

    def stop_controller(self) -> None:
        # The orderly way: one that is killed may forget its youngest jobs.
        self.cluster.exec("login", "scontrol", "shutdown", "slurmctld")
        retry_until(lambda: not self._controller_runs(), "slurmctld ends")

    def start_controller(self) -> None:
        self.cluster.run("boot", "login")
        retry_until(lambda: self.run(["squeue"], 20).returncode == 0, "slurmctld answers")

    def tmux(self, *arguments: str, socket: str = "scratchflow") -> Completed:
        return self.run(["tmux", "-L", socket, *arguments], 20)

    def _controller_runs(self) -> bool:
        return self.cluster.exec("login", "pgrep", "slurmctld", check=False).returncode == 0

    def _argv(self, argv: Sequence[str]) -> list[str]:
        exec_as_alice = self.cluster._argv(["exec", "-u", "alice", "login"])
        return [*exec_as_alice, "env", *ENVIRONMENT, *argv]


def lines(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    return (json.loads(line) for line in process.stdout)


def result(process: subprocess.Popen[str]) -> Any:
    """What the last line says: a value to return or an error to raise."""
    assert process.stderr is not None
    last = list(itertools.chain([{}], lines(process)))[-1]
    if "error" in last:
        error = next(kind for kind in all_errors() if kind.code == last["error"])
        raise error(**last["fields"])
    assert "done" in last, process.stderr.read()
    return last["done"]
