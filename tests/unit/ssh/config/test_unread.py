"""Why ssh does not go by an alias: told from the files alone, and as ssh itself reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.ssh.config.alias import point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.include import END, apply, plan_install
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import resolve
from scratchflow.ssh.config.unread import why_unread

ALIAS = "compile_machine"
OWN = "Host compile_machine\n  HostName 10.9.9.9\n"


@pytest.mark.parametrize(
    ("above", "why"),
    [
        ("", ""),
        ("# mine\nServerAliveInterval 60\nUser = ada\n", ""),
        ("Host *\n  Compression yes\n", ""),
        ("Match all\n", ""),
        ("Host other\n  User b\n", "stand below `Host other`"),
        ("MATCH host x\n", "stand below `Match host x`"),
        ("Host x compile_*\n  HostName 127.0.0.9\n", "has a `Host x compile_*` of its own above"),
        ("Host * !x\n  User b\n", "stand below `Host * !x`"),
        ("Host compile_* !compile_machine\n", "stand below"),
        ("Host *\n  HostName 127.0.0.9\n", "sets `HostName 127.0.0.9` for every host above"),
        ("Match originalhost x,compile_machine\n", "of its own above"),
        ("Host=compile_machine\n", "has a `Host compile_machine` of its own above"),
    ],
)
def test_it_is_said_why_ssh_does_not_go_by_an_alias(places: SshPaths, above: str, why: str) -> None:
    ours = plan_install(places).after or b""
    places.config.write_bytes(above.encode() + ours + b"Host compile_machine\n")
    found = why_unread(places, "compile_machine")
    assert (why in found) is True
    assert bool(found) is bool(why)
    apply(plan_install(places))
    assert why_unread(places, "compile_machine") == ""


@pytest.mark.parametrize(
    ("content", "is_told"),
    [
        (None, True),
        (b"Host a\n", True),
        (b"Host a\nInclude more/*\n", True),
        (b"Include /no/such/place/*\nHost a\n", True),
        (b'Include "not closed\nHost a\n', True),
        (b"Include scratchflow.d/*.conf\n", False),  # by hand
    ],
)
def test_lines_that_are_missing_are_told_where_that_is_sure(
    places: SshPaths, content: bytes | None, is_told: bool
) -> None:
    if content is not None:
        places.config.write_bytes(content)
    assert ("lacks scratchflow's lines" in why_unread(places, "m")) is is_told
    places.config.unlink(missing_ok=True)
    places.config.mkdir()
    assert why_unread(places, "m") == ""


@pytest.mark.parametrize(
    ("included", "config", "why"),
    [
        ("", "INCLUDE\nHost a\n", "lacks scratchflow's lines"),
        ("", "Host a\n  User b\nHost *\nINCLUDE\n", "lacks scratchflow's lines"),
        (OWN, "INCLUDE\n", "lacks scratchflow's lines"),
        (OWN, "INCLUDE\nOURS", "includes, has a `Host compile_machine` of its own above"),
        (OWN, "Host a\n  User b\nINCLUDE\nHost *\nOURS", ""),
        ("HostName 10.9.9.9\n", "INCLUDE\nOURS", "sets `HostName 10.9.9.9` for every host"),
        ("Host a\n  User b\n", "INCLUDE\nOURS", ""),
        ("Host a\n", "INCLUDE\nHost b\n  User c\nOURS", "stand below `Host b`"),
        ("OURS", "INCLUDE\nHost a\n", ""),
        ("Host a\nOURS", "INCLUDE\n", "stand below `Host a`"),
        ("OURS", "Host a\nINCLUDE\n", "stand below `Host a`"),
        ("INCLUDE\nHost a\n", "INCLUDE\nOURS", ""),
        (OWN, "OURSINCLUDE\n", ""),
    ],
)
def test_what_an_own_include_changes_is_told_as_ssh_reads_it_and_mended_at_the_top(
    places: SshPaths, tmp_path: Path, included: str, config: str, why: str
) -> None:
    ours = (plan_install(places).after or b"").decode()
    point_alias(places, ALIAS, AliasTarget("p", "node-1", "ada", "login1"))
    more = tmp_path / "more files"
    more.mkdir()

    def filled_in(text: str) -> str:
        return text.replace("OURS", ours).replace("INCLUDE", f'Include "{more}/*"')

    (more / "a").write_text(filled_in(included))
    (more / "b").mkdir()
    own = filled_in(config)
    places.config.write_text(own)
    found = why_unread(places, ALIAS)
    assert (why in found, bool(found)) == (True, bool(why))
    if "INCLUDE" not in included:  # ssh refuses a circle
        (more / "b").rmdir()  # and a directory
        assert (resolve(ALIAS, config=places.config).hostname == "node-1") is not bool(why)
        apply(plan_install(places))
        assert resolve(ALIAS, config=places.config).hostname == "node-1"
        assert why_unread(places, ALIAS) == ""
        _, end, rest = places.config.read_text().partition(END.decode() + "\n")
        assert (rest if end else None) == own.replace(ours, "")


def test_a_file_that_cannot_be_read_is_as_one_that_sets_nothing(
    places: SshPaths, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(OWN)
    secret.chmod(0)
    ours = (plan_install(places).after or b"").decode()
    places.config.write_text(f"Include {secret}\n{ours}")
    assert why_unread(places, ALIAS) == ""
