"""The alias leads to the node it was pointed at, or fails at once; hostile values get nowhere."""

from __future__ import annotations

import stat
import subprocess
import sys
import time

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config import alias as alias_module
from scratchflow.ssh.config.alias import (
    foreign_file,
    forget_host_keys,
    park_alias,
    point_alias,
    read_alias,
    read_numbered,
    remove_alias,
    remove_files,
)
from scratchflow.ssh.config.alias_text import (
    PARKED,
    AliasTarget,
    fault_in,
)
from scratchflow.ssh.config.include import apply, plan_install
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import ResolvedHost, resolve
from tests.unit.ssh.conftest import ssh_view

TARGET = AliasTarget(profile="aws", node="node-1", user="ada", login="aws-login")
ALIAS = "compile_machine"


def test_the_other_nodes_have_numbered_aliases_until_there_are_fewer(places: SshPaths) -> None:
    others = [msgspec.structs.replace(TARGET, node=node) for node in ("node-2", "node-3")]
    point_alias(places, ALIAS, TARGET, others)
    file = places.alias_file(ALIAS)
    assert resolve(f"{ALIAS}-3", config=file).hostname == "node-3"
    assert resolve(f"{ALIAS}-2", config=file).host_key_alias == others[0].key_alias.lower()
    assert read_numbered(places, ALIAS) == others
    park_alias(places, ALIAS, "gpu")
    assert read_numbered(places, ALIAS) == []
    for name in (ALIAS, f"{ALIAS}-2", f"{ALIAS}-3"):
        assert "parked" in (resolve(name, config=file).proxy_command or "")
    point_alias(places, ALIAS, TARGET, others[:1])
    assert resolve(f"{ALIAS}-3", config=file).hostname == f"{ALIAS}-3"


def test_ssh_sees_what_the_contract_promises(places: SshPaths) -> None:
    places.config.write_bytes(
        b"Host *\n  ControlMaster auto\n  ControlPath ~/cm-%C\n  ForwardAgent yes\n  User nobody\n"
        b"  StrictHostKeyChecking no\n  ProxyCommand nc %h %p\n"
    )
    apply(plan_install(places))
    point_alias(places, ALIAS, TARGET)
    lines = ssh_view(places.config, ALIAS)[1].splitlines()
    keys = places.directory / "known_hosts.d" / "aws-node-1"
    for line in [
        "hostname node-1",
        "user ada",
        "port 22",
        "proxyjump aws-login",
        "hostkeyalias aws-node-1",
        "stricthostkeychecking accept-new",
        f"userknownhostsfile {keys}",
        "controlmaster false",
        "forwardagent no",
    ]:
        assert line in lines
    assert not [line for line in lines if line.startswith(("controlpath", "proxycommand"))]


def test_repointing_leaves_nothing_of_the_node_before(places: SshPaths) -> None:
    point_alias(places, ALIAS, TARGET)
    other = AliasTarget("aws", "node-2", "ada", None, 2222, ("~/.ssh/my key",), True)
    point_alias(places, ALIAS, other)
    assert read_alias(places, ALIAS) == other
    assert "node-1" not in places.alias_file(ALIAS).read_text()
    found = resolve(ALIAS, config=places.alias_file(ALIAS))
    assert (found.hostname, found.port, found.proxy_jump) == ("node-2", 2222, None)
    assert found.identity_files == ("~/.ssh/my key",)


