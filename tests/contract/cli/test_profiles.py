"""`profiles` with the real program and a file that the user wrote."""

from __future__ import annotations

import os
import pty
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from scratchflow.ssh.config.alias import park_alias, read_alias
from scratchflow.ssh.config.paths import SshPaths
from tests.contract.cli.written_file import FILE, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_copy_has_the_same_settings_and_names_of_its_own(machine: Machine) -> None:
    machine.data("profiles", "copy", "uni", "long", "--set", "slurm.time=2-0")
    assert machine.file.read_text().startswith(FILE)
    long, uni = (machine.data("config", "show", "-p", name)["values"] for name in ("long", "uni"))
    assert long.pop("alias") == "compile_machine_long"
    assert long.pop("workspace") == "work_long"
    assert long["slurm"].pop("time") == "2-0"
    del uni["alias"], uni["workspace"], uni["slurm"]["time"]
    assert long == uni


def test_names_that_were_chosen_are_kept(machine: Machine) -> None:
    machine.data("profiles", "copy", "uni", "b", "--set", "alias=compile_machine")
    assert machine.data("config", "get", "alias", "-p", "b")["value"] == "compile_machine"
    assert machine.data("config", "get", "workspace", "-p", "b")["value"] == "work_b"


def test_a_copy_of_the_built_in_profile_works_without_a_cluster(machine: Machine) -> None:
    machine.data("profiles", "copy", "local", "mine")
    mine = machine.data("config", "show", "-p", "mine")["values"]
    assert (mine["scheduler"], mine["workspace"]) == ("none", "work_mine")


def test_add_needs_a_login_host_and_a_new_name(machine: Machine) -> None:
    assert "`--login HOST`" in machine.outcome("profiles", "add", "b")["message"]
    taken = machine.outcome("profiles", "add", "uni", "--login", "x")
    assert taken["code"] == "usage.invalid"
    machine.data("profiles", "add", "b", "--login", "b-login", "--set", "slurm.gpus=1")
    shown = machine.data("config", "show", "-p", "b")["values"]
    assert (shown["login"], shown["slurm"]["gpus"]) == ("b-login", 1)
    assert shown["alias"] == "compile_machine_b"
    assert machine.data("config", "get", "default_profile")["value"] == "uni"


def test_use_changes_what_commands_use(machine: Machine) -> None:
    machine.data("profiles", "use", "local")
    assert machine.data("config", "show")["profile"] == "local"
    rows = machine.data("profiles", "list")["profiles"]
    assert {row["name"]: row["is_used"] for row in rows} == {"uni": False, "local": True}
    refused = machine.outcome("profiles", "use", "umi")
    assert 'did you mean "uni"?' in refused["message"]


def test_the_list_works_when_no_profile_is_chosen(machine: Machine) -> None:
    machine.data("profiles", "copy", "uni", "b")
    machine.data("config", "unset", "default_profile")
    assert machine.outcome("config", "show")["code"] == "config.profile_needed"
    assert "*" not in machine.run("profiles", "list").stdout


@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_a_profile_that_holds_a_node_is_not_removed(machine: Machine, state: str) -> None:
    with machine.programs.slurm() as fake:
        number = fake.add("scratchflow:uni:abc", state=state)
    refused = machine.outcome("profiles", "remove", "uni", "--yes")
    assert refused["code"] == "allocation.held"
    assert machine.file.read_text() == FILE
    with machine.programs.slurm() as fake:
        fake.jobs[number].state = "COMPLETED"
    assert machine.data("profiles", "remove", "uni", "--yes")["profile"] == "uni"


def with_snapshot(store: Path) -> Path:
    """A store of the workspace `work_b`, with the manifest of one snapshot."""
    (store / "work_b").mkdir(parents=True)
    (store / "work_b/20261115T195140Z-570643.json").touch()
    return store


def test_remove_takes_the_profile_out_and_says_what_stays(machine: Machine) -> None:
    store = with_snapshot(machine.home / "s")
    machine.data("profiles", "copy", "uni", "b", "--set", f"store={store}")
    with_both = machine.file.read_text()
    alias = machine.home / ".ssh/scratchflow.d/compile_machine_b.conf"
    alias.parent.mkdir(parents=True)
    alias.write_text("Host of_mine\n")  # not as we write it
    declined = machine.outcome("profiles", "remove", "b")
    assert declined["code"] == "usage.declined"
    assert machine.file.read_text() == with_both
    removed = machine.data("profiles", "remove", "b", "--yes")
    there = "/scratch/$USER/work_b"
    before = ", before its snapshots are removed: `clear` keeps a node with a copy whose snapshots are gone"
    assert removed["stays"] == [
        f"the workspace, in {there} of the nodes that held it; `rm -rf {there}` in a job there removes it{before}",
        f"1 snapshot in {store}/work_b; `rm -rf {store}/work_b` removes it for good, after the copies on nodes",
        f"{alias}, which scratchflow did not write; `rm {alias}` removes it",
    ]
    assert alias.exists()
    assert removed["alias"] is None
    assert machine.file.read_text().rstrip() == FILE.rstrip()
    assert machine.data("config", "get", "default_profile")["value"] == "uni"


