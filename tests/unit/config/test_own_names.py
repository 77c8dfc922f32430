"""A new profile shares neither alias nor directory with another one."""

from __future__ import annotations

import pytest

from scratchflow.config.own_names import own_names
from scratchflow.model.profile import Profile

UNI = Profile(login="uni", store="/s")


@pytest.mark.parametrize(
    ("profile", "others", "changed"),
    [
        (UNI, [], {}),
        (UNI, [UNI], {"alias": "compile_machine_new", "workspace": "work_new"}),
        (Profile(login="other", store="/s"), [UNI], {"alias": "compile_machine_new"}),
        (Profile(login="uni", alias="mine", workspace="mine"), [UNI], {}),
        (
            Profile(login="uni", alias="mine", scratch="/other", store="/s"),
            [UNI],
            {"workspace": "work_new"},
        ),
        (Profile(login="uni", alias="mine", scratch="/other", store="/other"), [UNI], {}),
        (Profile(scheduler="none", store="/s"), [Profile(store="/t", scratch="/t")], {}),
    ],
)
def test_what_would_be_shared_gets_a_name_of_its_own(
    profile: Profile, others: list[Profile], changed: dict[str, str]
) -> None:
    assert own_names("new", profile, others) == changed


def test_a_name_that_is_taken_too_gets_a_number() -> None:
    others = [UNI, Profile(login="uni", alias="compile_machine_new", workspace="work_new")]
    expected = {"alias": "compile_machine_new_2", "workspace": "work_new_2"}
    assert own_names("new", UNI, others) == expected


def test_a_long_name_stays_a_name() -> None:
    (alias, workspace) = own_names("n" * 63, UNI, [UNI]).values()
    Profile(login="uni", alias=alias, workspace=workspace)
    assert len(alias) == 63
