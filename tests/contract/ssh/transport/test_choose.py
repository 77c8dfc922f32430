"""Which transport is taken for which host, and what becomes of those that paramiko cannot serve."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.ssh import AuthNeeded, HostKeyUnknown
from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.transport.choose import Means, choose, open_transport
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.ssh.transport.openssh import OpenSshTransport
from scratchflow.ssh.transport.paramiko_transport import ParamikoTransport
from tests.contract.ssh.lab import Lab

LIMIT_S = 60


def kind_for(lab: Lab, host: str = "login") -> str:
    return choose("auto", resolve_chain(host, config=lab.config), lab.environment).kind


@pytest.mark.parametrize(
    ("extra", "kind", "word"),
    [
        ("", "paramiko", "default"),
        ("Host login\n  ProxyCommand nc %h %p\n", "openssh", "ProxyCommand"),
        ("Host login\n  PKCS11Provider /lib/x.so\n", "openssh", "smart card"),
        ("Host login\n  StrictHostKeyChecking no\n", "openssh", "switched off"),
        ("Host login\n  CertificateFile /x/y-cert.pub\n", "openssh", "certificate"),
        ("Host login\n  KnownHostsCommand /bin/true\n", "openssh", "vouched"),
        ("Host login\n  GSSAPIAuthentication yes\n", "paramiko", "default"),
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
