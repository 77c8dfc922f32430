"""200 ssh configs, and 8 scratchflows at once: nothing of the user's is lost, nothing is torn.

SCRATCHFLOW_THOROUGH=1 asks ssh at every step of every config, which takes minutes.
"""

from __future__ import annotations

import os
import stat
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from scratchflow.ssh.config import alias as alias_module
from scratchflow.ssh.config.alias import park_alias, point_alias, read_alias, remove_files
from scratchflow.ssh.config.alias_text import PARKED, AliasTarget
from scratchflow.ssh.config.include import apply, plan_install, plan_remove
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import ResolvedHost
from tests.unit.ssh.configs import MadeConfig, made_config
from tests.unit.ssh.conftest import ssh_view

THOROUGH = bool(os.environ.get("SCRATCHFLOW_THOROUGH"))
CONFIGS, CHUNK = 200, 20
ALIAS = "compile_machine"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, CONFIGS, CHUNK))
def test_install_update_and_remove_give_every_config_back(
    tmp_path: Path, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(first, first + CHUNK):
        # One config of each chunk has ssh read each candidate and the disk sync it: 4,000 are slow.
        if seed == first + 1 and not THOROUGH:
            monkeypatch.setattr(alias_module, "_leads_to", lambda *_: True)
            monkeypatch.setattr(alias_module, "resolve", parse_only)
            monkeypatch.setattr(os, "fsync", lambda _: None)
        live_through(made_config(seed), tmp_path / str(seed))


def parse_only(alias: str, *, config: Path) -> ResolvedHost:
    return ResolvedHost(name=alias, hostname=str(config), user="")


def live_through(made: MadeConfig, directory: Path) -> None:
    places = lay_out(made, directory)
    resolved = ssh_view(places.config, made.host)
    others = all_views(made, places)
    apply(plan_install(places))
    assert ssh_view(places.config, made.host) == resolved
    for number in range(20):
        point_alias(places, ALIAS, AliasTarget("p", f"node-{number}", "ada", "login"))
        if THOROUGH:
            assert ssh_view(places.config, made.host) == resolved
    code, shown = ssh_view(places.config, ALIAS)
    # A byte-order mark stops ssh before and after us alike.
    assert (code, "hostname node-19\n" in shown) == (
        (0, True) if resolved[0] == 0 else (255, False)
    )
    assert ssh_view(places.config, made.host) == resolved
    assert all_views(made, places) == others
    apply(plan_remove(places))
    remove_files(places)
    assert places.config.read_bytes() == made.content
    assert stat.S_IMODE(places.config.stat().st_mode) == made.mode
    assert places.config.is_symlink() == made.symlinked
    assert ssh_view(places.config, made.host) == resolved
    assert all_views(made, places) == others
    assert [file.name for file in places.config.parent.iterdir()] == ["config"]


def all_views(made: MadeConfig, places: SshPaths) -> list[tuple[int, str]]:
    """What ssh makes of every other host, where there is the time to ask."""
    return [ssh_view(places.config, host) for host in made.hosts] if THOROUGH else []


def lay_out(made: MadeConfig, directory: Path) -> SshPaths:
    places = SshPaths(directory / ".ssh" / "config")
    places.config.parent.mkdir(parents=True)
    real = places.config
    if made.symlinked:
        real = directory / "dotfiles"
        places.config.symlink_to(real)
    real.write_bytes(made.content)
    real.chmod(made.mode)
    return places


def update(config: Path, worker: int) -> None:
    places = SshPaths(config)
    apply(plan_install(places))
    for number in range(50):
        point_alias(places, f"alias-{worker}-{number}", AliasTarget("p", "n", "ada", "login"))
        if number % 2:
            point_alias(places, "shared", AliasTarget("p", f"n{worker}", "ada", "login"))
        else:
            park_alias(places, "shared")


def read_until(config: Path, over: Event, torn: Event) -> None:
    places = SshPaths(config)
    while not over.is_set():
        seen = read_alias(places, "shared")
        view = ssh_view(config, "shared")[1]
        whole = "hostname parked.invalid\n" in view or "hostkeyalias p-n" in view
        if not (seen is PARKED or isinstance(seen, AliasTarget)) or not whole:
            torn.set()


@pytest.mark.slow
def test_eight_at_once_lose_nothing_and_no_reader_sees_half(places: SshPaths) -> None:
    places.config.write_bytes(b"Host mine\n  User me\n")
    park_alias(places, "shared")
    apply(plan_install(places))
    context = get_context("fork")
    over, torn = context.Event(), context.Event()
    reader = context.Process(target=read_until, args=(places.config, over, torn))
    writers = [context.Process(target=update, args=(places.config, n)) for n in range(8)]
    for process in [reader, *writers]:
        process.start()
    for process in writers:
        process.join()
    over.set()
    reader.join()
    assert [process.exitcode for process in [reader, *writers]] == [0] * 9
    assert not torn.is_set()
    names = [f"alias-{worker}-{number}" for worker in range(8) for number in range(50)]
    assert sum(isinstance(read_alias(places, name), AliasTarget) for name in names) == 400
    assert "user me\n" in ssh_view(places.config, "mine")[1]
    apply(plan_remove(places))
    assert places.config.read_bytes() == b"Host mine\n  User me\n"


def install_only(config: Path) -> None:
    apply(plan_install(SshPaths(config)))


def test_eight_installs_at_once_put_in_one_block(places: SshPaths) -> None:
    places.config.write_bytes(b"Host mine\n")
    context = get_context("fork")
    workers = [context.Process(target=install_only, args=(places.config,)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert places.config.read_bytes().count(b"Include") == 1
    apply(plan_remove(places))
    assert places.config.read_bytes() == b"Host mine\n"
