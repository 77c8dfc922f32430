"""A draft of a profile says what would be written; hints that say to run `setup` again have the flags that it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.flows.setup.draft import SetupOptions, draft_for, setup_again, with_flags
from scratchflow.flows.setup.profiles import known_profiles
from tests.unit.flows.setup.test_agreement import NO_SITE
from tests.unit.flows.setup.test_propose import cluster

OPTIONS = SetupOptions(
    login="me@aws",
    name="lab",
    values={"store": "/fsx/$USER/my store", "slurm.partition": "gpu", "backup.every": "1h"},
    site="generic",
    make_default=True,
    offer_key=True,
)
ALL = (
    "scratchflow setup me@aws --name lab --site generic --store '/fsx/$USER/my store' --partition gpu"
    " --set backup.every=1h --default --key"
)


def test_a_profile_that_is_there_is_written_only_where_it_changes(tmp_path: Path) -> None:
    place = tmp_path / "config.toml"
    place.write_text('[profiles.uni]\nlogin = "login"\n')
    known = known_profiles(place)
    same = draft_for(place, known, SetupOptions(login="login"), cluster(), NO_SITE)
    assert (same.name, same.edit().diff(place)) == ("uni", "")
    wanted = SetupOptions(login="login", values={"store": "/s"})
    other = draft_for(place, known, wanted, cluster(), NO_SITE)
    assert other.edit().after == '[profiles.uni]\nlogin = "login"\nstore = "/s"\n'


def test_the_command_has_all_that_was_given() -> None:
    assert setup_again(OPTIONS) == ALL
    assert setup_again(SetupOptions(login="aws")) == "scratchflow setup aws"


def test_a_hint_has_them_once_and_a_value_that_it_asks_for_replaces_the_one_that_was_given() -> (
    None
):
    said = with_flags("run it again: `scratchflow setup me@aws --store PATH --time TIME`", OPTIONS)
    assert said == (
        "run it again: `scratchflow setup me@aws --name lab --site generic --partition gpu"
        " --set backup.every=1h --default --key --store PATH --time TIME`"
    )
    assert with_flags(f"`{ALL}` asks again", OPTIONS) == f"`{ALL}` asks again"


@pytest.mark.parametrize(
    "text",
    [
        "`scratchflow setup me@aws --remove` removes it",
        "`scratchflow setup me@aws2` is another host",
        "`scratchflow setup` installs it",
        "setup me@aws",
    ],
)
def test_what_is_about_something_else_stays_as_it_is(text: str) -> None:
    assert with_flags(text, OPTIONS) == text


def test_a_value_with_a_backtick_is_left_out() -> None:
    options = SetupOptions(login="aws", values={"store": "/a`b", "scratch": "/s"})
    assert setup_again(options) == "scratchflow setup aws --scratch /s"
