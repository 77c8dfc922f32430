"""The alias leads to the node that is held, is parked without one, and what does not fit is named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows import alias as module
from scratchflow.flows.alias import (
    alias_problem,
    has_alias,
    park,
    places_of,
    point_at,
    put_lines_back,
    require_alias,
    require_alias_beside_login,
    show_alias,
    verify,
)
from scratchflow.model.errors.ssh import AliasIsLoginHost, AliasUnused, AliasUnverified
from scratchflow.model.events import Event, Warned
from scratchflow.model.results.allocation import NodeHeld, OtherNode
from scratchflow.model.results.status import AliasShown
from scratchflow.ssh.config.alias import park_alias, read_alias, remove_alias
from scratchflow.ssh.config.include import apply, plan_install
from scratchflow.ssh.config.resolve import resolve
from tests.unit.flows.told import ToldCluster
from tests.unit.ssh.keys.test_known_hosts import KEY_A, KEY_B

HELD = NodeHeld(
    job_id=7,
    node="node-1",
    partition="dev",
    end_time=None,
    reused=False,
    warm=None,
    user="ada",
    host_keys=[f"node-1 {KEY_A}"],
    session=None,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return ToldCluster(tmp_path, {}).settings


@pytest.fixture
def set_up(settings: Settings) -> Settings:
    """As `setup` leaves it: our line in the user's config, and a parked alias."""
    places = module.places_of(settings)
    apply(plan_install(places))
    park_alias(places, settings.profile.alias)
    return settings


def test_a_machine_without_the_alias_is_told_before_a_node_is_taken(settings: Settings) -> None:
    assert not has_alias(settings)
    assert show_alias(settings) is None
    assert not park(settings)
    with pytest.raises(AliasUnused):
        require_alias(settings)


def test_an_alias_that_is_the_login_host_is_refused_and_its_file_goes(tmp_path: Path) -> None:
    profile = 'login = "ada@Login"\nalias = "login"'
    settings = ToldCluster(tmp_path, {}, profile=profile).settings
    places = places_of(settings)
    park_alias(places, "login", settings.name)
    with pytest.raises(AliasIsLoginHost):
        require_alias_beside_login(settings, dry_run=True)
    assert read_alias(places, "login") is not None
    with pytest.raises(AliasIsLoginHost) as caught:
        require_alias_beside_login(settings)
    assert read_alias(places, "login") is None
    assert f"`scratchflow -p {settings.name} config set alias NAME`" in caught.value.shown_hint
    given = msgspec.structs.replace(settings, origins={"alias": "--set"})
    with pytest.raises(AliasIsLoginHost) as caught:
        require_alias_beside_login(given)
    assert "`--set alias=NAME`" in caught.value.shown_hint


def test_it_leads_to_the_node_and_back_to_nowhere(set_up: Settings) -> None:
    require_alias(set_up)
    said: list[Event] = []
    point_at(set_up, HELD, said.append, {})
    alias = set_up.profile.alias
    assert show_alias(set_up) == AliasShown(name=alias, target="node-1", parked=False)
    assert said == []
    assert park(set_up)
    assert show_alias(set_up) == AliasShown(name=alias, target=None, parked=True)
    text = module.places_of(set_up).alias_file(alias).read_text()
    assert f"Run: scratchflow -p {set_up.name} up" in text


def test_one_that_leads_to_the_node_of_another_profile_is_not_parked(set_up: Settings) -> None:
    point_at(set_up, HELD, lambda _: None, {})
    assert not park(msgspec.structs.replace(set_up, name="other"))
    shown = show_alias(set_up)
    assert shown
    assert shown.target == "node-1"


def test_one_that_leads_to_the_node_of_another_profile_with_the_same_alias_is_in_order(
    set_up: Settings,
) -> None:
    point_at(set_up, HELD, lambda _: None, {})
    other = msgspec.structs.replace(set_up, name="other", profiles=["other", set_up.name])
    shown = show_alias(other)
    assert shown
    assert (shown.target, shown.of_profile) == ("node-1", set_up.name)
    assert alias_problem(other, shown, None) is None
    problem = alias_problem(other, shown, "node-2")
    assert problem
    assert f"leads to `node-1` of profile `{set_up.name}`" in problem.detail
    # Of a profile that is gone nobody else says that its node is.
    removed = msgspec.structs.replace(other, profiles=["other"])
    stale = alias_problem(removed, show_alias(removed), None)
    assert stale
    assert stale.name == "alias.stale"


def test_numbered_aliases_lead_to_the_other_nodes_of_the_job(set_up: Settings) -> None:
    other = OtherNode(node="node-2", host_keys=[f"node-2 {KEY_B}"])
    point_at(set_up, msgspec.structs.replace(HELD, others=[other]), lambda _: None, {})
    places, alias = module.places_of(set_up), set_up.profile.alias
    found = resolve(f"{alias}-2", config=places.config)
    assert found.hostname == "node-2"
    assert KEY_B in places.host_keys_file(f"{set_up.name}-node-2").read_text()
    shown = show_alias(set_up)
    assert shown
    assert shown.others == ["node-2"]
    assert alias_problem(set_up, shown, "node-1", ["node-2"]) is None
    for others in (["node-3"], []):
        problem = alias_problem(set_up, shown, "node-1", others)
        assert problem
        assert problem.name == "alias.behind"


