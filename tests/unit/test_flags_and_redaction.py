"""What is read from the command line before parsing, and what never reaches a crash report."""

from __future__ import annotations

import pytest

from scratchflow.cli.flags import Flags, peek
from scratchflow.report.crash import crash_text
from scratchflow.report.redact import redact, redact_arguments


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
    ],
)
def test_flags_are_found_anywhere_before_the_users_own_command(line: str, expected: Flags) -> None:
    assert peek(line.split()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "--token canary",
        "--token=canary",
        "api_key: canary",
        "PASSWORD='canary'",
        "https://me:canary@host/",
    ],
)
def test_secrets_are_masked(text: str) -> None:
    assert "canary" not in redact(" ".join(redact_arguments(text.split(" "))))


def test_a_crash_report_has_the_stack_but_no_values() -> None:
    def fails(password: str) -> None:
        raise KeyError(f"password={password}")

    with pytest.raises(KeyError) as caught:
        fails("canary-" + "1")
    text = crash_text(caught.value, ["run", "--token", "canary-2"])
    assert "canary-1" not in text
    assert "canary-2" not in text
    assert "in fails" in text
