"""`serve` on one machine: a server on a socket, a port that leads to it, and nothing left afterwards."""

from __future__ import annotations

import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scratchflow.process.waiting import looks
from tests.contract.flows.serve.conftest import Machine, port_of
from tests.serving import digest_of_page, is_open, page

SIZE_BYTES = 50_000_000


def test_what_is_served_is_open_on_a_local_port_until_it_is_stopped(machine: Machine) -> None:
    serving = machine.serve("--name", "pages")
    port = port_of(serving["url"])
    assert page(port) == f"{os.uname().nodename} hello".encode()
    again = machine.serve("--name", "pages")
    assert (again["changed"], again["url"]) == (False, serving["url"])
    (listed,) = machine.data("serve", "list")["servers"]
    assert (listed["name"], listed["url"], listed["ended"]) == ("pages", serving["url"], "")
    assert [one["name"] for one in machine.data("status")["servers"]] == ["pages"]
    stopped = machine.data("serve", "stop", "pages")
    assert (stopped["stopped"], stopped["tunnels"]) == (["pages"], ["pages"])
    assert not is_open(port)
    assert not Path(listed["socket"]).parent.exists()
    assert machine.data("serve", "list") == {"servers": [], "tunnels": []}


def test_a_hundred_at_once_and_a_large_page_arrive_whole(machine: Machine) -> None:
    port = port_of(machine.serve()["url"])
    with ThreadPoolExecutor(100) as pool:
        found = set(pool.map(lambda _: page(port, "/3000"), range(100)))
    assert [len(one) for one in found] == [3000]
    large = hashlib.sha256(page(port, f"/{SIZE_BYTES}")).hexdigest()
    assert large == digest_of_page(SIZE_BYTES)


def test_a_port_on_the_node_is_told_as_what_it_is(machine: Machine) -> None:
    lines = machine.lines("serve", "--", sys.executable, "pages.py", "{port}")
    assert "serve.shared_port" in [line.get("code") for line in lines]
    assert page(port_of(lines[-1]["data"]["url"])).endswith(b"hello")


def test_clear_ends_servers_and_tunnels(machine: Machine) -> None:
    serving = machine.serve()
    machine.data("clear", "--no-backup")
    assert not is_open(port_of(serving["url"]))
    assert not Path(serving["server"]["socket"]).exists()
    assert machine.data("serve", "list") == {"servers": [], "tunnels": []}


def test_what_does_not_start_is_told_with_its_last_words_and_leaves_nothing(
    machine: Machine,
) -> None:
    failed = machine.run("serve", "--", "sh", "-c", "echo no data here >&2; exit 1", "{socket}")
    assert failed.returncode == 40
    assert "no data here" in failed.stderr
    assert machine.run("serve", "tensorboard", "runs").returncode == 40
    assert machine.data("serve", "list") == {"servers": [], "tunnels": []}


def test_words_without_a_place_to_listen_are_refused(machine: Machine) -> None:
    for words in (["true"], ["true", "{socket}", "{port}"]):
        assert machine.run("serve", "--", *words).returncode == 2
    assert "`scratchflow serve -- python`" in machine.run("serve", "python", "x").stderr
    assert machine.run("serve", "stop", "missing").returncode == 2


def test_a_browser_gets_the_address_from_a_file(machine: Machine) -> None:
    """Every user can read the words of a process: no address with a token may be among them."""
    programs, words = machine.home / "bin", machine.home / "words"
    programs.mkdir()
    browser = programs / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {words}\n')
    browser.chmod(0o755)
    before = machine.environment
    machine.__class__ = type(
        "WithBrowser", (Machine,), {"environment": {**before, "BROWSER": f"{browser} %s"}}
    )
    serving = machine.serve("--open")
    assert serving["opened"]
    seen = next(words.read_text() for _ in looks(10, 0.05) if words.exists())
    assert seen.startswith("file://")
    assert serving["url"] in Path(seen.strip().removeprefix("file://")).read_text()
