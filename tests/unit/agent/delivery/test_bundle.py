"""A bundle holds all that is imported, nothing that is not needed, and the same bytes each time."""

from __future__ import annotations

import ast
import gzip
import io
import os
import re
import stat
import sys
import tarfile
from pathlib import Path

import pytest

from scratchflow import __version__
from scratchflow.agent.delivery import bundle
from scratchflow.agent.delivery import wheels as fetch
from scratchflow.agent.delivery.bundle import assemble, collect_parts, make_bundle, pack
from scratchflow.agent.delivery.cache import BundleCache
from scratchflow.agent.delivery.distributions import copy_installed, installed_version, is_wanted
from scratchflow.agent.delivery.markers import normal_name
from scratchflow.agent.delivery.needs import LEFT_OUT, NEEDS, needs_for
from scratchflow.agent.delivery.source import agent_name, package_files
from scratchflow.agent.delivery.target import Target
from scratchflow.agent.delivery.wheels import fetchers
from scratchflow.model.errors import BundleFailed
from tests.unit.agent.delivery.this_machine import send_only_the_least, this_target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[4]


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"scratchflow", "tomllib"}


def test_every_import_of_the_package_goes_along_or_stays_for_a_reason() -> None:
    covered = {need.module.partition(".")[0] for need in NEEDS}
    for path in (ROOT / "scratchflow").rglob("*.py"):
        extra = imports_of(path) - covered - {"setuptools"}
        allowed = set(LEFT_OUT) if "ssh" in path.relative_to(ROOT).parts else set()
        assert extra <= allowed, path


def test_every_dependency_goes_along_or_stays_for_a_reason() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {normal_name(re.split(r"[><=;]", line)[0].strip()) for line in declared}
    assert names == {need.distribution for need in NEEDS} | set(LEFT_OUT)


def test_what_stays_on_the_laptop_is_not_in_the_bundle() -> None:
    parts = collect_parts(this_target())
    assert set(parts) & {"paramiko", "cryptography", "bcrypt", "pynacl", "cffi", "pytest"} == set()
    assert {need.distribution for need in needs_for(this_target().python)} <= set(parts)


def test_the_package_goes_byte_for_byte() -> None:
    files = assemble(this_target())
    for path in ("scratchflow/__init__.py", "scratchflow/agent/there/start.sh"):
        assert files[path] == (ROOT / path).read_bytes()
    unwanted = ("__pycache__", ".pyc", "scratchflow/testing", "RECORD", "INSTALLER", "bin/")
    assert [path for path in files if any(word in path for word in unwanted)] == []


def test_equal_parts_give_equal_bytes() -> None:
    files = package_files()
    assert pack(files) == pack(dict(reversed(files.items())))
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(pack(files)))) as archive:
        members = archive.getmembers()
    assert {(one.mtime, one.uid, one.uname, one.mode) for one in members} == {
        (315532800, 0, "", 0o600)
    }


