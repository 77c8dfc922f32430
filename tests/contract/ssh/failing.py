"""A connection that has to fail: with the right error, soon, and never with a question."""

from __future__ import annotations

import time

import pytest

from scratchflow.model.errors.base import ScratchflowError
from tests.contract.ssh.lab import Lab
from tests.contract.ssh.sshd import Sshd

KINDS = pytest.mark.parametrize("kind", ["paramiko", "openssh", "plain"])

HOSTS = pytest.mark.parametrize("host", ["login", "node"])

LIMIT_S = 60


def connect(lab: Lab, kind: str, host: str) -> bytes:
    with lab.transport(kind, host) as transport:
        return transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout


def refused(lab: Lab, kind: str, host: str, error: type[ScratchflowError]) -> ScratchflowError:
    """The error; and that it came soon, since nobody was waited for."""
    started = time.monotonic()
    with pytest.raises(error) as caught:
        connect(lab, kind, host)
    assert time.monotonic() - started < LIMIT_S
    assert caught.value.shown_hint
    return caught.value


def sshd_of(lab: Lab, host: str) -> Sshd:
    return lab.login if host == "login" else lab.node
