"""The verbs of the real program: completed, guessed at, and listed with one line each."""

from __future__ import annotations

import re
import shlex

import pytest

from scratchflow.cli.verbs import VERBS
from tests.contract.test_json_protocol import checked, run


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_completion_is_set_up_in_json_too(environment: dict[str, str], option: str) -> None:
    environment["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    done = run(environment, "--json", option, "bash")
    assert checked(done.stdout, 0)[-1]["data"]["help"]
    unknown = run(environment, "--json", option, "nosuch")
    assert checked(unknown.stdout, 2)[-1]["code"] == "usage.invalid"


def test_completion_still_reaches_the_shell(environment: dict[str, str]) -> None:
    environment |= {
        "_SCRATCHFLOW_COMPLETE": "complete_bash",
        "COMP_WORDS": "scratchflow con",
        "COMP_CWORD": "1",
    }
    assert run(environment).stdout.strip() == "config"


def test_a_mistyped_verb_is_guessed_and_without_one_there_is_help_and_no_error(
    environment: dict[str, str],
) -> None:
    mistyped = run(environment, "bakcup")
    assert mistyped.returncode == 2
    assert "did you mean `scratchflow backup`?" in mistyped.stderr
    for group in ((), ("config",)):
        alone = run(environment, *group)
        assert (alone.returncode, alone.stderr) == (0, "")
        assert alone.stdout == run(environment, *group, "--help").stdout


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("help", "--help"),
        ("remove", "setup --remove"),
        ("push", "create --from laptop:DIR"),
        ("pull", "restore --to laptop:DIR"),
        ("fetch", "jobs outputs --to laptop:DIR JOB"),
        ("download", "restore --to laptop:DIR"),
        ("time", "status"),
        ("quit", "clear"),
        ("watch", "status --watch"),
        ("rerun", "jobs rerun"),
        ("queue", "jobs"),
        ("ps", "jobs"),
        ("cp", "restore --to laptop:DIR"),
        ("connect", "shell"),
    ],
)
def test_words_that_people_try_lead_to_a_command(
    environment: dict[str, str], line: str, meant: str
) -> None:
    assert f"did you mean `scratchflow {meant}`?" in run(environment, line).stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("submit x.sh --lr 1", "`scratchflow submit -- bash x.sh --lr 1` gives it to the command"),
        (
            "-p x submit --time 1h 'a b' -lr",
            "`scratchflow -p x submit --time 1h -- 'a b' -lr` gives",
        ),
        ("autobackup on --every 10m", "`scratchflow config set backup.every TIME`, then"),
    ],
)
def test_an_option_that_is_not_ours_is_told_where_it_belongs(
    environment: dict[str, str], line: str, words: str
) -> None:
    done = run(environment, *shlex.split(line))
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


@pytest.mark.parametrize("line", ["--nosuch pwd", "--nosuch -- pwd", "--cwd x --nosuch=3 pwd"])
def test_an_option_before_the_command_is_not_given_to_it(
    environment: dict[str, str], line: str
) -> None:
    said = run(environment, "run", *shlex.split(line)).stderr
    assert "no such option: --nosuch\n" in said


def test_help_lists_each_verb_once_with_its_section(environment: dict[str, str]) -> None:
    lines = run(environment, "--help").stdout.splitlines()
    for name, verb in VERBS.items():
        names = [re.match(r"  ([a-z]+(?:, [a-z]+)*)  ", line) for line in lines]
        found = [line for line in names if line and name in line[1].split(", ")]
        assert len(found) == 1, name
        assert f"{verb.section}:" in lines


@pytest.mark.parametrize("arguments", [["--bogus"], ["backup", "--bogus"], ["config", "show", "x"]])
def test_what_cannot_be_parsed_is_told_like_any_error(
    environment: dict[str, str], arguments: list[str]
) -> None:
    done = run(environment, *arguments, "--json")
    error = checked(done.stdout, 2)[-1]
    assert error["code"] == "usage.invalid"
    assert not error["message"].endswith(".")
    assert "--help" in error["hint"]
