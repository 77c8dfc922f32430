"""A chain of connections: the next hop is carried by the last, and closing it leaves nothing."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.ssh import HostKeyChanged
from scratchflow.ssh.config.resolve import resolve_chain
from scratchflow.ssh.transport.paramiko_chain import Chain
from scratchflow.ssh.transport.paramiko_login import Login
from tests.contract.ssh.keys.test_host_identity import OTHER_KEY
from tests.contract.ssh.lab import Lab
from tests.contract.ssh.leaks import THOROUGH, nothing_left

LIMIT_S = 60

CYCLES = 200 if THOROUGH else 50


def test_paramiko_leaves_no_thread_and_no_descriptor(shared_lab: Lab) -> None:
    with shared_lab.paramiko("node") as transport:
        transport.connect()  # whatever is loaded once is loaded now
    with nothing_left():
        for cycle in range(CYCLES):
            with shared_lab.paramiko("node" if cycle % 4 == 0 else "login") as transport:
                transport.connect()
                if cycle % 5 == 0:
                    transport.run(["true"], timeout_s=LIMIT_S)
                    with transport.stream(["yes"]) as lines:
                        next(lines)


def link(chain: Chain, lab: Lab, *hosts: str) -> None:
    """Adds the hosts as the transport does."""
    login = Login(lab.environment, None)
    for name in hosts:
        chain.add(resolve_chain(name, config=lab.config)[-1], login)


def test_the_second_hop_is_carried_by_the_first_and_ends_with_it(shared_lab: Lab) -> None:
    shared_lab.write_config()
    chain = Chain(asks=False)
    assert not chain.is_open
    with nothing_left():
        link(chain, shared_lab, "login", "node")
        assert chain.is_open
        assert chain.answers()
        first, second = (transport for transport, _ in chain._links)
        first.close()
        second.join(20)
        assert not chain.is_open
        assert not chain.answers(1.0)
        chain.close()
        chain.close()


def test_a_host_that_is_not_the_one_on_record_learns_nothing_of_us(lab: Lab) -> None:
    lab.known_hosts.write_text(lab.known_line(lab.login).replace(lab.login.public_key, OTHER_KEY))
    chain = Chain(asks=False)
    with nothing_left():
        with pytest.raises(HostKeyChanged):
            link(chain, lab, "login")
        chain.close()
    assert "publickey" not in lab.login.log()


def test_what_takes_too_long_is_cut_and_a_closed_chain_refuses_work(shared_lab: Lab) -> None:
    shared_lab.write_config()
    chain = Chain(asks=False)
    with nothing_left():
        link(chain, shared_lab, "login")
        with chain.bounded(0.05):
            chain.last.join(20)
        assert not chain.is_open
        chain.close()
        with pytest.raises(EOFError), chain.bounded(1.0):
            pass
