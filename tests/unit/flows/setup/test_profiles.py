"""Names, aliases and directories of profiles: sensible, and no two the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.own_names import own_names
from scratchflow.flows.setup.profiles import (
    Known,
    known_profiles,
    name_for,
    own_alias,
    own_workspace,
    shared_in_words,
)
from scratchflow.model.profile import Profile
from scratchflow.model.results.setup import SetupValue

FIRST = Known({"uni": Profile(login="login")}, default="uni")


@pytest.mark.parametrize(
    ("login", "name"),
    [
        ("login", "login"),
        ("uni", "uni"),
        ("me@login1.uni.example", "uni"),
        ("uni-login.example.org", "uni-login"),
        ("me@narval.alliancecan.ca", "narval"),
        ("alice@10.80.1.2", "mini"),
        ("local", "mini"),
    ],
)
def test_a_profile_is_named_after_its_cluster(login: str, name: str) -> None:
    assert name_for(login, "mini", []) == name


def test_an_address_without_a_word_from_slurm_still_gets_a_name() -> None:
    assert name_for("alice@10.80.1.2", "", []) == "cluster"
    assert name_for("alice@10.80.1.2", "--", ["cluster"]) == "cluster-2"


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    assert name_for("me@login.uni.example", "", ["uni", "uni-2"]) == "uni-3"


def test_the_first_profile_has_the_usual_alias_and_directory() -> None:
    assert (own_alias("uni", Known({})), own_workspace("uni", "uni", Known({}))) == (
        "compile_machine",
        SetupValue(key="workspace", value="work", reason="your files, beneath scratch"),
    )


def test_a_second_profile_has_its_own() -> None:
    assert own_alias("gpu", FIRST) == "compile_machine_gpu"
    workspace = own_workspace("gpu", "login", FIRST)
    assert (workspace.value, workspace.reason) == ("work_gpu", "your files, beneath scratch")
    profile = next(iter(FIRST.profiles.values()))
    copied = own_names("gpu", profile, [profile])
    assert copied == {"alias": "compile_machine_gpu", "workspace": "work_gpu"}, "as `profiles copy`"


MOVES = "`hop --to` and `snapshots copy` need the same name"


def test_a_profile_of_another_cluster_has_the_same_workspace_so_that_snapshots_can_move() -> None:
    known = Known({"uni": Profile(login="login1.uni.example", workspace="thesis")})
    other = own_workspace("aws", "aws", known)
    assert (other.value, other.reason.partition("; ")[2]) == (
        "thesis",
        f"as in profile `uni`: {MOVES}",
    )


def test_a_host_that_may_be_of_the_same_cluster_gets_its_own_and_the_name_to_type_if_it_is_not() -> (
    None
):
    known = Known({"uni": Profile(login="me@login1.uni.example")})
    other = own_workspace("two", "login2.uni.example", known)
    assert other.value == "work_two"
    assert other.reason.endswith(f"; if `uni` is another cluster, take `work` as there: {MOVES}")


def test_a_second_profile_of_the_second_cluster_has_its_own_workspace() -> None:
    known = Known({"a": Profile(login="la"), "b": Profile(login="lb")}, default="a")
    third = own_workspace("c", "lb", known)
    assert (third.value, third.reason) == ("work_c", "your files, beneath scratch")


def test_a_host_of_the_users_own_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host compile_machine\n    HostName mine.example\n")
    assert own_alias("uni", Known({})) == "compile_machine_uni"


def test_setting_up_the_same_profile_again_keeps_what_it_has() -> None:
    assert own_alias("uni", FIRST) == "compile_machine"


def test_a_profile_without_a_cluster_takes_no_alias_from_others() -> None:
    here = Known({"local": Profile(scheduler="none")})
    assert own_alias("uni", here) == "compile_machine"


def test_profiles_of_a_login_host_come_with_the_default_one_first() -> None:
    both = Known({"a": Profile(login="login"), "b": Profile(login="login")}, default="b")
    assert both.at("login") == ["b", "a"]
    assert both.at("elsewhere") == []


def test_what_two_profiles_share_is_told_with_what_it_means() -> None:
    same = shared_in_words("gpu", Profile(login="login"), FIRST)
    assert len(same) == 1
    for word in ("`uni`", "agent", "store", "compile_machine", "overwrites"):
        assert word in same[0]
    own = Profile(login="login", store="/a", alias="b", workspace="c")
    assert shared_in_words("gpu", own, FIRST) == ["shared with profile `uni`: the agent"]
    assert shared_in_words("gpu", Profile(login="elsewhere"), FIRST) == []


def test_no_file_is_no_profile(tmp_path: Path) -> None:
    assert known_profiles(tmp_path / "config.toml") == Known({})


@pytest.mark.parametrize(
    ("known", "name", "default"),
    [
        (Known({}), "uni", "uni"),
        (Known({}, default="local"), "uni", "local"),
        (FIRST, "gpu", "uni"),
        (Known({"mine": Profile()}), "uni", "mine"),
        (Known({"mine": Profile()}), "mine", ""),
        (Known({"a": Profile(), "b": Profile()}), "c", ""),
    ],
)
def test_what_was_the_default_stays_the_default(known: Known, name: str, default: str) -> None:
    assert known.default_with(name, make_default=False) == default
    assert known.default_with(name, make_default=True) == name
