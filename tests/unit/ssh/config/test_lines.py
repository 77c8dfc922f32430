"""The lines of the user's ssh config, in ssh's own order and with what each is for."""

from __future__ import annotations

from pathlib import Path

from scratchflow.ssh.config.lines import config_lines, is_ours
from scratchflow.ssh.config.paths import SshPaths


def test_lines_are_read_however_they_are_written(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_bytes(
        b"\xef\xbb\xbf# mine\n\n  Port=22 \r\nHost\ta b\n\tUser = c\nHost *\nProxyCommand x a=b\nMATCH host z\n"
    )
    assert [(one.word, one.rest, one.scope) for one in config_lines(SshPaths.of(config))] == [
        ("port", "22", ""),
        ("host", "a b", ""),
        ("user", "c", "Host a b"),
        ("host", "*", ""),
        ("proxycommand", "x a=b", ""),
        ("match", "host z", ""),
    ]


def test_what_is_included_comes_where_it_is_included_and_is_for_whom_that_is(
    tmp_path: Path,
) -> None:
    config, first, second = (tmp_path / name for name in ("config", "1", "2"))
    first.write_text(f"User one\nInclude {config}\n")
    second.write_text("Host x\nUser two\n")
    config.write_text(f"Include {first}\nHost y\nInclude {first} {second} {tmp_path}/none\n")
    found = [(one.word, one.file.name, one.scope) for one in config_lines(SshPaths.of(config))]
    assert found[:3] == [("include", "config", ""), ("user", "1", ""), ("include", "1", "")]
    assert found.count(("user", "1", "Host y")) == 1
    assert ("host", "2", "Host y") in found
    assert ("user", "2", "Host y") in found


def test_our_own_lines_are_known_and_not_gone_into(tmp_path: Path) -> None:
    config = tmp_path / "config"
    places = SshPaths.of(config)
    ours = places.directory / "compile_machine.conf"
    ours.parent.mkdir()
    ours.write_text("Host compile_machine\n")
    config.write_text(f'Include {ours}\nInclude "not closed\nInclude {tmp_path}\n')
    lines = list(config_lines(places))
    assert [is_ours(places, one) for one in lines] == [True, False, False]
