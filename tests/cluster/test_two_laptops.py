"""Two laptops of one user, in the same moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster.laptop import SETUP, Laptop
from tests.cluster.minicluster import Minicluster

ROUNDS = 2


@pytest.mark.parametrize("verb", ["up", pytest.param("allocate", marks=pytest.mark.slow)])
def test_two_laptops_that_start_at_once_get_one_node(
    laptop: Laptop, minicluster: Minicluster, tmp_path: Path, verb: str
) -> None:
    second = Laptop(tmp_path, minicluster)
    second.data(*SETUP, "--yes")
    second.data("config", "set", "slurm.time", "10:00")
    # Who is granted first, and who asks while the other does, differs from round to round.
    for _ in range(ROUNDS):
        started = [one.begin(verb, "--json") for one in (laptop, second)]
        ended = [json.loads(one.communicate()[0].splitlines()[-1]) for one in started]
        assert [one["exit_code"] for one in ended] == [0, 0], json.dumps(ended)
        assert [str(one["data"]["job_id"]) for one in ended] == 2 * minicluster.jobs()
        assert laptop.ssh("hostname").stdout == second.ssh("hostname").stdout != ""
        laptop.data("clear", "--no-backup")


def test_up_goes_on_with_its_own_job_while_another_run_still_holds_a_younger_one(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    with laptop.begin("up", "--node", "1", "--json") as process:
        assert process.stdout is not None
        assert any('"state":"running"' in line for line in process.stdout)
        minicluster.allocate("node-2", "--job-name=scratchflow:mini:deadbeef")
        ended = json.loads(process.communicate()[0].splitlines()[-1])
    assert ended["exit_code"] == 0, ended
    assert (ended["data"]["node"], ended["data"]["autobackup"]["node"]) == ("node-1", "node-1")
