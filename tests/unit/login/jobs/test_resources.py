"""What a job asks for: the profile's resources, then those of its script, then what was typed."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.request import resource_options
from scratchflow.login.jobs.resources import left_to_script, resources_of
from scratchflow.model.profile import SlurmOptions
from scratchflow.model.requests import Submit

PROFILE = SlurmOptions(time="8:00:00", mem="4G")


@pytest.mark.parametrize("option", ["--nodes=2", "-N2", "--nodes=2-4"])
def test_nodes_that_an_option_of_sbatch_asks_for_have_a_task_each(option: str) -> None:
    for asked, extra in ((Submit(sbatch=(option,)), []), (Submit(), [option])):
        options = SlurmOptions(extra=extra)
        table = resources_of(options, asked, [])
        assert (table["nodes"], table["ntasks"]) == (2, 1)
        known = SlurmOptions(nodes=table["nodes"], ntasks=table["ntasks"])
        assert {"--nodes=2", "--ntasks=2"} <= set(resource_options(known))


def test_of_the_same_option_in_script_and_sbatch_the_last_one_counts() -> None:
    table = resources_of(PROFILE, Submit(sbatch=("--ntasks=8",)), ["--ntasks=4", "-N", "2"])
    assert (table["nodes"], table["ntasks"]) == (2, 8)


def test_what_a_script_asks_for_is_left_to_it_unless_it_was_typed() -> None:
    table = resources_of(PROFILE, Submit(given=("mem",)), ["--time=3", "--mem=1G", "--nodes=x"])
    assert (table["time"], table["mem"], table["nodes"]) == ("", "4G", 1)


def test_what_the_script_asks_for_is_known_where_nothing_that_was_typed_wins() -> None:
    script = ["--time=3", "--mem=1G", "-N", "2", "-G", "1", "--gres=x:1"]
    asked = Submit(given=("mem",), sbatch=("--gres=x:2",))
    table = resources_of(PROFILE, asked, script)
    assert left_to_script(table, script, asked.sbatch) == {"time": "3", "gpus": 1}
    assert left_to_script({**table, "time": "9"}, script, ["-G2"]) == {"gres": "x:1"}
