"""`profiles` changes the user's file only as far as it was asked to, and removes no profile that is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.remembered import recall, remember
from scratchflow.config.settings import Asked, load_settings, sync_options
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows import profiles as module
from scratchflow.flows.profiles import add, copy, list_profiles, remove, use
from scratchflow.flows.setup.removal.traces import Traces, WorkspaceTrace
from scratchflow.model.errors.allocation import AllocationHeld
from scratchflow.model.errors.base import Declined, UsageInvalid
from scratchflow.model.errors.config import ConfigBadValue, ConfigNoProfile
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import Event, Warned
from scratchflow.model.profile import Profile
from scratchflow.model.results.config import ProfileRemoved
from scratchflow.ssh.config.alias import point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths
from tests.unit.flows.told import job

FILE = """\
# mine
default_profile = "uni"

[profiles.uni]
login = "aws"  # the large one
[profiles.uni.slurm]
extra = ["--a b", "it's"]
[profiles.uni.environment]
variables = { A_B = "x = 1" }

[profiles.lab]
login = "lab"
"""
ENVIRONMENT = {"HOME": "/h", "USER": "u"}
STORE = Profile().store


class Desk:
    """The flows on a file of the user's."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(directory))
        monkeypatch.setenv("HOME", str(directory))
        self.file = directory / "config.toml"
        self.file.write_text(FILE)
        self.asked = Asked(config=str(self.file))
        self.events: list[Event] = []
        self.jobs: Any = []
        self.traces: Traces | None = Traces(workspaces=(WorkspaceTrace(STORE, "work", 3),))
        monkeypatch.setattr(module, "_look", self._look)

    def _look(self, *_: object) -> Any:
        if isinstance(self.jobs, Exception):
            raise self.jobs
        return module._Seen(self.jobs, self.traces)

    def profile(self, name: str) -> Any:
        asked = Asked(config=str(self.file), profile=name)
        return load_settings(asked, ENVIRONMENT).profile

    def remove(self, name: str, *, answer: bool = True, dry_run: bool = False) -> ProfileRemoved:
        caller = Caller(self.asked, ENVIRONMENT)
        return remove(caller, self.events.append, name, lambda *_: answer, dry_run=dry_run)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_the_list_has_the_built_in_one_and_marks_one_as_used(desk: Desk) -> None:
    rows = list_profiles(desk.asked, ENVIRONMENT).profiles
    assert [row.name for row in rows] == ["uni", "lab", "local"]
    assert [row.name for row in rows if row.is_used] == ["uni"]
    assert [row.name for row in rows if row.built_in] == ["local"]


