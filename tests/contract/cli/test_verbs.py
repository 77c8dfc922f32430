"""The verbs of the real program: completed, guessed at, and listed with one line each."""

from __future__ import annotations

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


def test_a_mistyped_verb_is_guessed_and_a_missing_one_asked_for(
    environment: dict[str, str],
) -> None:
    mistyped = run(environment, "bakcup")
    assert mistyped.returncode == 2
    assert "did you mean `scratchflow backup`?" in mistyped.stderr
    missing = run(environment)
    assert missing.returncode == 2
    assert "a command is missing" in missing.stderr


def test_help_lists_each_verb_once_with_its_section(environment: dict[str, str]) -> None:
    lines = run(environment, "--help").stdout.splitlines()
    for name, verb in VERBS.items():
        found = [line for line in lines if line.split()[:1] == [name]]
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
