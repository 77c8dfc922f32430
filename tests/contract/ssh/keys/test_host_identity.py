"""A host is known by its key, in both ssh transports alike: changed, unknown and revoked ones are refused."""

from __future__ import annotations

import subprocess

from scratchflow.model.errors.ssh import HostKeyChanged, HostKeyUnknown
from tests.contract.ssh.failing import HOSTS, KINDS, connect, refused, sshd_of
from tests.contract.ssh.lab import Lab
from tests.contract.ssh.sshd import make_key


@KINDS
@HOSTS
def test_a_changed_host_key_is_refused(lab: Lab, kind: str, host: str) -> None:
    sshd = sshd_of(lab, host)
    sshd.kill()
    sshd.new_host_key()
    sshd.start()
    for _ in range(2):
        error = refused(lab, kind, host, HostKeyChanged)
        assert str(sshd.port) in str(error)


@KINDS
def test_a_changed_key_is_refused_even_where_new_ones_are_accepted(lab: Lab, kind: str) -> None:
    lab.write_config("Host *\n  StrictHostKeyChecking accept-new\n")
    lab.known_hosts.write_text(lab.known_line(lab.login).replace(lab.login.public_key, OTHER_KEY))
    refused(lab, kind, "login", HostKeyChanged)


OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGCTeF3ZBNGXJZKbsSLK5c2LVGWMxgPWBQTdkk9Yt2pV"


@KINDS
@HOSTS
def test_an_unknown_host_key_is_refused(lab: Lab, kind: str, host: str) -> None:
    lab.known_hosts.write_text("" if host == "login" else lab.known_line(lab.login))
    refused(lab, kind, host, HostKeyUnknown)
    assert str(sshd_of(lab, host).port) not in lab.known_hosts.read_text()


@KINDS
def test_an_unknown_host_key_is_recorded_where_the_config_says_accept_new(
    lab: Lab, kind: str
) -> None:
    lab.known_hosts.write_text("")
    lab.write_config("Host *\n  StrictHostKeyChecking accept-new\n  HashKnownHosts no\n")
    assert connect(lab, kind, "node") == b"in\n"
    recorded = lab.known_hosts.read_text()
    assert lab.known_line(lab.login) in recorded
    assert lab.known_line(lab.node) in recorded
    other = "openssh" if kind == "paramiko" else "paramiko"
    lab.write_config("Host *\n  StrictHostKeyChecking yes\n")
    assert connect(lab, other, "node") == b"in\n"


@KINDS
def test_a_recorded_name_is_hashed_where_the_config_says_so(lab: Lab, kind: str) -> None:
    lab.known_hosts.write_text("")
    lab.write_config("Host *\n  StrictHostKeyChecking accept-new\n  HashKnownHosts yes\n")
    assert connect(lab, kind, "login") == b"in\n"
    assert lab.known_hosts.read_text().startswith("|1|")
    lab.write_config("Host *\n  StrictHostKeyChecking yes\n")
    for other in ("paramiko", "openssh"):
        assert connect(lab, other, "login") == b"in\n"


@KINDS
def test_a_revoked_host_key_is_refused(lab: Lab, kind: str) -> None:
    with lab.known_hosts.open("a") as file:
        file.write(f"@revoked * {lab.login.public_key}\n")
    refused(lab, kind, "login", HostKeyChanged)


@KINDS
def test_hashed_names_and_aliases_are_honoured(lab: Lab, kind: str) -> None:
    lab.write_config("Host node\n  HostKeyAlias aws-Node-1\n")
    lab.known_hosts.write_text(lab.known_line(lab.login) + f"aws-node-1 {lab.node.public_key}\n")
    command = ["ssh-keygen", "-q", "-H", "-f", str(lab.known_hosts)]
    subprocess.run(command, check=True, capture_output=True)
    assert connect(lab, kind, "node") == b"in\n"


@KINDS
def test_a_host_with_several_keys_shows_the_one_on_record(lab: Lab, kind: str) -> None:
    make_key(lab.directory / "rsa_host_key", kind="rsa", bits=2048)
    lab.login.kill()
    lab.login.options = [f"HostKey {lab.directory / 'rsa_host_key'}", "PasswordAuthentication no"]
    lab.login.start()
    rsa = " ".join((lab.directory / "rsa_host_key.pub").read_text().split()[:2])
    lab.known_hosts.write_text(f"[127.0.0.1]:{lab.login.port} {rsa}\n")
    assert connect(lab, kind, "login") == b"in\n"
