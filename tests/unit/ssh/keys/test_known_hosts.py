"""Host keys on record are found as ssh finds them; a node's keys are kept and forgotten whole."""

from __future__ import annotations

import subprocess
from multiprocessing import get_context
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.keys.known_hosts import (
    HostKey,
    append_key,
    has_authority,
    known_keys,
    parse_key,
    remember_node,
)


def encoded(kind: str, body: bytes) -> str:
    import base64

    return base64.b64encode(len(kind).to_bytes(4, "big") + kind.encode() + body).decode()


KEY_A = f"ssh-ed25519 {encoded('ssh-ed25519', b'a' * 36)}"
KEY_B = f"ssh-ed25519 {encoded('ssh-ed25519', b'b' * 36)}"
KEY_R = f"ssh-rsa {encoded('ssh-rsa', b'r' * 36)}"


def key(text: str) -> HostKey:
    found = parse_key(*text.split())
    assert found
    return found


@pytest.mark.parametrize(
    ("line", "name", "found"),
    [
        (f"host {KEY_A}", "host", True),
        (f"host {KEY_A} a comment", "HOST", True),
        (f"HOST {KEY_A}", "host", True),
        (f"other,host,third {KEY_A}", "host", True),
        (f"[host]:2222 {KEY_A}", "[host]:2222", True),
        (f"[host]:2222 {KEY_A}", "host", False),
        (f"*.example.org {KEY_A}", "a.example.org", True),
        (f"*.example.org,!bad.example.org {KEY_A}", "bad.example.org", False),
        (f"h?st {KEY_A}", "host", True),
        (f"h.st {KEY_A}", "host", False),
        (f"# host {KEY_A}", "host", False),
        (f"@cert-authority host {KEY_A}", "host", False),
        ("host ssh-ed25519 AAAAnonsense", "host", False),
        (f"host ssh-rsa {KEY_A.split()[1]}", "host", False),
        ("|1|bad|bad ssh-ed25519 AAAA", "host", False),
    ],
)
def test_names_are_matched_as_ssh_does(tmp_path: Path, line: str, name: str, found: bool) -> None:
    (tmp_path / "known").write_text(line + "\n")
    assert (known_keys([tmp_path / "known"], name).keys == {key(KEY_A)}) is found


def test_hashed_names_are_found(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"host {KEY_A}\n[host]:2222 {KEY_B}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    assert "host" not in file.read_text()
    assert known_keys([file], "host").keys == {key(KEY_A)}
    assert known_keys([file], "[host]:2222").keys == {key(KEY_B)}


def test_revoked_keys_and_authorities_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "known"
    file.write_text(f"@revoked * {KEY_A}\nhost {KEY_A}\n")
    assert known_keys([file], "host").revoked == {key(KEY_A)}
    assert not has_authority([file, tmp_path / "missing"])
    file.write_text(f"@cert-authority *.example.org {KEY_A}\n")
    assert has_authority([file])


def test_an_appended_key_is_found_by_ssh_even_after_a_broken_line(tmp_path: Path) -> None:
    file = tmp_path / "new" / "known"
    append_key(file, "first", key(KEY_B))
    file.write_text(file.read_text().rstrip("\n"))
    append_key(file, "Host", key(KEY_A))
    done = subprocess.run(
        ["ssh-keygen", "-F", "host", "-f", str(file)], check=True, capture_output=True, text=True
    )
    assert KEY_A in done.stdout
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_nodes_keys_are_kept_under_its_alias_and_forgotten(places: SshPaths) -> None:
    scanned = ["# node-1:22 SSH-2.0-OpenSSH_9.2", f"node-1 {KEY_A}", f"node-1 {KEY_R}", ""]
    assert not remember_node(places, "AWS", "node-1", scanned)
    file = places.host_keys_file("AWS-node-1")
    assert file.read_text() == f"aws-node-1 {KEY_A}\naws-node-1 {KEY_R}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert not remember_node(places, "AWS", "node-1", [f"node-1 {KEY_A}"])
    assert remember_node(places, "AWS", "node-1", [f"node-1 {KEY_B}"])
    assert known_keys([file], "aws-node-1").keys == {key(KEY_B)}


@pytest.mark.parametrize(
    "scanned",
    [
        [],
        ["# only a remark"],
        ["node-1 ssh-ed25519"],
        ["node-1 ssh-ed25519 AAAA"],
        [f"node-1 ssh-dss {encoded('ssh-dss', b'd' * 20)}"],
        [f"node-1 {KEY_A}", "node-1 no-such-kind AAAA"],
    ],
)
def test_what_is_not_a_host_key_is_refused(places: SshPaths, scanned: list[str]) -> None:
    with pytest.raises(SshConfigRefused):
        remember_node(places, "aws", "node-1", scanned)
    assert not places.directory.exists()


@pytest.mark.parametrize(("profile", "node"), [("../x", "n"), ("p", "a/b"), ("p", "a\nb")])
def test_hostile_names_reach_no_file(places: SshPaths, profile: str, node: str) -> None:
    with pytest.raises(SshConfigRefused):
        remember_node(places, profile, node, [f"n {KEY_A}"])


def remember_many(config: Path, worker: int) -> None:
    for number in range(20):
        remember_node(SshPaths(config), "p", f"n{worker}-{number}", [f"x {KEY_A}"])
        remember_node(SshPaths(config), "p", "shared", [f"x {KEY_A}"])


def test_several_at_once_lose_no_key(places: SshPaths) -> None:
    context = get_context("fork")
    workers = [context.Process(target=remember_many, args=(places.config, n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    keys = {key(KEY_A)}
    names = [f"p-n{worker}-{number}" for worker in range(4) for number in range(20)]
    for name in [*names, "p-shared"]:
        assert known_keys([places.host_keys_file(name)], name).keys == keys
