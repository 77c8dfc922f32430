"""What profiles share goes with the last of them, and the commands that are named get there."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.flows.setup.removal.shared import (
    Shared,
    commands_to_end,
    kept_for_others,
    shared_with,
)
from scratchflow.model.profile import Profile
from scratchflow.ssh.config.alias import park_alias
from scratchflow.ssh.config.paths import SshPaths


def cluster(alias: str = "x", login: str = "aws", config: str = "~/.ssh/config") -> Profile:
    return Profile(login=login, alias=alias, ssh_config=config)


def test_only_profiles_that_are_set_up_here_count(tmp_path: Path) -> None:
    config = str(tmp_path / "config")
    others = {"b": cluster("b", config=config), "c": cluster("c", "lab", config)}
    assert shared_with(cluster("a", config=config), others) == Shared([], [], [])
    park_alias(SshPaths.of(config), "b")
    assert shared_with(cluster("a", config=config), others) == Shared(["b"], [], ["b"])
    park_alias(SshPaths.of(config), "c")
    assert shared_with(cluster("c", config=config), others) == Shared(["b", "c"], ["c"], ["b"])


@pytest.mark.parametrize(
    ("aliases", "commands"),
    [
        ("abc", ["-p b setup --remove", "-p c setup --remove"]),
        ("aac", ["profiles remove a", "-p b setup --remove", "-p c setup --remove"]),
        ("abb", ["-p b setup --remove", "profiles remove b", "-p c setup --remove"]),
        (
            "aaa",
            [
                "profiles remove a",
                "-p b setup --remove",
                "profiles remove b",
                "-p c setup --remove",
            ],
        ),
    ],
)
def test_profiles_of_one_alias_do_not_name_each_other_for_ever(
    aliases: str, commands: list[str]
) -> None:
    profiles = {name: cluster(alias) for name, alias in zip("abc", aliases, strict=True)}
    found = list(commands_to_end("a", ["b", "c"], profiles))
    assert found == [f"scratchflow {command}" for command in commands]


def test_a_profile_that_the_file_does_not_have_need_not_leave_it() -> None:
    assert list(commands_to_end("a", ["b"], {"b": cluster()})) == [
        "scratchflow -p b setup --remove"
    ]


def test_a_profile_without_a_cluster_has_no_alias_and_no_agent_to_give_back() -> None:
    local = Profile(scheduler="none", alias="x")
    (kept,) = kept_for_others("local", local, Shared(["b"], ["b"], ["b"]), {"b": cluster()})
    assert kept == (
        "our lines in ~/.ssh/config: profile `b` uses them;"
        " `scratchflow -p b setup --remove` removes them"
    )


def test_what_the_same_profiles_use_is_one_line() -> None:
    profiles = {"a": cluster("a"), "b": cluster("b"), "c": cluster("c", "lab")}
    lines, agent = kept_for_others("a", profiles["a"], Shared(["b", "c"], [], ["b"]), profiles)
    assert "profiles `b`, `c` use them" in lines
    assert agent.endswith("profile `b` uses it; `scratchflow -p b setup --remove` removes it")
