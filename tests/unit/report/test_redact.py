"""Secrets do not get into text that is logged or sent, however they are written."""

from __future__ import annotations

import pytest

from scratchflow.report.redact import MASK, redact, redact_arguments


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


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "canary"}',
        "{'api_token': 'canary', 'user': 'ada'}",
        'PASSWORD = "ca nary canary"',
        "AWS_SECRET_ACCESS_KEY=canary",
        "https://me:p@canary@host/path",
        "ssh://me:canary@host",
        "git clone https://me:canary@host/a.git https://you:canary@host/b.git",
    ],
)
def test_secrets_are_masked_as_programs_write_them(text: str) -> None:
    assert "canary" not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "cannot read /scratch/ada/work/data.bin: No such file",
        "ada@login.example: Permission denied (publickey)",
        "https://docs.example/monkeys",
        "at 12:30:00 on node-1:22",
        "",
    ],
)
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


def test_only_the_value_after_a_secret_option_is_masked() -> None:
    shown = redact_arguments(["run", "--token", "canary", "--token", "--verbose", "file"])
    assert shown == ["run", "--token", MASK, "--token", MASK, "file"]
    assert redact_arguments(["--token"]) == ["--token"]


def test_a_long_argument_is_cut_and_costs_no_time() -> None:
    (shown,) = redact_arguments(["y" * 1_000_000])
    assert shown.endswith("y… (1000000 characters)")
