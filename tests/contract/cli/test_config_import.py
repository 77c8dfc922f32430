"""`config import` with the real program: every key is told, to people and to programs alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.cli.written_file import FILE, Machine
from tests.contract.test_json_protocol import checked

SOURCE = """
contexts:
  lab:
    context_name: lab
    backend_type: slurm
    slurm_url: alice@lab
    storage_dir: /net/lab
    neptune: true
    resources: {cpu: 2, mem: 5G}
    env: {LAB_TOKEN: hush}
  kube: {backend_type: kubernetes, registry_url: r}
current_context: lab
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "config.yaml").write_text(SOURCE)
    return Machine(tmp_path)


def run(machine: Machine, *flags: str) -> tuple[int, str, str]:
    done = machine.run("config", "import", str(machine.home / "config.yaml"), *flags)
    return done.returncode, done.stdout, done.stderr


def test_people_see_the_fate_of_every_key_and_the_change(machine: Machine) -> None:
    code, shown, _ = run(machine, "--dry-run")
    assert code == 0
    rows = [line.split(None, 1) for line in shown.splitlines()]
    for key, fate in {
        "context_name": "the profile's name",
        "backend_type": "scheduler = slurm",
        "slurm_url": "login = alice@lab",
        "neptune": "not taken: scratchflow does not work with neptune",
        "resources.cpu": "slurm.cpus_per_task = 2",
        "resources.mem": "slurm.mem = 5G",
        "current_context": "not taken: the default stays `uni`",
    }.items():
        assert [key, fate] in rows
    assert "context `kube` is not taken: it is a Kubernetes context" in shown
    assert "its keys: backend_type, registry_url" in shown
    assert "+[profiles.lab.slurm]" in shown
    assert "hush" not in shown
    assert machine.file.read_text() == FILE


def test_with_yes_it_is_written_and_the_next_step_told(machine: Machine) -> None:
    code, shown, _ = run(machine, "--yes")
    assert code == 0
    assert shown.endswith("Next: scratchflow up -p lab\n")
    assert machine.file.read_text().startswith(FILE)
    assert machine.run("config", "get", "slurm.mem", "-p", "lab").stdout == "5G\n"
    _, again, _ = run(machine, "--yes")
    assert again.endswith("nothing to add\n")


def test_programs_get_the_same_and_without_yes_nothing_is_written(machine: Machine) -> None:
    code, shown, _ = run(machine, "--json", "--dry-run")
    data = checked(shown, code)[-1]["data"]
    lab, kube = data["contexts"]
    assert (lab["profile"], lab["state"], kube["profile"], kube["state"]) == (
        "lab",
        "new",
        None,
        "not_ours",
    )
    told = {one["key"]: one for one in lab["keys"]}
    assert told["slurm_url"]["settings"] == {"login": "alice@lab"}
    assert (told["env.LAB_TOKEN"]["value"], told["env.LAB_TOKEN"]["taken"]) == ("***", False)
    code, shown, _ = run(machine, "--json")
    assert checked(shown, code)[-1]["code"] == "usage.declined"
    assert machine.file.read_text() == FILE


def test_a_file_that_is_not_mrunners_is_an_error_with_its_place(machine: Machine) -> None:
    (machine.home / "config.yaml").write_text("contexts: [\n")
    code, _, told = run(machine, "--yes")
    assert code == 10
    assert "config.yaml" in told
    assert "(line 2)" in told
    assert "hint: it has to be mrunner's" in told
