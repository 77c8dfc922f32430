"""A user's own ssh entry of the alias's name is named before scratchflow's lines win over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.settings import Asked
from scratchflow.config.sites import GENERIC, site_named
from scratchflow.flows import config, profiles
from scratchflow.flows.setup.draft import Draft, SetupOptions, draft_for
from scratchflow.flows.setup.own_entry import warn_of_own_entry
from scratchflow.flows.setup.profiles import Known
from scratchflow.model.events import Event, Warned
from tests.unit.flows.setup.test_propose import cluster


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Draft:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("# mine\nHost uni gpu_box\n  User ada\n")
    options = SetupOptions(login="login", values={"alias": "gpu_box"})
    return draft_for(tmp_path / "config.toml", Known({}), options, cluster(), site_named(GENERIC))


def test_it_is_said_where_it_is_and_how_to_choose_another_name(draft: Draft) -> None:
    said: list[Event] = []
    warn_of_own_entry(draft, said.append, set())
    (warning,) = said
    assert isinstance(warning, Warned)
    assert warning.message.startswith("your own `Host gpu_box` at ~/.ssh/config:2 does not decide")
    assert "`--set alias=NAME` chooses another name" in warning.message


def test_it_is_said_once_for_each_alias_and_not_of_one_that_no_entry_has(draft: Draft) -> None:
    said: list[Event] = []
    warned: set[str] = set()
    for alias in ("gpu_box", "other", "uni", "gpu_box"):
        warn_of_own_entry(draft.with_value("alias", alias), said.append, warned)
    assert [one.message.split("`")[1] for one in said if isinstance(one, Warned)] == [
        "Host gpu_box",
        "Host uni",
    ]


def test_a_change_of_the_configuration_says_it_of_an_alias_that_is_new(draft: Draft) -> None:
    said: list[Event] = []
    asked = Asked(config=str(draft.place), profile="uni")
    draft.place.write_text('[profiles.uni]\nlogin = "login"\n')
    config.change(asked, {}, said.append, "alias", "gpu_box", dry_run=True)
    config.change(asked, {}, said.append, "alias", "gpu_box", dry_run=False)
    assert len(said) == 2
    assert "`scratchflow -p uni config set alias NAME` chooses another" in str(said[0])
    config.change(asked, {}, said.append, "alias", "gpu_box", dry_run=False)
    config.change(asked, {}, said.append, "alias", "free", dry_run=False)
    assert len(said) == 2
    profiles.copy(asked, {}, said.append, "uni", "two", {"alias": "gpu_box"}, dry_run=False)
    assert "`scratchflow -p two config set alias NAME`" in str(said[2])


def test_the_proposed_alias_is_one_that_no_entry_has(draft: Draft) -> None:
    ssh_config = Path("~/.ssh/config").expanduser()
    ssh_config.write_text("Host compile_machine\n  HostName mine\n")
    options = SetupOptions(login="login")
    site = site_named(GENERIC)
    fresh = draft_for(draft.place, Known({}), options, cluster(), site)
    said: list[Event] = []
    warn_of_own_entry(fresh, said.append, set())
    assert said == []
