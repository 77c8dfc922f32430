"""Who connects to a local port, as Linux says it; another user is tried in `tests/root`."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest

from scratchflow.reach.tunnel import own_callers as module
from scratchflow.reach.tunnel.own_callers import can_tell, is_own_caller

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone says it")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_a_connection_of_ones_own_is_known(listener: socket.socket) -> None:
    assert can_tell(listener)
    with socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert is_own_caller(connection)


def test_also_one_from_a_socket_for_both_kinds_of_addresses(listener: socket.socket) -> None:
    with socket.socket(socket.AF_INET6) as caller:
        try:
            caller.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        except OSError:
            pytest.skip("no IPv6 on this machine")
        connection, _ = listener.accept()
        with connection:
            assert is_own_caller(connection)


def test_one_that_has_hung_up_is_nobodys(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table may say root of it."""
    monkeypatch.setattr("os.getuid", lambda: 54321)
    socket.create_connection(listener.getsockname()).close()
    connection, _ = listener.accept()
    with connection:
        assert not is_own_caller(connection)


def test_another_users_is_refused(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        monkeypatch.setattr(module, "_ROOT", -1)
        monkeypatch.setattr("os.getuid", lambda: 54321)
        with connection:
            assert not is_own_caller(connection)
        assert not can_tell(listener)


def test_where_the_system_does_not_say_nothing_can_be_told(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TABLES", ("/proc/missing",))
    assert not can_tell(listener)
