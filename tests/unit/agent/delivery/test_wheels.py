"""Wheels come from whatever fetches them here, and no password of an index is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.agent.delivery import wheels as fetch
from scratchflow.agent.delivery.target import Target
from scratchflow.agent.delivery.wheels import fetchers
from scratchflow.model.errors.agent import BundleFailed
from tests.unit.agent.delivery.this_machine import this_target


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
