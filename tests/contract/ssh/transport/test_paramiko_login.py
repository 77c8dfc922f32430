"""Logging in with paramiko: agents, tokens, key files, passphrases and second factors, asked for once."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import AuthNeeded
from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.transport.choose import choose
from scratchflow.ssh.transport.paramiko_login import Ask, Question
from tests.contract.ssh.failing import LIMIT_S, refused
from tests.contract.ssh.fakes import agent_with_a_token, host_with_second_factor
from tests.contract.ssh.lab import PASSPHRASE, Lab
from tests.contract.ssh.sshd import make_key


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


def test_no_key_that_fits_is_exit_12(lab: Lab) -> None:
    make_key(lab.directory / "stranger")
    lab.write_config(key="stranger")
    for kind in ("paramiko", "openssh"):
        for host in ("login", "node"):
            assert refused(lab, kind, host, AuthNeeded).exit_code == 12


def test_a_locked_key_without_anybody_to_ask_is_exit_12(lab: Lab) -> None:
    lab.write_config(key="locked")
    error = refused(lab, "paramiko", "node", AuthNeeded)
    assert f"ssh-add {lab.directory / 'locked'}" in error.shown_hint
    refused(lab, "openssh", "node", AuthNeeded)


def test_a_passphrase_is_asked_for_once_for_all_hops(lab: Lab) -> None:
    lab.write_config(key="locked")
    asked: list[str] = []

    def ask(question: object) -> str:
        asked.append(str(question))
        return PASSPHRASE

    with lab.paramiko("node", ask) as transport:
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"
        lab.node.kill()
        lab.node.start()
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"
    assert len(asked) == 1
    assert str(lab.directory / "locked") in asked[0]


@pytest.mark.parametrize(("answer", "times"), [("wrong", 3), (None, 1)])
def test_a_passphrase_nobody_knows_is_exit_12(lab: Lab, answer: str | None, times: int) -> None:
    lab.write_config(key="locked")
    asked: list[object] = []

    def ask(question: object) -> str | None:
        asked.append(question)
        return answer

    with lab.paramiko("node", ask) as transport, pytest.raises(AuthNeeded):
        transport.connect()
    assert len(asked) == times


RSA = ["-t", "rsa", "-b", "2048"]


@pytest.mark.parametrize("form", [RSA, ["-t", "ecdsa"], [*RSA, "-m", "PEM"]])
@pytest.mark.parametrize("passphrase", ["", PASSPHRASE])
def test_every_common_kind_of_key_file_opens_the_door(
    shared_lab: Lab, form: list[str], passphrase: str, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", *form, "-a", "2", "-N", passphrase, "-f", str(key)], check=True
    )
    shared_lab.write_config(f"Host login\n  IdentityFile {key}\n", key="no-such-key")
    with shared_lab.login.authorized_keys.open("a") as file:
        file.write(key.with_suffix(".pub").read_text())
    with shared_lab.paramiko("login", lambda _: PASSPHRASE) as transport:
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"
