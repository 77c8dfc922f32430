"""What is read from the command line before parsing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import typer

from scratchflow.cli.flags import WITH_VALUE, Flags, peek, with_separator
from scratchflow.cli.verbs import VERBS, app


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("backup --json", Flags(True, False, False, False)),
        ("--json backup", Flags(True, False, False, False)),
        ("run -- tool --json -v", Flags(False, False, False, False)),
        ("-qv backup", Flags(False, True, True, False)),
        ("-p --json status", Flags(False, False, False, False)),
        ("--set --json status", Flags(False, False, False, False)),
        ("status --version", Flags(False, False, False, True)),
        ("backup -m --version", Flags(False, False, False, False)),
        ("backup -m --json", Flags(False, False, False, False)),
        ("backup -m -- --json", Flags(True, False, False, False)),
        ("backup --message=x --json", Flags(True, False, False, False)),
        ("restore --to --json --quiet", Flags(False, True, False, False)),
        ("-vp NAME backup", Flags(False, False, True, False)),
        ("-vp --json backup", Flags(False, False, True, False)),
        ("-pv backup --json", Flags(True, False, False, False)),
        ("backup -qmv", Flags(False, True, False, False)),
        ("config set slurm.mem - --json", Flags(True, False, False, False)),
    ],
)
def test_flags_are_found_anywhere_before_the_users_own_command(line: str, expected: Flags) -> None:
    found = msgspec.structs.replace(peek(line.split()), profile="", config="", overrides=())
    assert found == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("run ls -l", "run -- ls -l"),
        ("run python --version", "run -- python --version"),
        ("run grep -v x --json", "run -- grep -v x --json"),
        ("-p x run --cwd src --pty ls -q", "-p x run --cwd src --pty -- ls -q"),
        ("run ls -l -- x", "run -- ls -l -- x"),
        ("run -vp x make", "run -vp x -- make"),
        ("run --set a=b make -j2", "run --set a=b -- make -j2"),
        ("run -- ls -l", "run -- ls -l"),
        ("run --pty", "run --pty"),
        ("run", "run"),
        ("submit run ls", "submit run ls"),
        ("-p run status x", "-p run status x"),
        ("status", "status"),
    ],
)
def test_from_its_first_word_on_the_line_of_run_is_the_commands(line: str, expected: str) -> None:
    assert with_separator(line.split()) == expected.split()


def options_of(command: Any) -> Iterator[Any]:
    yield from (each for each in command.params if each.param_type_name == "option")
    for verb in getattr(command, "commands", {}).values():
        yield from options_of(verb)


def test_every_option_that_takes_a_value_is_known_before_parsing() -> None:
    apps = [app, *(importlib.import_module(verb.module).app for verb in VERBS.values())]
    options = [option for each in apps for option in options_of(typer.main.get_command(each))]
    flags = {name for option in options if option.is_flag for name in option.opts}
    names = {name for option in options for name in option.opts}
    assert names - flags == WITH_VALUE
    assert flags & WITH_VALUE == set()


@pytest.mark.parametrize(
    ("arguments", "profile"),
    [
        (["up"], ""),
        (["up", "-p", "gpu"], "gpu"),
        (["--profile", "gpu", "up"], "gpu"),
        (["-p", "login.uni.edu", "up"], "login.uni.edu"),
        (["--profile=gpu", "up", "-puni"], "uni"),
        (["run", "--", "-p", "theirs"], ""),
        (["up", "-p", "two words; rm"], ""),
    ],
)
def test_the_profile_is_known_before_anything_is_parsed(arguments: list[str], profile: str) -> None:
    assert peek(arguments).profile == profile


@pytest.mark.parametrize(
    ("line", "config", "overrides"),
    [
        ("up", "", ()),
        ("--set workspace=other run ls", "", ("workspace=other",)),
        ("--config a --set=a=1 up --config=b -v --set b=2", "b", ("a=1", "b=2")),
        ("backup -m --config status", "", ()),
        ("run -- --set workspace=theirs", "", ()),
        ("-vp NAME --config a up", "a", ()),
    ],
)
def test_the_file_and_the_settings_of_this_command_are_known_before_parsing(
    line: str, config: str, overrides: tuple[str, ...]
) -> None:
    found = peek(line.split())
    assert (found.config, found.overrides) == (config, overrides)
