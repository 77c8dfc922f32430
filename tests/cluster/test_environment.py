"""A profile's environment on a real Slurm: in the shell of `attach` and in `create --env`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scratchflow.node.environment.change import parse_dump
from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until
from tests.unit.node.environment.node_home import CONDA_PROGRAM, MODULE_PROGRAM

HOME = "/home/alice"
SHOWN = "/fsx/alice/environment"
RUNS = "/fsx/alice/runs"
STATE = "/scratch/alice/.scratchflow"
# As Lmod's and as Tcl's init files define it.
MANNERS = {
    "lmod": 'export LMOD_CMD=$HOME/tools/modulecmd\nmodule() { eval "$("$LMOD_CMD" bash "$@")"; }',
    "tcl": 'export MODULESHOME="$HOME/tools"',
}
LAYERS = {
    "modules": '["gcc/12"]',
    "after_modules": 'export ORDER="${ORDER}a"',
    "conda": "torch",
    "venv": "env",
    "variables.ORDER": "${ORDER}v",
    "variables.ODD": "$(touch /fsx/alice/canary); 'a' \"b\"",
    "prologue": 'export ORDER="${ORDER}p" ON=$SLURMD_NODENAME; echo x >> /fsx/alice/runs',
}


def _set(layers: dict[str, str]) -> list[str]:
    given = (("--set", f"environment.{key}={value}") for key, value in layers.items())
    return [word for pair in given for word in pair]


@pytest.fixture(params=["lmod", pytest.param("tcl", marks=pytest.mark.slow)])
def home(minicluster: Minicluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """Alice's home with tools that play `module` and conda, and an empty store and scratch."""
    tools = f"{HOME}/tools"
    init = f'module() {{ eval "$({tools}/modulecmd bash "$@")"; }}\n'
    profile = f'PATH="{tools}:$PATH"\n{MANNERS[request.param]}\necho Welcome\n'
    files = {"modulecmd": MODULE_PROGRAM, "conda": CONDA_PROGRAM, "init/bash": init}
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES, SHOWN, RUNS)
    for node in minicluster.node_states():
        beneath = [f"/scratch/alice/{name}" for name in ("work", "env", ".scratchflow")]
        minicluster.exec(node, "rm", "-rf", *beneath)
    (minicluster.shared(tools) / "init").mkdir(parents=True)
    for name, text in files.items():
        file = minicluster.shared(f"{tools}/{name}")
        file.write_text(text)
        file.chmod(0o755)
    minicluster.shared(f"{HOME}/.bash_profile").write_text(profile)
    yield request.param
    minicluster.exec("login", "rm", "-rf", tools, f"{HOME}/.bash_profile", SHOWN)


def _shown_in_shell(minicluster: Minicluster, session: str) -> dict[str, str]:
    """The environment of a program that the session's shell starts."""
    minicluster.exec("login", "rm", "-f", SHOWN)
    asked = f"/usr/bin/env -0 > {SHOWN}.new; mv {SHOWN}.new {SHOWN}"
    tmux = ["runuser", "-u", "alice", "--", "tmux", "-L", "scratchflow"]
    minicluster.exec("login", *tmux, "send-keys", "-t", f"={session}:", asked, "Enter")
    shown = minicluster.shared(SHOWN)
    retry_until(shown.exists, "the shell has told its environment")
    return parse_dump(shown.read_bytes())


@pytest.mark.usefixtures("home")
def test_the_shell_of_attach_has_every_layer_in_order(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    up = laptop.data("up", "--set", "backup.every=1h")
    laptop.data("create", "--env", "venv", "--python", "/usr/bin/python3")
    activate = "/scratch/alice/env/bin/activate"
    append = f"printf '%s\\n' 'export ORDER=\"${{ORDER}}e\"' >> {activate}"
    minicluster.exec(up["node"], "sh", "-c", append)
    found = _shown_in_shell(minicluster, laptop.data("attach", *_set(LAYERS))["session"])
    assert found["ORDER"] == "macevp"
    assert (found["CC"], found["CONDA_PREFIX"], found["ON"]) == ("gcc-12", "torch", up["node"])
    assert found["VIRTUAL_ENV"] == "/scratch/alice/env"
    assert found["PATH"].startswith("/scratch/alice/env/bin:")
    assert found["ODD"] == LAYERS["variables.ODD"]
    assert not minicluster.shared("/fsx/alice/canary").exists()
    assert found["SLURM_JOB_ID"] == str(up["job_id"])
    kept = minicluster.exec(up["node"], "sh", "-c", f"stat -c '%a %U' {STATE}/work/environment*")
    tmux = ["runuser", "-u", "alice", "--", "tmux", "-L", "scratchflow"]
    minicluster.exec("login", *tmux, "kill-server")
    again = _shown_in_shell(minicluster, laptop.data("attach", *_set(LAYERS))["session"])
    assert again["ORDER"] == "macevp"
    assert minicluster.shared(RUNS).read_text() == "x\n"  # computed once
    assert set(kept.stdout.splitlines()) == {"600 alice"}
    assert len(kept.stdout.splitlines()) == 4


@pytest.mark.usefixtures("home")
def test_a_layer_that_fails_on_the_node_is_told_with_its_words(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    up = laptop.data("up", "--set", "backup.every=1h")
    failing = _set({"modules": '["gcc/12", "nosuch"]'})
    lines = laptop.lines("attach", *failing)
    (warned,) = [line for line in lines if line["type"] == "warning"]
    assert warned["code"] == "environment.layer_failed"
    words = f"`environment.modules` failed on {up['node']} at `nosuch`: Lmod has detected"
    assert words in warned["message"]
    assert lines[-1]["exit_code"] == 0
    found = _shown_in_shell(minicluster, lines[-1]["data"]["session"])
    assert "CC" not in found
    refused = laptop.outcome("create", "--env", "venv", *failing)
    assert (refused["code"], refused["exit_code"]) == ("environment.layer_failed", 40)
    assert words in refused["message"]
