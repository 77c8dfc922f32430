"""Bundles with wheels fetched for other Pythons and machines, through pip as it is set up here.

The only tests that reach for a package index.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from scratchflow.agent.client import call
from scratchflow.agent.delivery import distributions as installed
from scratchflow.agent.delivery import wheels as fetch
from scratchflow.agent.delivery.bundle import assemble
from scratchflow.agent.delivery.cache import BundleCache
from scratchflow.agent.delivery.install import install
from scratchflow.agent.delivery.needs import needs_for
from scratchflow.agent.delivery.target import Target
from scratchflow.agent.name import agent_command
from scratchflow.agent.request import asking
from scratchflow.model.errors.agent import BundleFailed
from tests.process_transport import ProcessTransport, bare_environment
from tests.unit.agent.delivery.this_machine import this_target

# They take as long as the index does.
pytestmark = pytest.mark.slow
SYSTEM_PYTHON = "/usr/bin/python3"
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}


@pytest.fixture(scope="session")
def old_cluster() -> tuple[Target, dict[str, bytes]]:
    """The oldest that is supported: Python 3.10, glibc 2.17, and another machine than this."""
    machine = "aarch64" if this_target().machine == "x86_64" else "x86_64"
    target = Target((3, 10, 4), machine, (2, 17))
    return target, assemble(target)


def test_compiled_parts_are_for_the_clusters_machine(
    old_cluster: tuple[Target, dict[str, bytes]],
) -> None:
    target, files = old_cluster
    compiled = {path: content for path, content in files.items() if path.endswith(".so")}
    assert {path.split("/")[0] for path in compiled} >= {"msgspec", "lz4", "xxhash"}
    for path, content in compiled.items():
        assert content[18] == ELF_MACHINES[target.machine], path
        assert "310" in path or "abi3" in path


def test_a_cluster_with_an_older_python_gets_what_that_needs(
    old_cluster: tuple[Target, dict[str, bytes]],
) -> None:
    _, files = old_cluster
    for need in needs_for((3, 10)):
        folder = need.module.split(".")[0]
        assert f"{folder}/__init__.py" in files, folder
    assert "tomli/__init__.py" in files


def test_a_fetched_bundle_runs_on_the_systems_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is compiled is fetched, for whatever Python the system has."""
    if not shutil.which("python3", path="/usr/bin"):
        pytest.fail(f"{SYSTEM_PYTHON} is missing")
    monkeypatch.setattr(installed, "_tags_fit", lambda wheel, _: "-none-any" in (wheel or ""))
    far = ProcessTransport(bare_environment(tmp_path))
    done = install(far, profile_name="aws", cache=BundleCache(tmp_path / "bundles"))
    assert not done.was_there
    profile = {"scratch": str(tmp_path / "s"), "store": str(tmp_path / "t"), "scheduler": "none"}
    request = asking("create", {}, profile_name="aws", profile=profile)
    assert call(far, request, lambda _: None, command=agent_command())["snapshot"]
    environment = {"HOME": str(tmp_path)}
    run = Path(done.path).glob("cp*/run.py").__next__()
    help_text = subprocess.run(
        [done.python, "-I", "-S", str(run), "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "snapshots" in help_text.stdout


def test_the_pip_inside_python_fetches_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "/nowhere")
    names = [fetcher.name for fetcher in fetch.fetchers()]
    if names != ["ensurepip"]:
        pytest.skip("this Python carries no pip of its own")
    version = installed.installed_version("xxhash", this_target())
    fetch.fetch([f"xxhash=={version}"], this_target(), tmp_path / "into")
    assert (tmp_path / "into/xxhash/__init__.py").exists()


def test_what_does_not_exist_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_ensurepip_wheel", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BundleFailed, match=r"xxhash==0\.0\.0\.1") as caught:
        fetch.fetch(["xxhash==0.0.0.1"], this_target(), tmp_path / "into")
    assert "://" not in str(caught.value)
