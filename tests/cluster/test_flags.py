"""The flags of a request, Ctrl-C, `attach` and `doctor --fix` from the laptop, on a real Slurm."""

from __future__ import annotations

import re
import signal

from scratchflow.ssh.config.alias import park_alias
from scratchflow.ssh.config.paths import SshPaths
from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.test_interrupted import our_jobs


def granted(minicluster: Minicluster, job_id: int) -> tuple[str, str]:
    """The time limit and the CPUs of a job, as Slurm has them."""
    shown = minicluster.exec("login", "scontrol", "--oneliner", "show", "job", str(job_id)).stdout
    fields = dict(re.findall(r"(\S+?)=(\S+)", shown))
    return fields["TimeLimit"], fields["NumCPUs"]


def test_flags_are_what_slurm_grants_and_last_asks_for_the_same(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    first = laptop.data("allocate", "--time", "7m", "--cpus", "2", "--mem", "500M")
    assert granted(minicluster, first["job_id"]) == ("00:07:00", "2")
    laptop.data("clear", "--no-backup")
    again = laptop.data("allocate", "--last", "--time", "6:00")
    assert again["job_id"] != first["job_id"]
    assert granted(minicluster, again["job_id"]) == ("00:06:00", "2")
    unused = laptop.run("allocate", "--cpus", "3")
    assert "`scratchflow hop --cpus 3` moves to a node like that" in unused.stderr
    moved = laptop.data("hop", "--cpus", "3")
    assert granted(minicluster, moved["job_id"])[1] == "3"


def test_ctrl_c_on_the_laptop_says_that_the_request_is_gone_when_it_is(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    minicluster.allocate("node-2", "--exclusive")
    said = ""
    with laptop.begin("allocate", "--node", "2", "--keep-waiting") as process:
        assert process.stderr is not None
        for line in process.stderr:
            said += line
            if "Ctrl-C" in line:
                (number,) = our_jobs(minicluster)
                process.send_signal(signal.SIGINT)
    assert our_jobs(minicluster) == {}
    assert (
        "waiting without limit; Ctrl-C withdraws the request, a lost connection does not\n" in said
    )
    assert said.endswith(f"Cancelled. The request (job {number}) was withdrawn.\n")
    assert process.returncode == 130


def test_attach_starts_in_the_workspace_and_doctor_mends_the_alias(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    up = laptop.data("up", "--set", "backup.every=1h")
    session = laptop.data("attach")["session"]
    alice = ["runuser", "-u", "alice", "--"]
    tmux = [*alice, "tmux", "-L", "scratchflow"]
    minicluster.exec(
        "login", *tmux, "send-keys", "-t", f"={session}:", "pwd > /fsx/alice/where", "Enter"
    )

    def where() -> str:
        return minicluster.exec("login", "cat", "/fsx/alice/where", check=False).stdout.strip()

    retry_until(lambda: where() == up["workspace"]["path"], "the shell is in the workspace")
    park_alias(SshPaths.of(laptop.ssh_config), "compile_machine")
    assert laptop.ssh("hostname").returncode != 0
    assert laptop.data("doctor", "--fix")["mended"] == [
        f"pointed `compile_machine` at `{up['node']}`"
    ]
    assert laptop.ssh("hostname").stdout.strip() == up["node"]
