"""From the login host to a node: only with its keys on record, and without a shell of ours in between."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.keys.known_hosts import known_keys, remember_node
from scratchflow.ssh.transport import node as neighbour
from scratchflow.ssh.transport.node import know_node, neighbour_argv
from tests.unit.ssh.keys.test_known_hosts import KEY_A, KEY_B, key


def test_ssh_understands_it_and_never_asks_nor_trusts_a_stranger(places: SshPaths) -> None:
    argv = neighbour_argv(places, "aws", "node-1", ["true"])
    where = argv.index("--")
    # `-G` prints what it would do, and does nothing.
    asked = [argv[0], "-F", "/dev/null", "-G", *argv[1:where], "--", "node-1"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    meant = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    file = str(places.host_keys_file("aws-node-1"))
    assert (meant["batchmode"], meant["stricthostkeychecking"]) == ("yes", "true")
    assert (meant["hostkeyalias"], meant["userknownhostsfile"]) == ("aws-node-1", file)
    assert (meant["controlmaster"], meant["forwardagent"]) == ("false", "no")


def test_a_users_own_list_of_options_to_ignore_does_not_stop_it(
    places: SshPaths, tmp_path: Path
) -> None:
    config = tmp_path / "shared-config"
    config.write_text("IgnoreUnknown UseKeychain\nUseKeychain yes\n")
    argv = neighbour_argv(places, "aws", "node-1", ["true"])
    asked = [argv[0], "-F", config, "-G", *argv[1 : argv.index("--")], "--", "node-1"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_word_of_the_command_arrives_as_it_is(places: SshPaths) -> None:
    words = ["printf", "%s\n", "a b", "$HOME", "`id`", "'", '"', "; exit 3", "*", ""]
    far = neighbour_argv(places, "aws", "node-1", words)[-1]
    done = subprocess.run(["sh", "-c", far], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == words[2:]


@pytest.mark.parametrize("node", ["-oProxyCommand=id", "a b", "", "n;id", "1"])
def test_what_is_no_node_never_reaches_ssh(places: SshPaths, node: str) -> None:
    with pytest.raises(SshConfigRefused, match="not a node name"):
        neighbour_argv(places, "aws", node, ["true"])


def test_the_keys_of_the_grant_are_kept_and_missing_ones_asked_for(
    places: SshPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbour, "scan_host_keys", lambda node: [f"{node} {KEY_B}"])
    remember_node(places, "aws", "node-1", [f"node-1 {KEY_A}"])
    for node, kept in (("node-1", KEY_A), ("node-2", KEY_B)):
        know_node(places, "aws", node)
        name = f"aws-{node}"
        assert list(known_keys([places.host_keys_file(name)], name).keys) == [key(kept)]
