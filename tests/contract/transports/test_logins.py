"""Agents, tokens, second factors, and which transport is chosen for them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scratchflow.model.errors import AuthNeeded, HostKeyUnknown
from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.transport.choose import Means, choose, open_transport
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.ssh.transport.openssh import OpenSshTransport
from scratchflow.ssh.transport.paramiko_login import Ask, Question
from scratchflow.ssh.transport.paramiko_transport import ParamikoTransport
from tests.contract.transports.fakes import agent_with_a_token, host_with_second_factor
from tests.contract.transports.lab import Lab
from tests.contract.transports.sshd import make_key

LIMIT_S = 60


@contextmanager
def agent(path: Path, *keys: Path) -> Iterator[None]:
    process = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            added = subprocess.run(
                ["ssh-add", "-q", *map(str, keys)],
                env={"SSH_AUTH_SOCK": str(path), "PATH": "/usr/bin:/bin"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            if added.returncode == 0:
                break
        yield
    finally:
        process.terminate()
        process.wait()


def logs_in(lab: Lab, host: str = "login", ask: Ask | None = None) -> bool:
    with lab.paramiko(host, ask) as transport:
        return transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"


def test_a_key_in_the_agent_opens_every_hop(lab: Lab) -> None:
    socket = lab.directory / "agent"
    lab.write_config(key="no-such-key", agent=str(socket))
    with agent(socket, lab.directory / "id"):
        assert logs_in(lab, "node")


def test_a_dead_agent_is_no_obstacle(lab: Lab) -> None:
    lab.write_config(agent=str(lab.directory / "no-such-agent"))
    assert logs_in(lab)


def test_with_identities_only_the_agents_other_keys_are_not_shown(lab: Lab) -> None:
    make_key(lab.directory / "stranger")
    socket = lab.directory / "agent"
    extra = "Host login\n  IdentitiesOnly yes\n"
    with agent(socket, lab.directory / "id"):
        lab.write_config(extra, key="stranger", agent=str(socket))
        with pytest.raises(AuthNeeded):
            logs_in(lab)
        lab.write_config(extra, key="id", agent=str(socket))
        assert logs_in(lab)


def test_a_token_in_the_agent_is_passed_over(lab: Lab) -> None:
    socket = lab.directory / "agent"
    lab.write_config(agent=str(socket))
    with agent_with_a_token(socket):
        assert logs_in(lab)
        assert kind_for(lab) == "paramiko"
        lab.write_config(key="no-such-key", agent=str(socket))
        with pytest.raises(AuthNeeded):
            logs_in(lab)
        assert kind_for(lab) == "openssh"


@pytest.mark.parametrize("first", ["publickey", "keyboard-interactive", "password"])
def test_a_second_factor_is_asked_for(lab: Lab, first: str) -> None:
    asked: list[Question] = []

    def ask(question: Question) -> str:
        asked.append(question)
        return "123456"

    with host_with_second_factor(lab.login.host_key, first=first, code="123456") as port:
        lab.write_config(f"Host login\n  Port {port}\n  StrictHostKeyChecking accept-new\n")
        with lab.paramiko("login", ask) as transport:
            transport.connect()
    assert len(asked) == 1
    assert ("Code: " in asked[0].text) == (first != "password")
    assert not asked[0].echo


def test_a_second_factor_that_is_wrong_or_that_nobody_gives_is_exit_12(lab: Lab) -> None:
    with host_with_second_factor(lab.login.host_key, first="publickey", code="123456") as port:
        lab.write_config(f"Host login\n  Port {port}\n  StrictHostKeyChecking accept-new\n")
        for ask in (None, lambda _: "wrong", lambda _: None):
            with lab.paramiko("login", ask) as transport, pytest.raises(AuthNeeded):
                transport.connect()


def kind_for(lab: Lab, host: str = "login") -> str:
    return choose("auto", resolve_chain(host, config=lab.config), lab.environment).kind


@pytest.mark.parametrize(
    ("extra", "kind", "word"),
    [
        ("", "paramiko", "nothing"),
        ("Host login\n  ProxyCommand nc %h %p\n", "openssh", "ProxyCommand"),
        ("Host login\n  PKCS11Provider /lib/x.so\n", "openssh", "smart card"),
        ("Host login\n  StrictHostKeyChecking no\n", "openssh", "switched off"),
        ("Host login\n  CertificateFile /x/y-cert.pub\n", "openssh", "certificate"),
        ("Host login\n  KnownHostsCommand /bin/true\n", "openssh", "vouched"),
        ("Host login\n  GSSAPIAuthentication yes\n", "paramiko", "nothing"),
    ],
)
def test_auto_takes_paramiko_unless_only_ssh_can_do_it(
    shared_lab: Lab, extra: str, kind: str, word: str
) -> None:
    shared_lab.write_config(extra)
    for host in ("login", "node"):
        chain = resolve_chain(host, config=shared_lab.config)
        choice = choose("auto", chain, shared_lab.environment)
        assert choice.kind == kind
        assert word in choice.reason
    assert choose("paramiko", chain, shared_lab.environment).kind == "paramiko"
    assert choose("openssh", chain, shared_lab.environment).kind == "openssh"


def test_kerberos_counts_only_with_a_ticket(shared_lab: Lab) -> None:
    shared_lab.write_config("Host login\n  GSSAPIAuthentication yes\n")
    chain = resolve_chain("login", config=shared_lab.config)
    ticket = {**shared_lab.environment, "KRB5CCNAME": "/tmp/ticket"}
    assert choose("auto", chain, ticket).kind == "openssh"


def test_an_authority_on_record_needs_ssh(lab: Lab) -> None:
    with lab.known_hosts.open("a") as file:
        file.write(f"@cert-authority *.example.org {lab.login.public_key}\n")
    assert kind_for(lab) == "openssh"


def test_a_live_shared_connection_is_used(lab: Lab) -> None:
    with lab.openssh("login") as transport:
        transport.connect()
        assert kind_for(lab) == "openssh"
    assert kind_for(lab) == "paramiko"


def test_opening_connects_and_says_with_what(lab: Lab) -> None:
    means = Means(lab.environment)
    with open_transport("node", means, config=lab.config) as transport:
        assert isinstance(transport, ParamikoTransport)
        assert "through login" in transport.describe()
    with open_transport("node", means, setting="openssh", config=lab.config, keep_s=0) as transport:
        assert isinstance(transport, OpenSshTransport)
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"
    assert isinstance(open_transport("local", means), LocalTransport)


def test_what_paramiko_cannot_do_is_handed_on(lab: Lab) -> None:
    # A cipher that paramiko lacks, as a stand-in for all that it lacks.
    lab.login.kill()
    lab.login.options = ["Ciphers chacha20-poly1305@openssh.com", "PasswordAuthentication no"]
    lab.login.start()
    means = Means(lab.environment)
    with open_transport("login", means, config=lab.config, keep_s=0) as transport:
        assert isinstance(transport, OpenSshTransport)
        assert "paramiko did not manage" in transport.describe()


def test_what_nobody_can_do_keeps_the_better_reason(lab: Lab) -> None:
    lab.write_config(key="locked")
    with pytest.raises(AuthNeeded) as caught:
        open_transport("login", Means(lab.environment), config=lab.config)
    assert "ssh-add" in caught.value.shown_hint
    lab.write_config()
    lab.known_hosts.write_text("")
    with pytest.raises(HostKeyUnknown):
        open_transport("login", Means(lab.environment), config=lab.config)
