"""`jobs` with an array of 200 tasks against `squeue` and `sacct` themselves, on a real cluster in one run.

On the login host all of them are started as programs there. A Python program cannot be faster than Python starts, so that
is shown, too. From the laptop each goes over ssh: by hand over a shared connection, and with a login of its own.

Needs root: it starts a minicluster with accounting and removes it at the end. The 200 tasks really run, which takes minutes;
`jobs 20` takes fewer, to try it out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from allocate import MINICLUSTER, Cluster

TASKS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
ROUNDS = 15
LIMIT = 1.5
PROGRAM = str(Path(sys.executable).with_name("scratchflow"))
AGENT = ".local/share/scratchflow/agent/current/start"
SLURM = "squeue + sacct"
OURS = "scratchflow jobs"
FLOOR = "python3 -I -S -c pass"
# Runs on the login host, so that nothing of the way there is measured: best wall time of each, interleaved.
TIMES = """
import json, os, subprocess, sys, time
rounds, forget, commands = json.load(sys.stdin)
best = dict.fromkeys(commands, float("inf"))
for _ in range(rounds):
    for name, steps in commands.items():
        if forget:
            subprocess.run(["rm", "-f", forget], check=True)
        started = time.perf_counter()
        for step in steps:
            subprocess.run(step, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        best[name] = min(best[name], time.perf_counter() - started)
print(json.dumps(best))
"""


class AccountedCluster(Cluster):
    """The same, with `sacct`."""

    @property
    def environment(self) -> Mapping[str, str]:
        return {**super().environment, "MC_ACCOUNTING": "1"}

    def on_login(self, *argv: str, stdin: str = "") -> str:
        """Runs a command there as alice, without ssh."""
        done = subprocess.run(
            [str(MINICLUSTER), "exec", "-u", "alice", "login", *argv],
            env=self.environment,
            input=stdin,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout


def submitted(cluster: AccountedCluster) -> tuple[int, str]:
    """Submits the array; its number and the directory of its record."""
    cluster.scratchflow("up", "--node", "1")
    cluster.scratchflow("clear")
    numbers = ",".join(str(number) for number in range(TASKS))
    words = ["submit", "--json", "--time", "5m", "--grid", f"n={numbers}", "--", "echo"]
    last = json.loads(cluster.scratchflow(*words).splitlines()[-1])
    return last["data"]["number"], last["data"]["directory"]


def wait_for_the_end(cluster: AccountedCluster) -> None:
    """Until no task waits or runs, and accounting has heard of it."""
    open_jobs = ["squeue", "--noheader", "--states=PENDING,RUNNING,COMPLETING"]
    while cluster.on_login(*open_jobs).strip():
        time.sleep(2)
    time.sleep(5)


def on_the_login_host(cluster: AccountedCluster, number: int, forget: str) -> dict[str, float]:
    """Best wall time of each; `forget` is removed before every round."""
    commands = {
        FLOOR: [["/usr/bin/python3", "-I", "-S", "-c", "pass"]],
        "squeue": [squeue()],
        "sacct": [sacct(number)],
        SLURM: [squeue(), sacct(number)],
        OURS: [["sh", AGENT, "--config", "local.toml", "jobs"]],
    }
    asked = json.dumps([ROUNDS, forget, commands])
    found: dict[str, float] = json.loads(
        cluster.on_login("/usr/bin/python3", "-c", TIMES, stdin=asked)
    )
    return found


def squeue() -> list[str]:
    """What a person types to see every task, also ended ones."""
    return ["squeue", "--array", "--user=alice", "--states=all"]


def sacct(number: int) -> list[str]:
    """The same of the accounting."""
    return ["sacct", f"--jobs={number}"]


def from_the_laptop(cluster: AccountedCluster, number: int, directory: Path) -> dict[str, float]:
    """The same over ssh."""
    far = " ".join([*squeue(), "&&", *sacct(number)])
    ssh = ["ssh", "-F", str(cluster.config)]
    shared = [*ssh, "-o", "ControlMaster=auto", "-o", f"ControlPath={directory / 'login'}"]
    cluster.run(*shared, "-o", "ControlPersist=600", "login", "true")
    commands = {
        "ssh login, shared: both": [*shared, "login", far],
        "ssh login: both": [*ssh, "login", far],
        OURS: [PROGRAM, "jobs"],
    }
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, command in commands.items():
            started = time.perf_counter()
            cluster.run(*command)
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def write_local_profile(cluster: AccountedCluster) -> None:
    """The laptop's profile as somebody has it who works on the login host itself."""
    (config,) = (cluster.config.parents[1] / ".config").rglob("config.toml")
    text = config.read_text().replace('login = "login"', 'login = "local"')
    cluster.on_login("sh", "-c", "cat > local.toml", stdin=text)


def show(title: str, best: Mapping[str, float], base: str, limit: float | None) -> bool:
    """Prints one table; whether the limit holds."""
    print(f"\n{title:<44} {'best ms':>8} {'ratio':>6} {'limit':>6}")
    for name, seconds in best.items():
        ratio = best[OURS] / seconds
        shown = f"{limit:6.1f}" if limit and name == base else "     -"
        print(f"{name:<44} {seconds * 1000:8.1f} {ratio:6.2f} {shown}")
    return limit is None or best[OURS] / best[base] <= limit


def main() -> int:
    """Prints the tables; exit 1 when a ratio is over its limit."""
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it starts a Slurm cluster in namespaces")
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        cluster = AccountedCluster(directory)
        try:
            cluster.start()
            write_local_profile(cluster)
            number, record = submitted(cluster)
            wait_for_the_end(cluster)
            first = on_the_login_host(cluster, number, f"{record}/slurm.json")
            later = on_the_login_host(cluster, number, "")
            far = from_the_laptop(cluster, number, directory)
        finally:
            cluster.stop()
    print(f"an array of {TASKS} tasks that have ended; ratios are `{OURS}` to each line")
    held = show("on the login host, the first look", first, SLURM, LIMIT)
    held &= show("on the login host, a later look", later, SLURM, LIMIT)
    show("from the laptop", far, "", None)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
