"""Which hosts of the user's ssh config could be a login host."""

from __future__ import annotations

from pathlib import Path

from scratchflow.ssh.config.hosts import hosts_in_config, own_entry, why_passed_over
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import leads_nowhere, resolve


def test_plain_names_in_the_order_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text('Host uni "other" *.example !not\nhost=last\nMatch host x\nHost uni\n')
    assert hosts_in_config(SshPaths.of(config)) == ["uni", "other", "last"]


def test_included_files_are_read_and_our_own_aliases_are_not_offered(tmp_path: Path) -> None:
    config = tmp_path / "config"
    more = tmp_path / "more"
    more.write_text(f"Host more\nInclude {config}\n")
    ours = tmp_path / "scratchflow.d"
    ours.mkdir()
    (ours / "compile_machine.conf").write_text("Host compile_machine\n")
    config.write_text(f"Include {ours}/*.conf\nInclude {more}\nHost uni\n")
    assert hosts_in_config(SshPaths.of(config)) == ["more", "uni"]


def test_a_users_own_entry_is_found_by_file_and_line_and_ours_is_none(tmp_path: Path) -> None:
    config, ours = tmp_path / "config", tmp_path / "scratchflow.d"
    ours.mkdir()
    (ours / "box.conf").write_text("Host box\n")
    config.write_text(f"Include {ours}/*.conf\n\nHost *\nHost b*\nHost a box\nHost box\n")
    places = SshPaths.of(config)
    line = own_entry(places, "box")
    assert line is not None
    assert (line.file, line.number) == (config, 5)
    assert own_entry(places, "bo") is None


def test_what_cannot_be_read_has_no_hosts(tmp_path: Path) -> None:
    config = tmp_path / "config"
    assert hosts_in_config(SshPaths.of(config)) == []
    config.write_text('Host "unclosed\nHost a;b -o\n')
    assert hosts_in_config(SshPaths.of(config)) == []


def test_a_host_that_is_included_for_another_one_alone_is_none_and_it_is_said_why(
    tmp_path: Path,
) -> None:
    config, more = tmp_path / "config", tmp_path / "more"
    more.write_text("Host\tlogin  deep\n  HostName=10.0.0.1\n")
    config.write_text(f"Host foo\n  User a\nInclude {more}\n")
    places = SshPaths.of(config)
    assert hosts_in_config(places) == ["foo"]
    assert leads_nowhere(resolve("login", config=config))
    why = why_passed_over(places, "login")
    assert f"`Host login` is in `{more}`, whose `Include` stands below `Host foo`" in why
    assert why_passed_over(places, "foo") == why_passed_over(places, "other") == ""
    config.write_text(f"Include {more}\nHost foo\n  User a\n")
    assert hosts_in_config(places) == ["login", "deep", "foo"]
    assert why_passed_over(places, "login") == ""
    assert resolve("login", config=config).hostname == "10.0.0.1"
