"""The text of an alias's file: made from checked values alone, and read back as it was meant."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scratchflow.ssh.config.alias_text import (
    PARKED,
    AliasTarget,
    fault_in,
    parked_text,
    parse_alias,
    parse_hosts,
    target_text,
)
from scratchflow.ssh.config.paths import SshPaths

WORDS = st.text(
    st.sampled_from("abAB09._-@+ \t\n\r\"'\\%$*?!,;#=/{}[]:é\0"), min_size=0, max_size=12
)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(alias=WORDS, profile=WORDS, node=WORDS, user=WORDS, login=WORDS | st.none())
def test_fuzzed_values_are_refused_or_add_no_directive(
    alias: str, profile: str, node: str, user: str, login: str | None
) -> None:
    target = AliasTarget(profile, node, user, login)
    if fault_in(alias, target):
        return
    text = target_text(alias, target, SshPaths(Path("/x/config")))
    plain = target_text("a", AliasTarget("p", "n", "u", "l"), SshPaths(Path("/x/config")))
    assert [line.split()[:1] for line in text.splitlines()] == [
        line.split()[:1] for line in plain.splitlines()
    ]
    assert parse_alias(text, alias) == target


PLACES = SshPaths(Path("/x/config"))
TARGET = AliasTarget(
    "aws",
    "node-1",
    "ada",
    "login",
    port=2222,
    identity_files=("/k/a b", "~/c"),
    identities_only=True,
)
RIDING = msgspec.structs.replace(TARGET, shared="/run/user/1000/scratchflow/a8ae06977bd2d962")


def test_scp_rsync_and_editors_may_run_their_own_commands() -> None:
    """ssh refuses a command for a host that has a `RemoteCommand`."""
    text = target_text("work", TARGET, PLACES, [TARGET]) + parked_text("work")
    options = {line.split()[0].lower() for line in text.splitlines()}
    assert not options & {"remotecommand", "requesttty", "sessiontype", "stdinnull"}


@pytest.mark.parametrize("target", [TARGET, RIDING, AliasTarget("aws", "node-1", "ada", None)])
def test_what_is_written_is_read_back(target: AliasTarget) -> None:
    assert parse_alias(target_text("work", target, PLACES), "work") == target
    assert parse_alias(target_text("work", target, PLACES), "other") is None


def test_the_other_nodes_of_a_job_are_read_back_in_their_order() -> None:
    others = [AliasTarget("aws", node, "ada", "login") for node in ("node-2", "node-9")]
    text = target_text("work", TARGET, PLACES, others)
    assert parse_hosts(text, "work") == [TARGET, *others]
    assert parse_alias(text, "work") == TARGET
    assert parse_hosts(text.replace("Host work-3", "Host work-4"), "work") == []
    assert parse_hosts(f"User somebody\n{text}", "work") == []
    assert parse_hosts(parked_text("work", others=2), "work") == [PARKED] * 3


def test_a_parked_alias_is_known_by_how_its_command_begins() -> None:
    assert parse_alias(parked_text("work"), "work") == PARKED
    assert parse_alias(parked_text("work", "gpu"), "work") == PARKED
    assert "Run: scratchflow -p gpu up" in parked_text("work", "gpu")
    assert "Run: scratchflow up" in parked_text("work", "x; rm -rf ~")
    foreign = parked_text("work").replace("scratchflow: this host is parked", "something else")
    assert parse_alias(foreign, "work") is None


@pytest.mark.parametrize("target", [TARGET, RIDING])
@pytest.mark.parametrize(
    "added", ["Match all", "Include ~/other", "Host more", "ProxyCommand nc x"]
)
def test_a_file_that_does_more_than_ours_leads_nowhere_we_know(
    added: str, target: AliasTarget
) -> None:
    text = target_text("work", target, PLACES)
    assert parse_alias(f"{text}{added}\n", "work") is None
    assert parse_alias(f"{text}  {added.lower()}\n", "work") is None


def test_two_clusters_with_equal_node_names_have_two_host_keys() -> None:
    here, there = (AliasTarget(profile, "node-1", "u", "l") for profile in ("aws", "uni"))
    assert here.key_alias != there.key_alias
    assert "known_hosts.d/aws-node-1" in target_text("work", here, PLACES)


def test_where_the_login_asks_the_way_there_rides_our_shared_connection() -> None:
    """Nobody is asked for a second code; ssh's `-W` falls back to a login of its own when nothing is there."""
    text = target_text("work", RIDING, PLACES)
    command = f"ssh -F /x/config -o ControlMaster=no -o ControlPath={RIDING.shared}"
    assert f"  ProxyCommand {command} -W '[%h]:%p' login\n" in text
    assert "ProxyJump" not in text
    odd = target_text("work", RIDING, SshPaths(Path("/x y/config")))  # a shell would see two words
    assert "ProxyCommand" not in odd
    assert "ProxyJump login" in odd


@pytest.mark.parametrize("socket", ["/run/a b", "/run/$(id)", "/run/a'b", "/run/%h", "-x", "a\nb"])
def test_no_shell_meets_a_socket_that_it_would_act_on(socket: str) -> None:
    target = msgspec.structs.replace(TARGET, shared=socket)
    assert "a shell would act on" in str(fault_in("work", target))


def test_the_fault_is_named_with_the_value() -> None:
    assert "`a b`" in str(fault_in("a b", TARGET))
    assert "70000" in str(fault_in("work", AliasTarget("p", "n", "u", "l", port=70000)))
    assert fault_in("work", TARGET) is None
