"""Who connects to a local port, as Linux says it; another user is tried in `tests/root`."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator

import pytest

from scratchflow.reach.tunnel import own_callers as module
from scratchflow.reach.tunnel.own_callers import Found, Look, asked, looked_up, own_callers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone says it")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@pytest.fixture(params=[asked, looked_up])
def is_own(
    request: pytest.FixtureRequest, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> Callable[[socket.socket], bool]:
    """By each of the two ways."""
    other = {asked: "looked_up", looked_up: "asked"}[request.param]
    monkeypatch.setattr(module, other, _tells_nothing)
    found = own_callers(listener)
    assert found is not None
    return found


def _tells_nothing(*_: object) -> Found | None:
    raise PermissionError


Check = Callable[[socket.socket], bool]


def test_a_connection_of_ones_own_is_known(listener: socket.socket, is_own: Check) -> None:
    with socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert is_own(connection)


def test_also_one_from_a_socket_for_both_kinds_of_addresses(
    listener: socket.socket, is_own: Check
) -> None:
    with socket.socket(socket.AF_INET6) as caller:
        try:
            caller.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        except OSError:
            pytest.skip("no IPv6 on this machine")
        connection, _ = listener.accept()
        with connection:
            assert is_own(connection)


def test_one_that_has_hung_up_is_nobodys(
    listener: socket.socket, is_own: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may say root of it."""
    monkeypatch.setattr("os.getuid", lambda: 54321)
    socket.create_connection(listener.getsockname()).close()
    connection, _ = listener.accept()
    with connection:
        assert not is_own(connection)


def test_another_users_is_refused(
    listener: socket.socket, is_own: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        monkeypatch.setattr(module, "_ROOT", -1)
        monkeypatch.setattr("os.getuid", lambda: 54321)
        with connection:
            assert not is_own(connection)
        assert own_callers(listener) is None, "a socket of somebody else"


@pytest.mark.parametrize("look", [asked, looked_up])
def test_what_is_not_there_is_not_found(listener: socket.socket, look: Look) -> None:
    assert look(("127.0.0.1", 1), listener.getsockname()) is None


def test_where_the_system_does_not_say_nothing_can_be_told(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "asked", _tells_nothing)
    monkeypatch.setattr(module, "looked_up", _tells_nothing)
    assert own_callers(listener) is None
