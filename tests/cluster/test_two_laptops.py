"""Two laptops of one user, in the same moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster.laptop import SETUP, Laptop
from tests.cluster.minicluster import Minicluster

ROUNDS = 4


@pytest.mark.parametrize("verb", ["up", "allocate"])
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
        assert [one["exit_code"] for one in ended] == [0, 0], ended
        assert [str(one["data"]["job_id"]) for one in ended] == 2 * minicluster.jobs()
        assert laptop.ssh("hostname").stdout == second.ssh("hostname").stdout != ""
        laptop.data("clear", "--no-backup")
