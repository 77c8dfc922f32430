"""Hosts are what `ssh -G` says they are, hop by hop; what cannot be a host never reaches ssh."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from scratchflow.model.errors.ssh import SshUnusable
from scratchflow.ssh.config.resolve import (
    ResolvedHost,
    leads_nowhere,
    parse,
    resolve,
    resolve_chain,
)

CONFIG = """
Host target
  HostName 10.0.0.9
  User ada
  Port 2200
  ProxyJump inner
  IdentityFile "~/.ssh/my key"
  IdentityFile ~/.ssh/other
  IdentitiesOnly yes
  IdentityAgent "/run/agent sock"
  UserKnownHostsFile "/tmp/a b/known" /tmp/second
  StrictHostKeyChecking accept-new
  HostKeyAlias one-name
  GSSAPIAuthentication yes
  PKCS11Provider /usr/lib/token.so
  ControlPath /tmp/cm-%n
  PubkeyAuthentication no
Host inner
  HostName inner.example
  ProxyJump bob@outer:2022
Host listed
  ProxyJump outer,eve@inner:99
Host round
  ProxyJump about
Host about
  ProxyJump round
Host command
  ProxyCommand nc %h %p
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config"
    file.write_text(CONFIG)
    return file


def test_everything_a_connection_depends_on_is_read(config: Path) -> None:
    found = resolve("target", config=config)
    assert (found.name, found.hostname, found.user, found.port) == (
        "target",
        "10.0.0.9",
        "ada",
        2200,
    )
    assert found.identity_files == found.named_identity_files == ("~/.ssh/my key", "~/.ssh/other")
    assert found.identities_only
    assert found.identity_agent == "/run/agent sock"
    assert found.user_known_hosts == ("/tmp/a b/known", "/tmp/second")
    assert found.strict_host_key_checking == "accept-new"
    assert found.lookup_name == found.host_key_alias == "one-name"
    assert found.gssapi
    assert found.pkcs11_provider == "/usr/lib/token.so"
    assert found.control_path == "/tmp/cm-target"
    assert not found.pubkey


def test_a_host_that_no_config_names_has_defaults(config: Path) -> None:
    found = resolve("plain.example", config=config)
    assert found.named_identity_files == ()
    assert found.identity_files
    assert found.proxy_jump is found.proxy_command is found.control_path is None
    assert found.strict_host_key_checking == "ask"
    assert found.lookup_name == "plain.example"
    assert resolve("plain.example", config=config, port=99).lookup_name == "[plain.example]:99"


def test_a_chain_goes_from_the_first_hop_to_the_host(config: Path) -> None:
    chain = resolve_chain("target", config=config)
    assert [(hop.name, hop.user, hop.port) for hop in chain][1:] == [
        ("inner", chain[1].user, 22),
        ("target", "ada", 2200),
    ]
    assert (chain[0].name, chain[0].user, chain[0].port) == ("outer", "bob", 2022)


def test_a_list_of_hops_overrides_what_the_last_hop_says_itself(config: Path) -> None:
    chain = resolve_chain("listed", config=config)
    assert [(hop.name, hop.port) for hop in chain] == [("outer", 22), ("inner", 99), ("listed", 22)]
    assert chain[1].user == "eve"


def test_a_circle_of_jumps_ends(config: Path) -> None:
    with pytest.raises(SshUnusable, match="circle"):
        resolve_chain("round", config=config)


def test_a_proxy_command_is_seen(config: Path) -> None:
    assert resolve("command", config=config).proxy_command == "nc %h %p"


@pytest.mark.parametrize("host", ["", "-oProxyCommand=x", "a b", "a\nb", "$(x)", "a;b", "`a`", "'"])
def test_what_is_no_host_never_reaches_ssh(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SshUnusable, match="safely"):
        resolve(host)


def test_a_broken_config_is_said_in_ssh_s_words(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("NoSuchOption 1\n")
    with pytest.raises(SshUnusable, match=r"(?i)line 1: bad configuration option"):
        resolve("host", config=tmp_path / "config")


def test_every_fault_of_a_config_is_said_without_the_ends_of_ssh_s_lines(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("NoSuchOption 1\nNorThis 2\n")
    with pytest.raises(SshUnusable, match=r"(?i)nosuchoption; .*line 2: .*northis; ") as caught:
        resolve("host", config=tmp_path / "config")
    assert "\\r" not in str(caught.value)


def test_a_missing_ssh_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SshUnusable, match="no program `ssh`"):
        resolve("host")


@pytest.mark.slow
def test_a_config_that_hangs_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "config").write_text('Match exec "exec sleep 20"\n  User x\n')
    with pytest.raises(SshUnusable, match="no answer"):
        resolve("host", config=tmp_path / "config", timeout_s=0.3)


def test_a_key_that_another_ssh_does_not_print_has_its_default() -> None:
    found = parse("hostname h\nuser u\n", "h")
    assert found.port == 22
    assert found.pubkey
    assert found.strict_host_key_checking == "ask"
    assert parse("identityagent none\n", "h").identity_agent == "none"


def test_a_name_without_an_address_leads_nowhere_unless_another_host_is_on_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def known(name: str, _: int) -> list[Any]:
        if name == "10.0.0.9":
            return []
        raise UnicodeError if ".." in name else socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", known)
    assert not leads_nowhere(ResolvedHost("uni", "10.0.0.9", "me"))
    assert leads_nowhere(ResolvedHost("uni", "nonesuch", "me"))
    assert leads_nowhere(ResolvedHost("uni", "a..b", "me"))
    assert not leads_nowhere(ResolvedHost("uni", "inside", "me", proxy_jump="gate"))
    assert not leads_nowhere(ResolvedHost("uni", "inside", "me", proxy_command="nc %h %p"))
