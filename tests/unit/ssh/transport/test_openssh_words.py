"""ssh's own words become the error that they mean; a far command cannot fake them."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import (
    AuthNeeded,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    KeyRefused,
)
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.openssh_words import (
    failure,
    got_through,
    read_signal,
    read_status,
)

HOST = ResolvedHost("login", "login.example", "ada", port=2222)
CHANGED = """@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
Host key for [127.0.0.1]:4022 has changed and you have requested strict checking.
Host key verification failed.
"""


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (CHANGED, HostKeyChanged, "[127.0.0.1]:4022"),
        ("WARNING: REVOKED HOST KEY DETECTED!", HostKeyChanged, "[login.example]:2222"),
        (
            "No ED25519 host key is known for login and you have requested strict checking.",
            HostKeyUnknown,
            "login",
        ),
        ("Host key verification failed.", HostKeyUnknown, "login"),
        ("ada@login: Permission denied (publickey).", KeyRefused, "Permission denied (publickey)"),
        ("Received disconnect: Too many authentication failures", AuthNeeded, "Too many"),
        ("ssh: connect to host x port 22: Connection refused", ConnectionLost, "connect to host x"),
        ("", ConnectionLost, "it was closed"),
        ("\n \n", ConnectionLost, "it was closed"),
    ],
)
def test_each_way_to_fail_is_its_own_error(
    said: str, kind: type[ScratchflowError], words: str
) -> None:
    error = failure(HOST, said, "")
    assert type(error) is kind
    assert words in str(error)


def test_the_reason_is_told_and_not_the_closing_remark() -> None:
    log = "kex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535\n"
    hop = "channel 0: open failed: connect failed: Connection refused\n"
    assert "open failed" in str(failure(HOST, log, hop))
    assert "kex_exchange" in str(failure(HOST, log, ""))


@pytest.mark.parametrize(
    "said",
    [
        "mux_client_request_session: read from master failed: Broken pipe",
        "mux_client_request_session: session request failed: Session open refused by peer",
        "Control socket connect(/run/user/1/scratchflow/0a1b): Connection refused",
        "Shared connection to login closed.",
    ],
)
def test_what_ssh_says_of_its_shared_connection_is_told_in_our_own_words(said: str) -> None:
    error = failure(HOST, f"{said}\n", "")
    assert isinstance(error, ConnectionLost)
    assert str(error) == (
        "no connection to `login`: it stopped answering, and the connection that was open was given up"
    )
    assert "`ssh login` shows more" in error.shown_hint
    assert "no route to host" in str(failure(HOST, f"{said}\nssh: no route to host\n", ""))


def test_debug_lines_are_no_reason() -> None:
    log = "debug1: Permission denied (publickey) is what hosts say\nssh: no route to host\n"
    error = failure(HOST, log, "")
    assert isinstance(error, ConnectionLost)
    assert "no route to host" in str(error)


@pytest.mark.parametrize(
    ("log", "status", "signal", "through"),
    [
        (
            "debug1: client_input_channel_req: channel 0 rtype exit-status reply 0",
            True,
            False,
            False,
        ),
        ("debug2: Received exit status from master 255", True, False, False),
        (
            "debug1: client_input_channel_req: channel 0 rtype exit-signal reply 0",
            False,
            True,
            False,
        ),
        ("debug1: Sending command: true", False, False, True),
        ("debug2: mux_client_request_session: master session id: 2", False, False, True),
        ("Connection to login closed by remote host.", False, False, False),
    ],
)
def test_how_far_a_command_came_is_read_from_the_log(
    log: str, status: bool, signal: bool, through: bool
) -> None:
    assert (read_status(log), read_signal(log), got_through(log)) == (status, signal, through)
