"""Which hosts of the user's ssh config could be a login host."""

from __future__ import annotations

from pathlib import Path

from scratchflow.ssh.config.hosts import hosts_in_config
from scratchflow.ssh.config.paths import SshPaths


def test_plain_names_in_the_order_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text('Host uni "other" *.example !not\nhost=last\nMatch host x\nHost uni\n')
    assert hosts_in_config(SshPaths.of(config)) == ["uni", "other", "last"]


def test_included_files_are_read_and_our_own_aliases_are_not_offered(tmp_path: Path) -> None:
    config = tmp_path / "config"
    (tmp_path / "more").write_text("Host more\nInclude config\n")
    ours = tmp_path / "scratchflow.d"
    ours.mkdir()
    (ours / "compile_machine.conf").write_text("Host compile_machine\n")
    config.write_text(f"Include {ours}/*.conf\nInclude more\nHost uni\n")
    assert hosts_in_config(SshPaths.of(config)) == ["more", "uni"]


def test_what_cannot_be_read_has_no_hosts(tmp_path: Path) -> None:
    config = tmp_path / "config"
    assert hosts_in_config(SshPaths.of(config)) == []
    config.write_text('Host "unclosed\nHost a;b -o\n')
    assert hosts_in_config(SshPaths.of(config)) == []