def test_the_list_has_the_request_and_the_node_that_this_machine_knows_of(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    profile = desk.profile("uni")
    target = AliasTarget("uni", "node-2", "u", "aws")
    point_alias(SshPaths.of(profile.ssh_config), profile.alias, target)
    uni, lab, local = list_profiles(desk.asked, ENVIRONMENT).profiles
    assert (uni.partition, uni.time, uni.node) == ("", "8:00:00", "node-2")
    assert (lab.node, local.node, local.partition, local.time) == (None, None, "", "")


def test_a_value_that_cannot_be_is_told_as_the_one_that_was_typed(desk: Desk) -> None:
    with pytest.raises(ConfigBadValue, match=r"`profiles\.long\.slurm\.time` \(what you typed\)"):
        copy(
            desk.asked,
            ENVIRONMENT,
            lambda _: None,
            "uni",
            "long",
            {"slurm.time": "soon"},
            dry_run=False,
        )
    assert desk.file.read_text() == FILE


def test_a_copy_keeps_lists_tables_and_quotes_and_shares_no_names(desk: Desk) -> None:
    copy(
        desk.asked, ENVIRONMENT, lambda _: None, "uni", "long", {"slurm.time": "2-0"}, dry_run=False
    )
    first, second = desk.profile("uni"), desk.profile("long")
    assert second.slurm.extra == first.slurm.extra
    assert second.environment.variables == {"A_B": "x = 1"}
    assert (second.login, second.slurm.time) == ("aws", "2-0")
    assert second.alias != first.alias
    assert second.workspace != first.workspace
    assert desk.file.read_text().startswith(FILE)


def test_a_second_profile_leaves_commands_without_p_with_the_first(desk: Desk) -> None:
    desk.file.write_text('[profiles.uni]\nlogin = "aws"\n')
    copy(desk.asked, ENVIRONMENT, lambda _: None, "uni", "long", {}, dry_run=False)
    assert load_settings(desk.asked, ENVIRONMENT).name == "uni"
    add(desk.asked, ENVIRONMENT, lambda _: None, "third", {"login": "x"}, dry_run=False)
    assert load_settings(desk.asked, ENVIRONMENT).name == "uni"
    desk.file.write_text("")
    add(desk.asked, ENVIRONMENT, lambda _: None, "alone", {"login": "x"}, dry_run=False)
    assert "default_profile" not in desk.file.read_text()


def test_where_nobody_has_chosen_among_several_nothing_is_chosen_for_them(desk: Desk) -> None:
    desk.file.write_text('[profiles.uni]\nlogin = "aws"\n\n[profiles.lab]\nlogin = "lab"\n')
    add(desk.asked, ENVIRONMENT, lambda _: None, "third", {"login": "x"}, dry_run=False)
    assert "default_profile" not in desk.file.read_text()


def test_a_name_that_is_taken_or_unknown_changes_nothing(desk: Desk) -> None:
    for name in ("uni", "local"):
        with pytest.raises(UsageInvalid, match="already"):
            add(desk.asked, ENVIRONMENT, lambda _: None, name, {"login": "x"}, dry_run=False)
    with pytest.raises(ConfigNoProfile):
        copy(desk.asked, ENVIRONMENT, lambda _: None, "none", "new", {}, dry_run=False)
    assert desk.file.read_text() == FILE


def test_dry_runs_show_the_change_and_do_not_make_it(desk: Desk) -> None:
    shown = [
        add(desk.asked, ENVIRONMENT, lambda _: None, "new", {"login": "x"}, dry_run=True).diff,
        use(desk.asked, ENVIRONMENT, "lab", dry_run=True).diff,
        desk.remove("uni", dry_run=True).diff,
    ]
    assert all(shown)
    assert desk.file.read_text() == FILE


def test_use_of_what_is_used_is_no_change(desk: Desk) -> None:
    assert not use(desk.asked, ENVIRONMENT, "uni", dry_run=False).changed
    assert use(desk.asked, ENVIRONMENT, "lab", dry_run=False).changed
    assert 'default_profile = "lab"' in desk.file.read_text()


def test_a_profile_goes_with_its_default_and_what_was_remembered_and_says_what_stays(
    desk: Desk,
) -> None:
    remember("uni", nodes=("node-1",))
    remember("lab", nodes=("node-2",))
    done = desk.remove("uni")
    text = desk.file.read_text()
    assert "uni" not in text
    assert "[profiles.lab]" in text
    assert done.default_profile == ""
    assert (recall("uni").nodes, recall("lab").nodes) == ((), ("node-2",))
    assert any("3 snapshots" in line and "`aws`" in line for line in done.stays)


def test_the_file_goes_with_the_last_profile_unless_it_was_asked_for(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[profiles.uni]\nlogin = "aws"\n'
    desk.file.write_text(text)
    assert not desk.remove("uni").file_removed
    assert desk.file.exists()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    desk.file, desk.asked = tmp_path / "config/scratchflow/config.toml", Asked()
    desk.file.parent.mkdir(parents=True)
    desk.file.write_text(text)
    assert not desk.remove("uni", dry_run=True).file_removed
    assert desk.remove("uni").file_removed
    assert not desk.file.parent.exists()


def test_the_host_keys_of_its_nodes_go_with_a_profile(desk: Desk) -> None:
    places = SshPaths.of(desk.profile("uni").ssh_config)
    places.host_keys.mkdir(parents=True)
    ours, theirs = (places.host_keys_file(f"{name}-node-1") for name in ("uni", "lab"))
    for file in (ours, theirs):
        file.touch()
    desk.remove("uni", dry_run=True)
    assert ours.exists()
    desk.remove("uni")
    assert (ours.exists(), theirs.exists()) == (False, True)


def test_a_profile_goes_from_the_sync_table_too(desk: Desk) -> None:
    sync = """
[sync]
folders = ["dotfiles"]
profiles = ["gone", "uni", "lab"]
programs = { uni = "/opt/unison", lab = "/usr/bin/unison" }
"""
    desk.file.write_text(FILE + sync)
    foretold = desk.remove("uni", dry_run=True).diff
    assert desk.remove("uni").diff == foretold
    options = sync_options(desk.asked, ENVIRONMENT)
    assert (options.profiles, options.programs) == (["lab"], {"lab": "/usr/bin/unison"})
    assert options.folders == ["dotfiles"]


def test_snapshots_that_were_never_taken_are_not_named(desk: Desk) -> None:
    desk.traces = Traces()
    assert desk.remove("uni").stays == []


def test_where_nobody_looked_there_may_be_snapshots(desk: Desk) -> None:
    (_, snapshots) = desk.remove("uni", dry_run=True).stays
    assert snapshots.startswith("its snapshots, if there are any, in ")


@pytest.mark.parametrize("held", [job(7), job(7, "pending")])
def test_one_that_holds_a_node_or_waits_for_one_stays(desk: Desk, held: Any) -> None:
    desk.jobs = [held]
    with pytest.raises(AllocationHeld, match="7") as caught:
        desk.remove("uni")
    assert "`scratchflow -p uni clear`" in caught.value.shown_hint
    assert desk.file.read_text() == FILE


def test_a_no_changes_nothing(desk: Desk) -> None:
    remember("uni", nodes=("node-1",))
    with pytest.raises(Declined):
        desk.remove("uni", answer=False)
    assert desk.file.read_text() == FILE
    assert recall("uni").nodes == ("node-1",)


def test_when_nobody_can_say_whether_it_is_in_use_that_is_told(desk: Desk) -> None:
    desk.jobs = SlurmUnreachable(host="aws", reason="down")
    desk.remove("lab")
    assert [event.code for event in desk.events if isinstance(event, Warned)] == [
        "profile.not_asked"
    ]
    assert "lab" not in desk.file.read_text()


def test_the_built_in_one_cannot_be_removed(desk: Desk) -> None:
    with pytest.raises(UsageInvalid, match="built in"):
        desk.remove("local")
