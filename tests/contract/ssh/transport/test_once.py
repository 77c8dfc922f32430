"""One question by a plain ssh: no connection is made for it; whatever is more, or cannot be done so, goes over one that stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import ConnectionLost, HostKeyUnknown
from scratchflow.ssh.transport.base import Transport
from scratchflow.ssh.transport.choose import Means, open_transport
from scratchflow.ssh.transport.once import OnceTransport
from scratchflow.ssh.transport.openssh import OpenSshTransport
from tests.contract.ssh.lab import Lab
from tests.contract.ssh.leaks import assert_no_ssh_is_left, nothing_left

LIMIT_S = 60


class Desk:
    """A transport for one question, and the connections that it made to stay."""

    def __init__(self, lab: Lab, host: str = "login") -> None:
        self.made: list[Transport] = []
        self._lab, self._host = lab, host
        self.transport = OnceTransport(lab.openssh(host, shared=False), self._connect)

    def _connect(self) -> Transport:
        made = self._lab.paramiko(self._host)
        made.connect()
        self.made.append(made)
        return made


@pytest.fixture
def desk(lab: Lab) -> Desk:
    return Desk(lab)


def lines(transport: Transport, *argv: str, stdin: bytes = b"") -> list[bytes]:
    with transport.stream(list(argv), stdin=stdin) as stream:
        return list(stream)


@pytest.mark.parametrize("host", ["login", "node"])
def test_one_question_makes_no_connection_that_stays(lab: Lab, host: str) -> None:
    desk = Desk(lab, host)
    with nothing_left(), desk.transport as transport:
        assert lines(transport, "cat", stdin=b"asked\n") == [b"asked"]
        assert "openssh" in transport.describe()
    assert desk.made == []
    assert_no_ssh_is_left(lab)


def test_what_comes_after_it_goes_over_one_connection(desk: Desk) -> None:
    with desk.transport as transport:
        assert lines(transport, "echo", "one") == [b"one"]
        assert lines(transport, "echo", "two") == [b"two"]
        assert transport.run(["echo", "three"], timeout_s=LIMIT_S).stdout == b"three\n"
        assert len(desk.made) == 1
        assert "paramiko" in transport.describe()


def test_a_command_to_its_end_is_more_than_one_question(desk: Desk) -> None:
    with desk.transport as transport:
        assert transport.run(["echo", "first"], timeout_s=LIMIT_S).stdout == b"first\n"
        assert lines(transport, "echo", "then") == [b"then"]
        assert len(desk.made) == 1


def test_what_is_fed_is_never_tried_twice(desk: Desk) -> None:
    with desk.transport as transport:
        with transport.stream(["cat"], feed=iter([b"a\n", b"b\n"])) as stream:
            assert list(stream) == [b"a", b"b"]
        assert len(desk.made) == 1


def test_where_ssh_cannot_log_in_the_question_goes_over_the_connection(lab: Lab) -> None:
    """The plain ssh is given a config without the host's key: it would have to ask somebody."""
    note = lab.directory / "asked"
    staying = lab.paramiko("login")
    staying.connect()
    lab.known_hosts.write_text("")
    plain = lab.openssh("login", shared=False)
    with OnceTransport(plain, lambda: staying) as transport:
        ask = f"echo x >> {note}; cat"
        assert lines(transport, "sh", "-c", ask, stdin=b"asked\n") == [b"asked"]
    assert note.read_text() == "x\n"


def test_the_error_is_that_of_the_connection_when_neither_can(lab: Lab) -> None:
    lab.known_hosts.write_text("")
    with Desk(lab).transport as transport, pytest.raises(HostKeyUnknown):
        lines(transport, "true")


def test_a_connection_that_is_cut_is_not_made_again(lab: Lab) -> None:
    note = lab.directory / "asked"
    desk = Desk(lab)
    with desk.transport as transport:
        ask = f"echo x >> {note}; echo begun; exec sleep 40"
        with transport.stream(["sh", "-c", ask], hold_stdin=True) as stream:
            assert next(stream) == b"begun"
            lab.login.kill()
            with pytest.raises(ConnectionLost):
                next(stream)
    assert (note.read_text(), desk.made) == ("x\n", [])


def test_a_look_beside_it_needs_no_connection_that_stays(desk: Desk) -> None:
    with desk.transport as transport, transport.stream(["cat"], hold_stdin=True):
        done = transport.run_beside(["echo", "beside"], timeout_s=LIMIT_S)
        assert done is not None
        assert (done.stdout, desk.made) == (b"beside\n", [])


def test_given_up_on_it_meets_its_end(desk: Desk) -> None:
    with desk.transport as transport, transport.stream(["cat"], hold_stdin=True) as stream:
        stream.give_up()
        with pytest.raises((StopIteration, ConnectionLost)):
            next(stream)
    assert desk.made == []


def test_auto_asks_once_by_a_plain_ssh_unless_a_shared_connection_lives(lab: Lab) -> None:
    means = Means(lab.environment)
    with open_transport("login", means, config=lab.config, once=True) as transport:
        assert isinstance(transport, OnceTransport)
        assert lines(transport, "echo", "in") == [b"in"]
    with lab.openssh("login") as shared:
        shared.connect()
        with open_transport("login", means, config=lab.config, once=True) as transport:
            assert isinstance(transport, OpenSshTransport)
    with open_transport(
        "login", means, setting="paramiko", config=lab.config, once=True
    ) as transport:
        assert not isinstance(transport, OnceTransport)


def test_no_program_is_loaded_that_the_question_does_not_need(lab: Lab) -> None:
    import subprocess
    import sys

    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from scratchflow.ssh.transport.choose import Means, open_transport\n"
        "means = Means(dict(os.environ))\n"
        "with open_transport('login', means, config=Path(sys.argv[1]), once=True) as transport:\n"
        "    with transport.stream(['true']) as stream: list(stream)\n"
        "assert 'paramiko' not in sys.modules\n"
    )
    argv = [sys.executable, "-c", program, str(lab.config)]
    environment = {**lab.environment, "PYTHONPATH": str(Path(__file__).parents[4])}
    subprocess.run(argv, env=environment, check=True)