def test_a_parked_alias_fails_at_once_and_says_what_to_run(places: SshPaths) -> None:
    apply(plan_install(places))
    point_alias(places, ALIAS, TARGET)
    park_alias(places, ALIAS, "gpu")
    assert read_alias(places, ALIAS) is PARKED
    for shell in ("/bin/sh", "/bin/bash"):
        started = time.monotonic()
        done = subprocess.run(
            ["ssh", "-F", str(places.config), ALIAS, "hostname"],
            env={"SHELL": shell, "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
        assert done.returncode == 255
        assert done.stdout == ""
        assert done.stderr.endswith("there is no allocation. Run: scratchflow -p gpu up\n")
        assert done.stderr.count("\n") == 1
        assert time.monotonic() - started < 20


def test_files_are_ours_alone_under_any_umask(places: SshPaths, any_umask: int) -> None:
    assert any_umask in {0, 2, 0o77}
    point_alias(places, ALIAS, TARGET)
    assert stat.S_IMODE(places.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((places.directory / "known_hosts.d").stat().st_mode) == 0o700
    assert stat.S_IMODE(places.alias_file(ALIAS).stat().st_mode) == 0o600


def test_an_open_directory_is_closed(places: SshPaths) -> None:
    places.directory.mkdir(mode=0o777)
    places.directory.chmod(0o777)
    park_alias(places, ALIAS)
    assert stat.S_IMODE(places.directory.stat().st_mode) == 0o700


def test_a_candidate_that_ssh_reads_otherwise_never_gets_the_name(
    places: SshPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    point_alias(places, ALIAS, TARGET)
    before = places.alias_file(ALIAS).read_bytes()
    wrong = ResolvedHost(name=ALIAS, hostname="elsewhere", user="ada")
    monkeypatch.setattr(alias_module, "resolve", lambda *_, **__: wrong)
    with pytest.raises(SshConfigRefused, match="another way"):
        point_alias(places, ALIAS, AliasTarget("aws", "node-2", "ada", None))
    monkeypatch.setattr(alias_module, "target_text", lambda *_: "Host x\n  NoSuchOption 1\n")
    monkeypatch.undo()
    monkeypatch.setattr(alias_module, "target_text", lambda *_: "Host x\n  NoSuchOption 1\n")
    with pytest.raises(SshConfigRefused, match=r"(?i)nosuchoption"):
        point_alias(places, ALIAS, TARGET)
    assert places.alias_file(ALIAS).read_bytes() == before
    assert [file.name for file in places.directory.glob(".tmp-*")] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Host other\n  HostName x\n",
        "Host compile_machine other\n  HostName node-1\n",
        "Host compile_machine\n  HostName node-1\n",
        "Host compile_machine\n  ProxyCommand nc %h %p\n",
        "Host compile_machine\nMatch all\n  HostName x\n",
        "\0\0\0",
        "Host compile_machine\n  HostName a;b\n  User x\n  Port 22\n  ProxyJump none\n  HostKeyAlias p-a;b\n",
        "Host compile_machine\n  HostName a\n  User x\n  Port zz\n  ProxyJump none\n  HostKeyAlias p-a\n",
        "Host compile_machine\n  HostName a\n  User x\n  Port 22\n  ProxyJump none\n  HostKeyAlias p-b\n",
    ],
)
def test_a_file_edited_by_hand_leads_nowhere_we_know(places: SshPaths, text: str) -> None:
    places.directory.mkdir()
    places.alias_file(ALIAS).write_text(text)
    assert read_alias(places, ALIAS) is None


def test_an_option_added_by_hand_does_not_hide_the_target(places: SshPaths) -> None:
    point_alias(places, ALIAS, TARGET)
    file = places.alias_file(ALIAS)
    file.write_text(file.read_text() + "\n# mine\n  LocalForward 8888 localhost:8888\n")
    assert read_alias(places, ALIAS) == TARGET


def test_the_host_keys_of_one_profile_go_and_those_that_may_be_of_another_stay(
    places: SshPaths,
) -> None:
    places.host_keys.mkdir(parents=True)
    for name in ("fast-node-1", "fast-node-2", "fast-2-node-1", "faster-node-1", "lab-node-1"):
        places.host_keys_file(name).touch()
    forget_host_keys(places, "Fast", ["fast-2", "lab", "fa"])
    left = sorted(file.name for file in places.host_keys.iterdir())
    assert left == ["fast-2-node-1", "faster-node-1", "lab-node-1"]
    places.host_keys.rename(places.directory / "away")
    forget_host_keys(places, "lab", [])


def test_a_directory_in_the_place_of_our_file_is_named_and_stays(places: SshPaths) -> None:
    file = places.alias_file(ALIAS)
    file.mkdir(parents=True)
    (file / "theirs").touch()
    with pytest.raises(SshConfigRefused, match="it is a directory") as caught:
        park_alias(places, ALIAS)
    assert f"`mv {file} {file}.aside` moves it away" in caught.value.shown_hint
    with pytest.raises(SshConfigRefused, match="it is a directory"):
        point_alias(places, ALIAS, TARGET)
    assert foreign_file(places, ALIAS) == file
    remove_alias(places, ALIAS)
    assert (file / "theirs").exists()
    file.rename(f"{file}.aside")
    park_alias(places, ALIAS)
    assert foreign_file(places, ALIAS) is None


def test_removing_takes_ours_and_nothing_else(places: SshPaths) -> None:
    point_alias(places, ALIAS, TARGET)
    point_alias(places, "other", TARGET)
    remove_alias(places, "other")
    remove_alias(places, "other")
    assert read_alias(places, "other") is None
    theirs = places.directory / "theirs.conf"
    theirs.write_text("Host theirs\n")
    remove_files(places)
    assert [file.name for file in places.directory.rglob("*")] == ["theirs.conf"]
    theirs.unlink()
    remove_files(places)
    assert not places.directory.exists()


HOSTILE = [
    "",
    "-oProxyCommand=x",
    "a b",
    "a\nProxyCommand touch x",
    "a\rb",
    "a\n",
    "a\0b",
    "a;b",
    "$(x)",
    "`x`",
    "%h",
    "a*",
    "a?",
    "!a",
    "a,b",
    '"a"',
    "a#b",
    "a\\b",
    "../a",
    "a/b",
    "é",
    "a" * 400,
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("field", ["alias", "profile", "node", "user", "login"])
def test_hostile_values_are_refused(places: SshPaths, field: str, value: str) -> None:
    given = {"alias": ALIAS, "profile": "p", "node": "n", "user": "u", "login": "l", field: value}
    alias, profile, node, user, login = given.values()
    with pytest.raises(SshConfigRefused):
        point_alias(places, alias, AliasTarget(profile, node, user, login))
    assert list(places.config.parent.iterdir()) == []


@pytest.mark.parametrize("node", ["1", "10.1", "0x7f.1", "127.0.0.01"])
def test_a_number_is_no_node_since_ssh_would_take_it_for_an_address(
    places: SshPaths, node: str
) -> None:
    with pytest.raises(SshConfigRefused):
        point_alias(places, ALIAS, AliasTarget("p", node, "u", "l"))
    point_alias(places, ALIAS, AliasTarget("p", "127.0.0.1", "u", "l"))


@pytest.mark.parametrize("path", ['a"b', "a\nb", "a%db", "${HOME}/a", "a\\b", ""])
def test_hostile_key_paths_are_refused(places: SshPaths, path: str) -> None:
    target = AliasTarget("p", "n", "u", "l", identity_files=(path,))
    with pytest.raises(SshConfigRefused):
        point_alias(places, ALIAS, target)


@pytest.mark.parametrize("login", ["10.0.0.5", "ada@10.0.0.5", "LOGIN.example"])
def test_a_login_host_may_be_an_address(places: SshPaths, login: str) -> None:
    target = AliasTarget("p", "n", "u", login)
    point_alias(places, ALIAS, target)
    assert read_alias(places, ALIAS) == target
    with pytest.raises(SshConfigRefused):
        point_alias(places, ALIAS, AliasTarget("p", "n", "u", "none"))


def test_an_alias_cannot_jump_through_itself(places: SshPaths) -> None:
    with pytest.raises(SshConfigRefused, match="login host itself"):
        point_alias(places, "login", AliasTarget("p", "n", "u", "me@LOGIN"))
    with pytest.raises(SshConfigRefused, match="name of the login host"):
        point_alias(places, ALIAS, AliasTarget("p", "Head", "u", "head"))


SAFE = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(alias=SAFE, profile=SAFE, node=SAFE, user=SAFE, login=SAFE | st.none())
def test_whatever_is_not_refused_ssh_reads_as_meant(
    tmp_path_factory: pytest.TempPathFactory,
    alias: str,
    profile: str,
    node: str,
    user: str,
    login: str | None,
) -> None:
    target = AliasTarget(profile, node, user, login)
    if fault_in(alias, target):
        return
    places = SshPaths(tmp_path_factory.mktemp("ssh") / "config")
    point_alias(places, alias, target)
    assert read_alias(places, alias) == target


def test_the_alias_needs_no_paramiko() -> None:
    program = (
        "import sys, scratchflow.ssh.config.alias, scratchflow.ssh.config.include, scratchflow.ssh.keys.known_hosts;"
        "sys.exit('paramiko' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_alias_that_another_version_parked_is_still_parked(places: SshPaths) -> None:
    park_alias(places, ALIAS)
    file = places.alias_file(ALIAS)
    file.write_text(file.read_text().replace("Run: scratchflow up", "Run: something else"))
    assert read_alias(places, ALIAS) == PARKED
