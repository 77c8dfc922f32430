"""The agent on a real cluster, over real ssh: installed once from the laptop, it answers everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scratchflow import __version__
from scratchflow.agent.client import call
from scratchflow.agent.delivery.cache import BundleCache
from scratchflow.agent.delivery.install import Installed, install, uninstall
from scratchflow.agent.name import agent_command
from scratchflow.agent.request import asking, encode
from scratchflow.model.errors.agent import AgentMissing
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import Event, Progress
from tests.cluster.minicluster import Minicluster, retry_until
from tests.process_transport import ProcessStream, ProcessTransport

VERSION = asking("version", {}, profile_name="aws", profile={})
PROFILE = {"scratch": "/scratch/$USER", "store": "/fsx/users/$USER/scratchflow"}


def over_ssh(cluster: Minicluster, host: str) -> ProcessTransport:
    ssh = [*cluster.on_laptop, "ssh", "-F", str(cluster.ssh_config), "-o", "BatchMode=yes", host]
    return ProcessTransport(through=ssh, host=host)


@pytest.fixture(scope="module")
def installed(
    minicluster: Minicluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    far = over_ssh(minicluster, "login")
    with pytest.raises(AgentMissing):
        call(far, VERSION, print, command=agent_command())
    cache = BundleCache(tmp_path_factory.mktemp("bundles"))
    yield install(far, profile_name="aws", cache=cache)
    uninstall(far)
    assert minicluster.login("ls", "-A", ".local/share").stdout == ""


def test_it_answers_on_the_login_host(minicluster: Minicluster, installed: Installed) -> None:
    far = over_ssh(minicluster, "login")
    assert call(far, VERSION, print, command=agent_command()) == {"version": __version__}
    assert installed.path.startswith("/home/alice/.local/share/scratchflow/agent/")
    assert install(far, profile_name="aws").was_there


def test_it_backs_up_on_a_node_through_the_jump(
    restored_minicluster: Minicluster, installed: Installed
) -> None:
    assert not installed.was_there
    cluster = restored_minicluster
    cluster.allocate("node-2")
    far = over_ssh(cluster, "node-2")
    cluster.ssh(
        "node-2", "sh", "-c", 'mkdir -p "/scratch/$USER/work" && echo hi > "/scratch/$USER/work/f"'
    )
    events: list[Event] = []
    request = asking("backup", {}, profile_name="aws", profile=PROFILE)
    taken = call(far, request, events.append, command=agent_command())
    assert (taken["kind"], taken["files"]) == ("full", 1)
    assert any(isinstance(event, Progress) for event in events)
    listed = asking("snapshots list", {}, profile_name="aws", profile=PROFILE)
    (row,) = call(far, listed, print, command=agent_command())["snapshots"]
    assert (row["id"], row["node"]) == (taken["snapshot"], "node-2")


@pytest.mark.usefixtures("job_steps")
def test_it_answers_as_a_step_of_the_job(
    restored_minicluster: Minicluster, installed: Installed
) -> None:
    assert not installed.was_there
    job = restored_minicluster.allocate("node-1")
    command = ["srun", f"--jobid={job}", "--overlap", "--ntasks=1", *agent_command()]
    far = over_ssh(restored_minicluster, "login")
    assert call(far, VERSION, print, command=command) == {"version": __version__}
    done = far.run(command, stdin=encode(VERSION), timeout_s=60)
    assert b'"role":"node"' in done.stdout


def agents_running(cluster: Minicluster, host: str) -> bool:
    return cluster.exec(host, "pgrep", "-f", "run.py agent", check=False).returncode == 0


def test_it_ends_when_the_laptop_is_gone(
    restored_minicluster: Minicluster, installed: Installed
) -> None:
    assert not installed.was_there
    cluster = restored_minicluster
    cluster.allocate("node-3")
    far = over_ssh(cluster, "node-3")
    cluster.ssh("node-3", "sh", "-c", 'mkdir -p "/scratch/$USER/work"')
    profile = PROFILE | {"store": "/scratch/$USER/store"}
    request = asking("backup", {"allow_shrink": True}, profile_name="aws", profile=profile)
    call(far, request, lambda _: None, command=agent_command())
    # Somebody else's lock keeps the next one waiting.
    cluster.ssh(
        "node-3",
        "sh",
        "-c",
        'cd "/scratch/$USER/store/work" && mkdir lock.d && touch lock.d/owner.json',
    )
    stream = far.stream(agent_command(), stdin=encode(request), hold_stdin=True)
    assert b'"hello"' in next(iter(stream))
    assert agents_running(cluster, "node-3")
    stream.process.kill()
    retry_until(lambda: not agents_running(cluster, "node-3"), "the agent ends", deadline_s=30)
    stream.close()


def test_a_node_that_dies_is_a_lost_connection(
    restored_minicluster: Minicluster, installed: Installed
) -> None:
    assert not installed.was_there
    cluster = restored_minicluster
    cluster.allocate("node-3")
    cluster.ssh(
        "node-3",
        "sh",
        "-c",
        'mkdir -p "/scratch/$USER/store/work/lock.d" && touch "/scratch/$USER/store/work/lock.d/owner.json"',
    )
    profile = PROFILE | {"store": "/scratch/$USER/store"}
    request = asking("backup", {}, profile_name="aws", profile=profile)

    class Crashing(ProcessTransport):
        """Cuts the node's power when the agent has begun."""

        def stream(self, *args: Any, **kwargs: Any) -> ProcessStream:
            stream = super().stream(*args, **kwargs)
            retry_until(lambda: agents_running(cluster, "node-3"), "the agent runs")
            cluster.run("crash", "node-3")
            return stream

    ssh = ["ssh", "-F", str(cluster.ssh_config), "-o", "ServerAliveInterval=2"]
    far = Crashing(through=[*ssh, "-o", "ServerAliveCountMax=2", "node-3"], host="node-3")
    with pytest.raises((ConnectionLost, AgentMissing)):
        call(far, request, lambda _: None, command=agent_command())