def test_one_whose_file_was_never_made_or_was_removed_is_told_apart_from_a_parked_one(
    set_up: Settings,
) -> None:
    assert park(set_up)
    remove_alias(module.places_of(set_up), set_up.profile.alias)
    shown = show_alias(set_up)
    assert shown == AliasShown(name=set_up.profile.alias, target=None, parked=True, exists=False)


def test_new_host_keys_of_a_known_node_are_told(set_up: Settings) -> None:
    said: list[Event] = []
    point_at(set_up, HELD, said.append, {})
    renewed = msgspec.structs.replace(HELD, host_keys=[f"node-1 {KEY_B}"])
    point_at(set_up, renewed, said.append, {})
    (warning,) = said
    assert isinstance(warning, Warned)
    assert warning.code == "host_key.renewed"


def test_an_alias_that_the_users_own_config_leads_elsewhere_is_not_trusted(
    set_up: Settings,
) -> None:
    config = module.places_of(set_up).config
    config.write_text(f"Host *\n  HostName elsewhere\n{config.read_text()}")
    with pytest.raises(AliasUnused):
        point_at(set_up, HELD, lambda _: None, {})


@pytest.mark.parametrize(
    ("script", "error", "warns"),
    [
        ("echo node-1", "", False),
        ("echo NODE-1.cluster.example", "", False),
        ("echo node-2", "", True),
        ("echo no route >&2; exit 255", "no route", False),
        ("exit 3", "exited with 3", False),
    ],
)
def test_a_real_ssh_decides_whether_it_works(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    error: str,
    warns: bool,
) -> None:
    (tmp_path / "ssh.bin").mkdir()
    program = tmp_path / "ssh.bin/ssh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    said: list[Event] = []
    if error:
        with pytest.raises(AliasUnverified, match=error):
            verify(settings, "node-1", said.append, may_ask=False)
    else:
        verify(settings, "node-1", said.append, may_ask=False)
    assert [type(event) for event in said] == ([Warned] if warns else [])


@pytest.mark.parametrize(
    ("target", "node", "problem"),
    [
        ("node-1", "node-1", None),
        (None, None, None),
        ("node-1", "node-2", "alias.behind"),
        (None, "node-2", "alias.behind"),
        ("node-1", None, "alias.stale"),
    ],
)
def test_what_does_not_fit_is_named(
    settings: Settings, target: str | None, node: str | None, problem: str | None
) -> None:
    apply(plan_install(places_of(settings)))
    shown = AliasShown(name="a", target=target, parked=target is None)
    found = alias_problem(settings, shown, node)
    assert (found.name if found else None) == problem
    assert found is None or "`scratchflow " in found.fix


def test_an_alias_that_ssh_does_not_read_is_named_and_its_lines_are_put_back(
    settings: Settings,
) -> None:
    places, alias = places_of(settings), settings.profile.alias
    park_alias(places, alias)
    own = b"Host a\n  User b\n"
    places.config.write_bytes(own)
    shown = show_alias(settings)
    found = alias_problem(settings, shown, None)
    assert found is not None
    assert (found.name, "lacks scratchflow's lines" in found.detail) == ("alias.unread", True)
    assert put_lines_back(settings)
    assert alias_problem(settings, shown, None) is None
    assert places.config.read_bytes().endswith(own)
    assert not put_lines_back(settings)


@pytest.mark.parametrize(
    ("above", "is_seen"),
    [("Include OTHER\n", True), ("Match exec true\n  HostName 10.9.9.9\nMatch all\n", False)],
)
def test_an_alias_that_ssh_takes_elsewhere_is_mended_also_where_the_files_do_not_tell(
    set_up: Settings, tmp_path: Path, above: str, is_seen: bool
) -> None:
    point_at(set_up, HELD, lambda _: None, {})
    (tmp_path / "other").write_text("Host compile_machine\n  HostName 10.9.9.9\n")
    places, alias = places_of(set_up), set_up.profile.alias
    ours = places.config.read_text()
    own = above.replace("OTHER", str(tmp_path / "other"))
    places.config.write_text(own + ours)
    assert (alias_problem(set_up, show_alias(set_up), "node-1") is not None) is is_seen
    assert put_lines_back(set_up)
    assert places.config.read_text() == ours + own
    assert resolve(alias, config=places.config).hostname == "node-1"
    assert not put_lines_back(set_up)


def test_own_settings_above_the_lines_stay_there_where_ssh_goes_by_the_alias(
    set_up: Settings,
) -> None:
    point_at(set_up, HELD, lambda _: None, {})
    config = places_of(set_up).config
    for above in ("Include /no/such/place/*\n", "Host *\n  Compression yes\n"):
        own = above + config.read_text()
        config.write_text(own)
        assert not put_lines_back(set_up)
        assert config.read_text() == own


def test_one_in_a_file_that_may_not_be_changed_is_told_with_what_to_do_by_hand(
    set_up: Settings,
) -> None:
    config = places_of(set_up).config
    config.write_text("Host a\n")
    config.chmod(0o400)
    found = alias_problem(set_up, show_alias(set_up), None)
    assert found is not None
    assert found.name == "alias.unread"
    assert f"does not change `{config}`: it is read-only; run `chmod u+w {config}`" in found.fix
    assert "put this line at its very top by hand: Include" in found.fix


def test_a_laptop_needs_the_alias_and_a_login_host_does_not(
    settings: Settings, tmp_path: Path
) -> None:
    missing = alias_problem(settings, None, None)
    assert missing
    assert missing.name == "alias.missing"
    local = ToldCluster(tmp_path, {}, profile='login = "local"').settings
    assert alias_problem(local, None, "node-1") is None
