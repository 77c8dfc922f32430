"""Whatever paramiko or the network raises becomes an error of ours, and paramiko itself stays quiet."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import AuthNeeded, ConnectionLost, HostNotFound, SshUnusable
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.paramiko_library import as_our_error, load_paramiko

HOST = ResolvedHost("login", "login.example", "ada")
PARAMIKO = load_paramiko()


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (PARAMIKO.ssh_exception.IncompatiblePeer("no cipher"), SshUnusable, "no cipher"),
        (PARAMIKO.BadAuthenticationType("no", ["publickey"]), AuthNeeded, "publickey"),
        (PARAMIKO.SSHException("banner"), ConnectionLost, "banner"),
        (ConnectionRefusedError(111, "Connection refused"), ConnectionLost, "Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), HostNotFound, "cannot find a host"),
        (TimeoutError("timed out"), ConnectionLost, "no answer within"),
        (EOFError(), ConnectionLost, "EOFError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_error_is_told_as_ours_with_the_host(
    raised: Exception, kind: type[ScratchflowError], words: str
) -> None:
    with pytest.raises(kind) as caught, as_our_error(HOST):
        raise raised
    assert words in str(caught.value)
    assert "login" in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["a..b", "n" * 100])
def test_a_name_that_no_resolver_takes_is_a_lost_connection(name: str) -> None:
    host = ResolvedHost("login", name, "ada")
    with pytest.raises(ConnectionLost, match="is not a host name"), as_our_error(host):
        socket.create_connection((name, 22))


def test_a_bug_of_ours_stays_a_bug() -> None:
    with pytest.raises(ZeroDivisionError), as_our_error(HOST):
        raise ZeroDivisionError


def test_paramiko_prints_nothing_to_a_terminal() -> None:
    program = (
        "from scratchflow.ssh.transport.paramiko_library import load_paramiko\n"
        "import logging; load_paramiko()\n"
        "logging.getLogger('paramiko.transport').error('Exception: Error reading SSH banner')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
