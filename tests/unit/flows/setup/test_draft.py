"""A draft of a profile says what would be written."""

from __future__ import annotations

from pathlib import Path

from scratchflow.flows.setup.draft import SetupOptions, draft_for
from scratchflow.flows.setup.profiles import known_profiles
from tests.unit.flows.setup.test_agreement import NO_SITE
from tests.unit.flows.setup.test_propose import cluster


def test_a_profile_that_is_there_is_written_only_where_it_changes(tmp_path: Path) -> None:
    place = tmp_path / "config.toml"
    place.write_text('[profiles.uni]\nlogin = "login"\n')
    known = known_profiles(place)
    same = draft_for(place, known, SetupOptions(login="login"), cluster(), NO_SITE)
    assert (same.name, same.edit().diff(place)) == ("uni", "")
    wanted = SetupOptions(login="login", values={"store": "/s"})
    other = draft_for(place, known, wanted, cluster(), NO_SITE)
    assert other.edit().after == '[profiles.uni]\nlogin = "login"\nstore = "/s"\n'
