"""The auto-backup goes on when the agent that it was started from is removed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from scratchflow.agent.delivery import install as installing
from scratchflow.agent.delivery.cache import BundleCache
from scratchflow.agent.delivery.install import install
from scratchflow.agent.name import agent_command
from scratchflow.agent.request import asking, encode
from scratchflow.config.settings import local_profile
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import Autobackup
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place
from tests.process_transport import ProcessTransport, bare_environment
from tests.unit.agent.delivery.this_machine import this_host

DEADLINE_S = 60.0


def until(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_a_loop_whose_agent_is_removed_saves_what_comes_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, scratch, store = (tmp_path / name for name in ("home", "scratch", "store"))
    home.mkdir()
    monkeypatch.setattr(installing, "probe", lambda *_: this_host(str(home)))
    far = ProcessTransport(bare_environment(home))
    agent = Path(install(far, profile_name="aws", cache=BundleCache(tmp_path / "bundles")).path)

    work = scratch / "work"
    work.mkdir(parents=True)
    (work / "file").write_text("first")
    place = find_place(store, "work")

    def ids() -> list[str]:
        return [one.id for one in read_catalogue(place).snapshots]

    plain = to_plain(local_profile())
    plain |= {"scheduler": "none", "scratch": str(scratch), "store": str(store)}
    plain["backup"] = {**plain["backup"], "every": "1s", "keep_last": 2, "full_every": "1s"}
    options = msgspec.to_builtins(Autobackup(token="t"))  # noqa: S106 - no secret
    request = asking("autobackup run", options, profile_name="aws", profile=plain, hold_stdin=False)
    loop = subprocess.Popen(
        agent_command(), stdin=subprocess.PIPE, env=bare_environment(home), cwd=tmp_path
    )
    try:
        assert loop.stdin
        loop.stdin.write(encode(request))
        loop.stdin.close()
        # It has given a sign of life, and has not saved anything yet or hardly anything.
        log = store / "work" / "heartbeats"
        until(lambda: log.is_dir() and any(log.glob("*.json")), "no sign of life")
        shutil.rmtree(agent.parent)
        (work / ".scratchignore").write_text(
            "/build/**/x?.o\n"
        )  # patterns need a library that was not needed yet
        for number in range(3):
            before = set(ids())
            (work / "file").write_text(f"after the agent went, {number}")
            (work / f"new{number}").write_text("x" * 100_000)
            until(
                lambda before=before: set(ids()) - before != set(),  # type: ignore[misc]
                "no snapshot came: " + "".join(path.read_text() for path in log.glob("*.log")),
            )
        (work / "last").write_text("last")
        loop.send_signal(signal.SIGTERM)
        assert loop.wait(DEADLINE_S) == 0
    finally:
        loop.kill()
        loop.wait()
    said = "".join(path.read_text() for path in log.glob("*.log"))
    assert "failed" not in said
    assert "ended: the job was told to end" in said
