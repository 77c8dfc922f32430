"""`allocate`, `status`, `attach`, `clear`, `doctor` as a user types them on the laptop."""

from __future__ import annotations

import time

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until


def test_the_alias_leads_to_the_node_that_slurm_gave_and_is_parked_after(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    got = laptop.data("allocate")
    given = minicluster.exec("login", "squeue", "--noheader", "--format=%i %N").stdout.split()
    assert [str(got["job_id"]), got["node"]] == given
    assert laptop.ssh("hostname").stdout.strip() == got["node"]
    again = laptop.data("allocate")
    assert (again["job_id"], again["reused"]) == (got["job_id"], True)

    cleared = laptop.data("clear", "--no-backup")
    assert (cleared["job_id"], cleared["released"], cleared["parked"]) == (
        got["job_id"],
        True,
        True,
    )
    assert minicluster.jobs() == []
    began = time.monotonic()
    refused = laptop.ssh("hostname")
    assert refused.returncode == 255
    assert "there is no allocation. Run: scratchflow -p mini up" in refused.stderr
    assert time.monotonic() - began < 2

    second = laptop.data("allocate", "--node", "2")
    assert second["node"] == "node-2"
    shown = laptop.ssh("hostname")
    assert (shown.stdout.strip(), shown.stderr) == ("node-2", "")

    def has_processes_on_node_1() -> bool:
        return minicluster.exec("node-1", "pgrep", "--uid=alice", check=False).returncode == 0

    # The shell of the window ends when Slurm's own patience with it does.
    retry_until(lambda: not has_processes_on_node_1(), "nothing of hers is left on node-1")


def test_status_names_what_does_not_fit_and_fix_parks_the_alias(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    got = laptop.data("allocate")
    well = laptop.data("status")
    assert well["allocation"]["node"] == well["alias"]["target"] == got["node"]
    assert well["problems"] == []
    minicluster.exec("login", "scancel", str(got["job_id"]))
    retry_until(lambda: minicluster.jobs() == [], "the job is gone")
    after = laptop.data("status")
    assert after["allocation"] is None
    assert [problem["name"] for problem in after["problems"]] == ["alias.stale"]
    mended = laptop.data("status", "--fix")
    assert (mended["alias"]["parked"], mended["problems"]) == (True, [])


def test_the_workspace_is_made_saved_and_brought_back_from_the_laptop(
    laptop: Laptop,
) -> None:
    laptop.data("allocate", "--node", "1")
    laptop.data("create")
    laptop.ssh("echo one > /scratch/alice/work/file")
    taken = laptop.data("backup")
    assert (taken["changed_files"], taken["files"]) == (1, 1)
    laptop.ssh("echo two > /scratch/alice/work/file")
    cleared = laptop.data("clear")
    assert cleared["snapshot"] not in {None, taken["snapshot"]}
    assert laptop.data("snapshots", "list")["snapshots"][-1]["node"] == "node-1"

    laptop.data("allocate", "--node", "2")
    restored = laptop.data("restore")
    assert (restored["mode"], restored["snapshot"]) == ("full", cleared["snapshot"])
    assert laptop.ssh("cat /scratch/alice/work/file").stdout == "two\n"
    laptop.data("clear")

    warm = laptop.data("allocate")
    assert warm["warm"] is not None
    assert laptop.outcome("restore", "--to", "relative")["exit_code"] == 2


def test_without_a_node_a_backup_says_what_to_run(laptop: Laptop) -> None:
    refused = laptop.outcome("backup")
    assert (refused["code"], refused["exit_code"]) == ("allocation.missing", 25)
    assert "scratchflow up" in refused["hint"]


def test_the_session_is_ours_alone_and_comes_back_when_it_was_killed(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    minicluster.login("tmux", "new-session", "-d", "-s", "mine")
    got = laptop.data("allocate")
    minicluster.login("tmux", "-L", "scratchflow", "kill-server")
    lost = laptop.data("status")
    assert lost["allocation"]["job_id"] == got["job_id"]
    assert [problem["name"] for problem in lost["problems"]] == ["session.lost"]
    attached = laptop.data("attach")
    assert attached["command"][-2:] == [
        "login",
        "tmux -L scratchflow attach-session -t =scratchflow",
    ]
    assert laptop.data("status")["session"]["alive"] is True
    laptop.data("clear", "--no-backup")
    assert minicluster.login("tmux", "ls").stdout.startswith("mine:")
    minicluster.login("tmux", "kill-server")


def test_doctor_finds_nothing_amiss_on_a_node_that_is_held(laptop: Laptop) -> None:
    node = laptop.data("allocate")["node"]
    checks = laptop.data("doctor")["checks"]
    assert [check for check in checks if not check["ok"]] == []
    assert {"config", "login", "slurm", "tmux", "store", "alias", "ssh", "node", "scratch"} <= {
        check["name"] for check in checks
    }
    at_login, at_node = [check["detail"] for check in checks if check["name"] == "store"]
    assert at_node.startswith(at_login)
    assert at_node.endswith(f", as seen from `{node}`")


def test_a_dry_run_says_the_commands_and_takes_nothing(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    result = laptop.data("allocate", "--dry-run", "--node", "3")
    assert "--nodelist=node-3" in result["command"]
    assert minicluster.jobs() == []
    got = laptop.data("allocate")
    assert f"scancel {got['job_id']}" in laptop.data("clear", "--dry-run")["commands"]
    assert minicluster.jobs() == [str(got["job_id"])]
