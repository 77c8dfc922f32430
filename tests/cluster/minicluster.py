"""A handle on one cluster of scripts/minicluster, and the waiting that goes with it."""

import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "minicluster"
# Which stores alice has used: without this, a store that a test removes would count as lost.
KNOWN_STORES = "/home/alice/.local/share/scratchflow/stores"

# Longer than anything takes that a test waits for with `run`; salloc and srun may wait for ever.
GIVEN_UP_S = 300

FAULTS = ("crash", "boot", "stop", "link")
USABLE = {"idle", "mixed", "allocated", "completing"}


def retry_until(condition: Callable[[], bool], what: str, *, deadline_s: float = 60) -> None:
    """Wait until the condition holds; fail with `what` when it does not in time."""
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, f"not within {deadline_s:g} s: {what}"
        time.sleep(0.02)


def run(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; with `check`, fail with all it said unless it exits 0."""
    done = subprocess.run(
        argv,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=GIVEN_UP_S,
    )
    assert not check or done.returncode == 0, (
        f"{shlex.join(argv)} exited {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    return done


@dataclass(frozen=True)
class Minicluster:
    """One cluster: its directory, its MC_* settings and how to get onto its laptop."""

    state: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    on_laptop: tuple[str, ...] = ()
    """What to put before a command to run it on the laptop; nothing: it is this machine."""
    faults: list[str] = field(default_factory=list)
    """Verbs that broke something, or mended a part of it, since the last `up`."""

    @property
    def ssh_config(self) -> Path:
        return self.state / "laptop" / "ssh_config"

    @property
    def cache(self) -> Path:
        """What its laptops made for it: to make the bundle of an agent takes as long as all the rest of `setup`."""
        return self.state / "laptop" / "cache"

    def shared(self, path: str) -> Path:
        """A file beneath `/home` or `/fsx`, as root reaches it from here."""
        if path.startswith("/fsx/") and self.settings.get("MC_FSX") == "gluster":
            # Through a mount that no command under test uses, so that looking changes nobody's view.
            first = (self.state / "hosts/storage/init.pid").read_text().strip()
            return Path(f"/proc/{first}/root{path}")
        return Path(f"{self.state}/shared{path}")

    @property
    def address(self) -> str:
        """The address under which the laptop knows login."""
        lines = run(["ssh", "-G", "-F", str(self.ssh_config), "login"]).stdout.splitlines()
        return next(line.split()[1] for line in lines if line.startswith("hostname "))

    def start(self, *verb: str) -> subprocess.Popen[str]:
        """Begin a verb of the script, without waiting for it."""
        return subprocess.Popen(
            self._argv(verb),
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *verb: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a verb of the script, like `run("crash", "node-1")`."""
        if verb[0] in FAULTS:
            self.faults.append(verb[0])
        done = run(self._argv(verb), env=self._environment(), check=check)
        if verb[0] == "up":
            self.faults.clear()
        return done

    def heal(self) -> None:
        """Runs `up` after a fault, or when Slurm cannot use every node; else there is nothing to look over."""
        states = set(self.node_states(check=False).values())
        if self.faults or not states or not states <= USABLE:
            self.run("up")

    def free_nodes(self, *users: str) -> None:
        """Ends the users' jobs and waits until every node is idle.

        One that Slurm does not free fails this test, and starts anew, so that it does not fail all that come after.
        """
        self.heal()
        for user in users:
            self.exec("login", "scancel", f"--user={user}")
        try:
            retry_until(self._is_idle, "all nodes are idle again")
        except AssertionError:
            states = self.node_states(check=False)
            jobs = self.exec("login", "squeue", check=False).stdout
            for node in (node for node, state in states.items() if state != "idle"):
                self.run("crash", node)
            self.run("up")
            raise AssertionError(
                f"not idle within a minute, now started anew: {states}\n{jobs}"
            ) from None

    def _is_idle(self) -> bool:
        return set(self.node_states(check=False).values()) == {"idle"}

    def exec(self, host: str, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command on a host as root, without ssh."""
        return self.run("exec", host, *argv, check=check)

    def ssh(self, host: str, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command on a host as alice, from the laptop, through its ssh config."""
        ssh = ["ssh", "-F", str(self.ssh_config), host, shlex.join(argv)]
        return run([*self.on_laptop, *ssh], check=check)

    def login(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command on the login host as alice."""
        return self.ssh("login", *argv, check=check)

    def allocate(self, node: str, *options: str) -> str:
        """Hold the node with a job of alice's; the job's number."""
        said = self.login("salloc", "--no-shell", f"--nodelist={node}", *options).stderr
        granted = re.search(r"Granted job allocation (\d+)", said)
        assert granted, said
        return granted[1]

    @cached_property
    def has_steps(self) -> bool:
        """Whether its `srun` starts a step beside others; before 20.11 everything goes over ssh."""
        return "--overlap" in self.exec("login", "srun", "--help").stdout

    def in_job(
        self, job: str, node: str, *argv: str, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the job's node as alice, as a step; where there are none, over ssh with a step's variables."""
        if self.has_steps:
            return self.login("srun", f"--jobid={job}", "--overlap", *argv, check=check)
        variables = [f"SLURM_JOB_ID={job}", f"SLURMD_NODENAME={node}"]
        return self.ssh(node, "env", *variables, *argv, check=check)

    def jobs(self) -> list[str]:
        """The numbers of the jobs that run or wait."""
        squeue = ["squeue", "--noheader", "--states=PENDING,RUNNING", "--format=%i"]
        return self.exec("login", *squeue).stdout.split()

    def node_states(self, *, check: bool = True) -> dict[str, str]:
        """What Slurm calls each node, like `{"node-1": "idle"}`; without `check`, none when it does not answer."""
        sinfo = ["sinfo", "--noheader", "-N", "--format=%N %T"]
        lines = self.exec("login", *sinfo, check=check).stdout.split("\n")
        return dict(line.split() for line in lines if line)

    def _argv(self, verb: Sequence[str]) -> list[str]:
        return [*self.on_laptop, str(SCRIPT), *verb]

    def _environment(self) -> dict[str, str]:
        mine = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("MC_") or name == "MC_SLURM_PREFIX"
        }
        return {**mine, **self.settings, "MC_STATE": str(self.state)}
