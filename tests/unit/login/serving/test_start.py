"""Servers are started once, under names that tell them apart, and left when they answer."""

from __future__ import annotations

import sys
import time

import msgspec
import pytest

from scratchflow.login.serving import start as module
from scratchflow.login.serving.start import start_server
from scratchflow.model.errors.serve import (
    ServerFailed,
    ServerNotInstalled,
    ServerStuck,
    ServerTaken,
)
from scratchflow.model.events import Warned
from scratchflow.model.requests import StartServer
from scratchflow.node.serving.listening import Address, listens
from scratchflow.workspace.servers import (
    ServerRecord,
    claim_server,
    read_server,
    read_servers,
    write_server,
)
from tests.unit.login.serving.conftest import Here

PAGES = (sys.executable, "pages.py", "{socket}")


@pytest.mark.slow
def test_it_answers_when_it_is_told_and_a_second_start_finds_it(here: Here) -> None:
    started = start_server(here.host, StartServer(words=PAGES, name="pages"))
    assert started.changed
    assert listens(Address(started.server.socket))
    assert here.warnings == []
    again = start_server(here.host, StartServer(words=PAGES, name="pages"))
    assert not again.changed
    assert again.server == started.server


@pytest.mark.slow
def test_other_words_get_another_name_and_no_name_twice(here: Here) -> None:
    first = start_server(here.host, StartServer(words=PAGES))
    second = start_server(here.host, StartServer(words=(*PAGES, "other")))
    assert second.server.name == f"{first.server.name}-2"
    assert start_server(here.host, StartServer(words=PAGES)).server == first.server
    with pytest.raises(ServerTaken, match="another program is served"):
        start_server(here.host, StartServer(words=PAGES, name=second.server.name))


@pytest.mark.slow
def test_a_port_is_told_as_what_it_is(here: Here) -> None:
    started = start_server(here.host, StartServer(words=(sys.executable, "pages.py", "{port}")))
    assert started.server.port > 0
    assert here.warnings == ["serve.shared_port"]


@pytest.mark.slow
def test_one_that_listens_and_gives_no_answer_is_told(here: Here) -> None:
    code = (
        "import socket,sys,time;s=socket.socket(1);s.bind(sys.argv[1]);s.listen();time.sleep(1000)"
    )
    started = start_server(here.host, StartServer(words=(sys.executable, "-c", code, "{socket}")))
    assert started.changed
    assert here.warnings == ["serve.no_answer"]


@pytest.mark.slow
def test_tensorboard_without_its_logs_starts_and_is_warned_of(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the node says of a TensorBoard, which is not installed here.
    first_sign = module._first_sign
    monkeypatch.setattr(
        module,
        "_first_sign",
        lambda *given: msgspec.structs.replace(first_sign(*given), missing_logs="/s/work/rnus"),
    )
    assert start_server(here.host, StartServer(words=PAGES, name="tb")).changed
    (warning,) = (event for event in here.said if isinstance(event, Warned))
    assert warning.code == "serve.no_logs"
    assert "no directory `/s/work/rnus`" in warning.message
    assert "`scratchflow serve stop tb`" in warning.message


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("sh", "-c", "exit 3", "{socket}"), ServerFailed),
        (("no-such", "{socket}"), ServerNotInstalled),
    ],
)
def test_one_that_does_not_start_leaves_no_record(
    here: Here, words: tuple[str, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        start_server(here.host, StartServer(words=words))
    assert read_servers(here.home, "test") == []


def test_a_dry_run_starts_nothing(here: Here) -> None:
    done = start_server(here.host, StartServer(words=PAGES, dry_run=True))
    assert done.dry_run
    assert read_servers(here.home, "test") == []


@pytest.mark.slow
def test_of_two_that_start_at_once_the_later_one_is_told(here: Here) -> None:
    begun = ServerRecord(name="a", kind="command", words=PAGES, start="x", since=time.time())
    assert claim_server(here.home, "test", begun)
    with pytest.raises(ServerStuck, match="another command is starting it"):
        start_server(here.host, StartServer(words=PAGES, name="a"))
    old = msgspec.structs.replace(begun, since=time.time() - module.START_S - 1)
    write_server(here.home, "test", old)
    assert start_server(here.host, StartServer(words=PAGES, name="a")).changed


def test_jupyter_keeps_its_token_and_others_have_none() -> None:
    before = ServerRecord(name="j", kind="jupyter", words=(), start="x", token="t")  # noqa: S106 - no secret
    asked = StartServer(kind="jupyter")
    assert module._token(asked, before) == "t"
    assert len(module._token(asked, None)) > 30
    assert module._token(StartServer(words=PAGES), None) == ""


@pytest.mark.slow
def test_the_record_of_one_that_answers_says_where(here: Here) -> None:
    started = start_server(here.host, StartServer(words=PAGES, name="pages"))
    record = read_server(here.home, "test", "pages")
    assert record is not None
    assert (record.socket, record.words) == (started.server.socket, PAGES)
    assert record.pid > 1
