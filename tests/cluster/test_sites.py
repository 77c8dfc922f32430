"""`setup` on clusters that look like the Alliance's and like Mila's: it says so, and proposes what is known of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.laptop import SHORT, Laptop
from tests.cluster.minicluster import Minicluster

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("job_steps")]
# No `--store`, no `--scratch`, no `--account`: these are the site's to propose.
SETUP = ("setup", "login", "--name", "mini", "--yes", *SHORT)
# The words of the Alliance's own filter.
JOB_SUBMIT = """
function slurm_job_submit(job_desc, part_list, submit_uid)
    if job_desc.account == nil then
        slurm.log_user("You are associated with multiple _cpu allocations...")
        slurm.log_user("Please specify one of the following accounts to submit this job:")
        slurm.log_user("  RAS default accounts: def-prof, def-other,")
        slurm.log_user("          RAC accounts: rrg-prof,")
        slurm.log_user("Use the parameter --account=desired_account when submitting your job")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end
"""
ALLIANCE = """
export CC_CLUSTER=mini SCRATCH=/fsx/scratch/$USER PROJECT=/fsx/project/def-prof
"""


@pytest.fixture(scope="module")
def minicluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minicluster]:
    """A cluster of its own, whose jobs have a directory that goes with them."""
    settings = {"MC_JOB_TMPDIR": "1", "MC_NODES": "1"}
    cluster = Minicluster(tmp_path_factory.mktemp("site") / "state", settings)
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


@pytest.fixture
def laptop(minicluster: Minicluster, tmp_path: Path) -> Laptop:
    return Laptop(tmp_path, minicluster)


def write(cluster: Minicluster, path: str, text: str) -> None:
    cluster.exec("login", "sh", "-c", 'printf %s "$1" > "$2"', "sh", text, path)


@pytest.fixture
def alliance(minicluster: Minicluster) -> Iterator[Minicluster]:
    """Its variables, project space, and the filter that takes no job without an account."""
    write(minicluster, "/etc/profile.d/site.sh", ALLIANCE)
    for path in ("/fsx/project/def-prof/alice", "/fsx/scratch/alice"):
        minicluster.exec("login", "install", "-d", "-o", "alice", path)
    write(minicluster, "/etc/slurm/job_submit.lua", JOB_SUBMIT)
    plugin = "JobSubmitPlugins=lua"
    minicluster.exec("login", "sh", "-c", f"echo {plugin} >> /etc/slurm/slurm.conf")
    minicluster.exec("login", "scontrol", "reconfigure")
    yield minicluster
    minicluster.exec("login", "sed", "-i", f"/{plugin}/d", "/etc/slurm/slurm.conf")
    minicluster.exec("login", "scontrol", "reconfigure")
    minicluster.exec("login", "rm", "/etc/profile.d/site.sh", "/etc/slurm/job_submit.lua")


@pytest.fixture
def mila(minicluster: Minicluster) -> Iterator[Minicluster]:
    """Its directories."""
    minicluster.exec("login", "mkdir", "-p", "/home/mila", "/network/scratch")
    yield minicluster
    minicluster.exec("login", "rmdir", "/home/mila", "/network/scratch", "/network")


def values(done: dict[str, Any]) -> dict[str, str]:
    return {one["key"]: one["value"] for one in done["values"]}


def test_on_the_alliance_the_proposal_works_as_it_is(laptop: Laptop, alliance: Minicluster) -> None:
    refused = alliance.login("salloc", "--no-shell", "--time=1", check=False)
    assert refused.returncode != 0
    assert "specify one of the following accounts" in refused.stderr

    lines = laptop.lines(*SETUP)
    assert lines[-1]["type"] == "summary", lines[-1]
    done = lines[-1]["data"]
    assert done["site"] == "alliance"
    (said,) = [line for line in lines if line["type"] == "check" and line["name"] == "site"]
    assert "$CC_CLUSTER is set there" in said["detail"]
    assert any("no internet" in line.get("message", "") for line in lines)
    found = values(done)
    assert found["scratch"] == "$SLURM_TMPDIR"
    assert found["store"] == "$PROJECT/$USER/scratchflow"
    assert found["slurm.account"] == "def-prof"
    reasons = {one["key"]: one["reason"] for one in done["values"]}
    assert "others: def-other, rrg-prof" in reasons["slurm.account"]

    up = laptop.data("up")
    assert up["workspace"]["path"] == f"/localscratch/alice.{up['job_id']}.0/work"
    job = alliance.login("scontrol", "show", "job", str(up["job_id"])).stdout
    assert "Account=def-prof" in job
    saved = laptop.data("backup")["snapshot"]
    kept = alliance.login("ls", "/fsx/project/def-prof/alice/scratchflow/work").stdout
    assert f"{saved}.json" in kept
    laptop.data("clear")


@pytest.mark.usefixtures("alliance")
def test_the_users_word_wins_over_the_site(laptop: Laptop) -> None:
    own = ("--account", "rrg-prof", "--store", "/fsx/$USER/store", "--dry-run")
    found = values(laptop.data(*SETUP, *own))
    assert found["slurm.account"] == "rrg-prof"
    assert found["store"] == "/fsx/$USER/store"
    assert found["scratch"] == "$SLURM_TMPDIR"
    other = laptop.data(*SETUP, "--site", "generic", "--dry-run")
    assert other["site"] == ""
    assert values(other)["store"] != "$PROJECT/$USER/scratchflow"
    assert values(other)["slurm.account"] == "def-prof"  # Slurm itself says that it needs one


@pytest.mark.usefixtures("mila")
def test_on_mila_the_proposal_is_the_jobs_directory_and_the_home(laptop: Laptop) -> None:
    lines = laptop.lines(*SETUP, "--dry-run")
    done = lines[-1]["data"]
    assert done["site"] == "mila", done
    (said,) = [line for line in lines if line["type"] == "check" and line["name"] == "site"]
    assert "/home/mila and /network/scratch are there" in said["detail"]
    found = values(done)
    assert (found["scratch"], found["store"]) == ("$SLURM_TMPDIR", "~/scratchflow")
    assert "slurm.account" not in found
    reasons = {one["key"]: one["reason"] for one in done["values"]}
    assert reasons["scratch"].startswith("mila: ")


def test_a_cluster_without_marks_is_no_site(laptop: Laptop) -> None:
    lines = laptop.lines(*SETUP, "--dry-run")
    assert lines[-1]["data"]["site"] == ""
    assert not [line for line in lines if line["type"] == "check" and line["name"] == "site"]
