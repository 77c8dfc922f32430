"""`config get|unset` with the real program and a file that the user wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.cli.written_file import FILE, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("key", "printed"),
    [
        ("store", "/fsx/s\n"),
        ("slurm.gpus", "2\n"),
        ("slurm.extra", '["--oversubscribe"]\n'),
        ("slurm.time", "8:00:00\n"),
        ("slurm.cpus_per_task", ""),
        ("environment.variables", '{CCACHE_DIR = "/tmp/c"}\n'),
        ("environment.variables.CCACHE_DIR", "/tmp/c\n"),
        ("default_profile", "uni\n"),
        ("profiles.uni.slurm.gpus", "2\n"),
        ("profiles.local.scheduler", "none\n"),
    ],
)
def test_get_prints_the_value_in_force_alone(machine: Machine, key: str, printed: str) -> None:
    done = machine.run("config", "get", key)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_get_says_where_a_value_came_from(machine: Machine) -> None:
    assert machine.data("config", "get", "slurm.gpus")["origin"] == str(machine.file)
    assert machine.data("config", "get", "slurm.time")["origin"] == "default"
    shown = machine.data("config", "get", "slurm.gpus", "--set", "slurm.gpus=1")
    assert (shown["value"], shown["origin"]) == (1, "--set")


@pytest.mark.parametrize("verb", ["get", "unset"])
@pytest.mark.parametrize("key", ["slurm.gpu", "profiles.uni.slurm.gpu"])
def test_a_key_that_does_not_exist_is_told_with_the_one_that_does(
    machine: Machine, verb: str, key: str
) -> None:
    refused = machine.outcome("config", verb, key)
    assert refused["code"] == "config.unknown_key"
    assert f'in config {verb}; did you mean "slurm.gpus"?' in refused["message"]


def test_unset_takes_one_line_out_and_leaves_the_rest(machine: Machine) -> None:
    shown = machine.data("config", "unset", "slurm.gpus", "--dry-run")
    assert "-gpus = 2" in shown["diff"]
    assert machine.file.read_text() == FILE
    machine.data("config", "unset", "slurm.gpus")
    assert machine.file.read_text() == FILE.replace("gpus = 2\n", "")
    again = machine.run("config", "unset", "slurm.gpus")
    assert "`profiles.uni.slurm.gpus` is not set in" in again.stdout
    machine.data("config", "unset", "default_profile")
    assert "default_profile" not in machine.file.read_text()


def test_a_change_ends_with_where_it_is_saved(machine: Machine) -> None:
    saved = f"✓ saved in `{machine.file}`\n"
    assert "✓" not in machine.run("config", "set", "slurm.gpus", "3", "--dry-run").stdout
    assert machine.run("config", "set", "slurm.gpus", "3").stdout.endswith(saved)
    assert "✓" not in machine.run("config", "set", "slurm.gpus", "3").stdout
    assert machine.run("config", "unset", "slurm.gpus").stdout.endswith(saved)
