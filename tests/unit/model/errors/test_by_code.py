"""Each error is one class with a stable code, the contract's exit code and a next step, and its code leads to it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from scratchflow.model import errors
from scratchflow.model.errors.agent import FarError
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.by_code import FAMILIES, all_errors, error_from_agent

ROOT = Path(__file__).resolve().parents[4]

# Contract §4: everything but success, warnings and signals.
CONTRACT_EXIT_CODES = {1, 2, *range(10, 15), *range(20, 27), *range(30, 38), 40, 41}

ERRORS = pytest.mark.parametrize("error", all_errors(), ids=lambda error: error.code)


def test_no_two_errors_share_a_code() -> None:
    counts = Counter(error.code for error in all_errors())
    assert [code for code, count in counts.items() if count > 1] == []


def test_every_exit_code_of_the_contract_has_an_error_and_no_other_does() -> None:
    used = {error.exit_code for error in all_errors() if not issubclass(error, EndedBySignal)}
    assert used == CONTRACT_EXIT_CODES


@ERRORS
def test_every_code_is_documented(error: type[ScratchflowError]) -> None:
    assert f"`{error.code}`" in (ROOT / "docs/reference/errors.md").read_text()
    assert f'"{error.code}"' in (ROOT / "schema/errors.json").read_text()


@pytest.mark.slow
@ERRORS
def test_every_error_says_what_happened_and_what_to_do(error: type[ScratchflowError]) -> None:
    assert error.message
    assert error.hint
    assert error.__doc__
    assert "\n" not in error.__doc__


@ERRORS
def test_a_field_in_a_command_of_the_shell_is_quoted(error: type[ScratchflowError]) -> None:
    programs = r"findmnt|ls|rm|mv|chmod|cat|df|scratchflow run -- cat"
    assert not re.search(rf"`(?:{programs}) [^`]*{{\w+}}", error.hint)


@ERRORS
def test_filling_in_all_fields_leaves_no_braces(error: type[ScratchflowError]) -> None:
    if issubclass(error, EndedBySignal):
        shown: ScratchflowError = error(15)
    else:
        shown = error(**dict.fromkeys(error.field_names(), "x"))
    assert "{" not in f"{shown}{shown.shown_hint}"


def test_the_first_word_of_a_code_says_in_which_module_it_is() -> None:
    for module in iter_modules(errors.__path__):
        import_module(f"{errors.__name__}.{module.name}")
    places = {error.code: error.__module__.rpartition(".")[2] for error in all_errors()}
    assert places == {code: FAMILIES.get(code.partition(".")[0]) for code in places}


def test_an_error_of_an_agent_becomes_its_class_and_loads_no_other_family() -> None:
    program = (
        "import sys\n"
        "from scratchflow.model.errors.by_code import error_from_agent\n"
        "error = error_from_agent('sync.busy', 'busy', 'wait', retryable=True, exit_code=34)\n"
        "print(type(error).__name__, *(name for name in sys.modules if '.model.errors.' in name))"
    )
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    kind, *loaded = done.stdout.split()
    assert kind == "SyncBusy"
    assert {name.rpartition(".")[2] for name in loaded} == {"by_code", "base", "agent", "sync"}


def test_every_error_of_an_agent_becomes_its_class() -> None:
    for known in all_errors():
        error = error_from_agent(known.code, "it failed", "wait", retryable=False, exit_code=40)
        assert type(error) is known


@pytest.mark.parametrize("code", ["later.thing", "sync.later", "os.path", "..sync", ""])
def test_a_code_that_is_not_known_here_keeps_everything_as_it_was_said(code: str) -> None:
    error = error_from_agent(code, "it failed", "wait", retryable=True, exit_code=77)
    assert isinstance(error, FarError)
    said = (error.code, str(error), error.shown_hint, error.retryable, error.exit_code)
    assert said == (code, "it failed", "wait", True, 77)


def test_an_error_is_not_lost_when_our_files_were_removed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "scratchflow.model.errors.sync", None)
    error = error_from_agent("sync.busy", "busy", "wait", retryable=True, exit_code=34)
    assert (error.code, str(error), error.exit_code) == ("sync.busy", "busy", 34)
