"""The global options mean the same wherever they stand on the line."""

from __future__ import annotations

from tests.contract.test_json_protocol import run


def test_options_mean_the_same_before_and_after_the_verb(environment: dict[str, str]) -> None:
    places = [
        ["-p", "local", "--set", "slurm.gpus=2", "config", "show"],
        ["config", "-p", "local", "--set", "slurm.gpus=2", "show"],
        ["config", "show", "-p", "local", "--set", "slurm.gpus=2"],
        ["--set", "slurm.gpus=2", "config", "show", "--profile=local"],
    ]
    outputs = {run(environment, *place).stdout for place in places}
    assert len(outputs) == 1
    assert "gpus = 2" in outputs.pop()