def test_the_name_says_version_and_content(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch(re.escape(__version__) + r"-[0-9a-f]{12}", agent_name())
    changed = {**package_files(), "scratchflow/new.py": b""}
    monkeypatch.setattr("scratchflow.agent.delivery.source.package_files", lambda: changed)
    before = agent_name()
    agent_name.cache_clear()
    after = agent_name()
    agent_name.cache_clear()
    assert before != after


def test_a_bundle_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send_only_the_least(monkeypatch)
    cache = BundleCache(tmp_path / "bundles")
    first = make_bundle(this_target(), cache)
    monkeypatch.setattr(bundle, "assemble", lambda _: pytest.fail("made again"))
    assert make_bundle(this_target(), cache) == first
    (kept,) = (tmp_path / "bundles").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_a_damaged_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send_only_the_least(monkeypatch)
    cache = BundleCache(tmp_path)
    first = make_bundle(this_target(), cache)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert make_bundle(this_target(), cache) == first


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = BundleCache(tmp_path / "file/bundles")
    cache.put("key", b"x")
    assert cache.get("key") is None


def test_the_cache_keeps_the_newest(tmp_path: Path) -> None:
    cache = BundleCache(tmp_path)
    for number in range(12):
        cache.put(f"key{number}", b"x")
        os.utime(next(tmp_path.glob(f"key{number}.*")), (number, number))
    assert cache.get("key11") == b"x"
    assert cache.get("key0") is None


@pytest.mark.parametrize(
    ("tag", "fits"),
    [
        ("py3-none-any", True),
        ("py310-none-any", True),
        ("py312-none-any", False),
        ("py2-none-any", False),
        ("cp311-cp311-manylinux_2_17_x86_64", True),
        ("cp311-cp311-manylinux2014_x86_64", True),
        ("cp311-cp311-manylinux_2_28_x86_64", True),
        ("cp311-cp311-manylinux_2_29_x86_64", False),
        ("cp311-cp311-manylinux1_x86_64", True),
        ("cp311-cp311-manylinux_2_17_aarch64", False),
        ("cp311-cp311-musllinux_1_2_x86_64", False),
        ("cp311-cp311-macosx_11_0_arm64", False),
        ("cp310-cp310-manylinux_2_17_x86_64", False),
        ("cp38-abi3-manylinux_2_17_x86_64", True),
        ("cp312-abi3-manylinux_2_17_x86_64", False),
        ("pp311-pypy311_pp73-manylinux_2_17_x86_64", False),
    ],
)
def test_which_wheels_a_cluster_takes(tag: str, fits: bool) -> None:
    assert Target((3, 11, 2), "x86_64", (2, 28)).takes(tag) is fits


def test_pure_python_is_copied_and_compiled_code_is_not_for_another_machine() -> None:
    here = this_target()
    machine = "aarch64" if here.machine == "x86_64" else "x86_64"
    other = Target(here.python, machine, here.glibc)
    assert copy_installed("rich", other) is not None
    assert copy_installed("msgspec", other) is None
    assert copy_installed("msgspec", here) is not None


def test_a_version_that_dropped_the_clusters_python_is_not_sent() -> None:
    assert installed_version("msgspec", Target((3, 6, 0), "x86_64", (2, 17))) is None
    assert installed_version("no-such-distribution", this_target()) is None


@pytest.mark.parametrize("path", ["../../bin/x", "/etc/x", "a/__pycache__/x.py", "x.pth", "bin/x"])
def test_nothing_lands_outside_the_tree(path: str) -> None:
    assert not is_wanted(path)


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def bare_laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As pipx and uv leave it: no pip of our own, none in Python; what is on PATH is the test's."""
    monkeypatch.setattr(fetch, "find_spec", lambda _: None)
    monkeypatch.setattr(fetch, "_ensurepip_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def test_without_any_fetcher_the_error_says_what_to_install(
    bare_laptop: Path, tmp_path: Path
) -> None:
    assert bare_laptop.is_dir()
    with pytest.raises(BundleFailed, match="neither pip nor uv") as caught:
        fetch.fetch(["msgspec==1"], this_target(), tmp_path / "into")
    assert "install uv or pip" in caught.value.shown_hint


def test_a_fetcher_that_fails_makes_way_for_the_next(bare_laptop: Path, tmp_path: Path) -> None:
    program(
        bare_laptop / "uv", "echo 'error: no route to https://user:canary@host/simple' >&2; exit 2"
    )
    program(bare_laptop / "pip3", 'while [ "$1" != --target ]; do shift; done; /bin/mkdir "$2"')
    fetch.fetch(["msgspec==1"], this_target(), tmp_path / "into")
    assert (tmp_path / "into").is_dir()


def test_addresses_and_their_passwords_are_not_repeated(bare_laptop: Path, tmp_path: Path) -> None:
    program(
        bare_laptop / "uv", "echo 'error: no route to https://user:canary@host/simple' >&2; exit 2"
    )
    with pytest.raises(BundleFailed, match="uv: error: no route to …") as caught:
        fetch.fetch(["msgspec==1"], this_target(), tmp_path / "into")
    assert "canary" not in f"{caught.value}{caught.value.shown_hint}"


def test_the_order_of_the_fetchers(bare_laptop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("uv", "pip3", "python3"):
        program(bare_laptop / name, "")
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(bare_laptop))
    names = [fetcher.name for fetcher in fetchers()]
    assert [name for name in names if name != "ensurepip"] == [
        "pip",
        "uv",
        "pip3",
        "python3 -m pip",
    ]


def test_uv_is_asked_for_a_platform_it_knows() -> None:
    target = Target((3, 11, 2), "x86_64", (2, 30))
    command = fetch.Fetcher("uv", ("uv", "pip"), is_uv=True).command(target, Path("/x"), ["a==1"])
    assert command[command.index("--python-platform") + 1] == "x86_64-manylinux_2_28"
    assert command[-2:] == ["--", "a==1"]