def test_an_alias_that_is_the_profiles_alone_goes_with_it(machine: Machine) -> None:
    machine.data("profiles", "copy", "uni", "b")
    machine.data("profiles", "copy", "uni", "c", "--set", "alias=compile_machine_b")
    machine.data("config", "set", "-p", "local", "alias", "compile_machine_b")  # it has no cluster
    places = SshPaths.of(str(machine.home / ".ssh/config"))
    park_alias(places, "compile_machine_b")
    shared = machine.data("profiles", "remove", "c", "--yes")
    assert (shared["alias"], shared["stays"]) == (None, [])
    foretold = machine.run("profiles", "remove", "b", "--dry-run")
    assert "would remove the ssh alias `compile_machine_b`" in foretold.stdout
    assert read_alias(places, "compile_machine_b") is not None
    done = machine.run("profiles", "remove", "b", "--yes")
    assert "removed the ssh alias `compile_machine_b`" in done.stdout
    assert not places.alias_file("compile_machine_b").exists()


def test_what_to_type_to_remove_the_rest_names_just_that(machine: Machine) -> None:
    """A path with a space, typed as it is shown, is still one path."""
    store = with_snapshot(machine.home / "my data")
    machine.data("profiles", "copy", "uni", "b", "--set", f"store={store}")
    _, snapshots, *_ = machine.data("profiles", "remove", "b", "--yes")["stays"]
    assert shlex.split(snapshots.split("`")[1]) == ["rm", "-rf", f"{store}/work_b"]


def test_a_copy_says_how_to_start_working_with_it(machine: Machine) -> None:
    said = machine.run("profiles", "copy", "uni", "b", "--set", "store=/data/b").stdout
    path = machine.data("config", "path")["path"]
    assert said.endswith(
        f"✓ saved in `{path}`\nits workspace `work_b` is empty at first;"
        " `scratchflow -p b create --from laptop:DIR` fills it\nNext: scratchflow -p b up\n"
    )
    shared = machine.run("profiles", "copy", "uni", "d", "--set", "workspace=work").stdout
    assert "empty at first" not in shared
    for words in (["use", "b"], ["remove", "b", "--yes"]):
        assert machine.run("profiles", *words).stdout.endswith(f"✓ saved in `{path}`\n")
    assert "✓" not in machine.run("profiles", "copy", "uni", "c", "--dry-run").stdout


def test_the_default_goes_with_its_profile(machine: Machine) -> None:
    machine.data("profiles", "remove", "uni", "--yes")
    assert machine.data("config", "show")["profile"] == "local"


def test_the_file_that_is_empty_after_the_last_profile_is_gone_and_that_is_said(
    machine: Machine,
) -> None:
    machine.file.write_text('[profiles.uni]\nstore = "/fsx/s"\n')
    shown = machine.run("profiles", "remove", "uni", "--yes").stdout
    assert shown.endswith(f"✓ removed `{machine.file}`, in which nothing was left\n")
    assert not machine.file.parent.exists()


def test_when_slurm_cannot_be_asked_a_warning_says_so(machine: Machine) -> None:
    with machine.programs.slurm() as fake:
        fake.up = False
    done = machine.run("profiles", "remove", "uni", "--yes")
    assert "cannot tell whether profile `uni` holds a node" in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(("answer", "removed"), [("y\n", True), ("\n", False), ("\x04", False)])
def test_in_a_terminal_remove_shows_the_change_and_asks(
    machine: Machine, answer: str, removed: bool
) -> None:
    child, descriptor = pty.fork()
    if child == 0:
        argv = [sys.executable, "-m", "scratchflow", "profiles", "remove", "uni"]
        os.execve(sys.executable, argv, {**machine.environment, "TERM": "xterm"})  # noqa: S606 - a terminal is what is tried
    screen = ""
    with os.fdopen(descriptor, "r+b", buffering=0) as keyboard:
        with suppress(OSError):  # the terminal is gone
            while shown := keyboard.read(1 << 16):
                screen += shown.decode()
                if screen.endswith(
                    "Remove profile `uni`? Its snapshots and workspaces stay. [y/N]: "
                ):
                    keyboard.write(answer.encode())
        status = os.waitpid(child, 0)[1]
    assert '-store = "/fsx/s"  # large' in screen
    assert os.waitstatus_to_exitcode(status) == (0 if removed else 2)
    assert ("profiles.uni" not in machine.file.read_text()) == removed
    assert ("nothing was changed" in screen) == (not removed)
    assert "error:" not in screen
    assert "--yes" not in screen


def test_hosts_of_the_ssh_config_are_listed_to_choose_a_login_host_from(machine: Machine) -> None:
    config = Path(machine.environment["HOME"], ".ssh", "config")
    config.parent.mkdir(mode=0o700, exist_ok=True)
    config.write_text("Host uni lab\n  User me\nHost *.example\n")
    assert machine.data("setup", "--list-hosts")["hosts"] == ["uni", "lab"]
    assert machine.run("setup", "--list-hosts").stdout == "uni\nlab\n"


def test_sites_are_listed_without_a_cluster_or_a_file(machine: Machine) -> None:
    machine.file.unlink()
    sites = {one["name"]: one for one in machine.data("setup", "--list-sites")["sites"]}
    assert sites["alliance"]["account"]
    assert {"key": "scratch", "value": "$SLURM_TMPDIR"}.items() <= sites["mila"]["values"][
        0
    ].items()
    shown = machine.run("setup", "--list-sites").stdout
    assert "mila: the cluster of the Quebec AI Institute" in shown
    assert "90 days" in shown


def test_alone_it_lists_them(machine: Machine) -> None:
    assert machine.data("profiles") == machine.data("profiles", "list")
