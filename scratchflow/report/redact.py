"""Secrets taken out of text that may be logged or sent to somebody."""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"
# Of each argument: names and values of options are short, and the rest is the user's.
_SHOWN_CHARACTERS = 1000

_SECRET_OPTION = re.compile(r"(?i)^-{0,2}[\w.-]*(pass|token|secret|key|credential)[\w.-]*$")
_SECRET_PAIR = re.compile(
    r"(?i)([\w.-]*(?:pass|token|secret|key|credential)[\w.-]*[\"']?\s*[=:]\s*)"
    r"(\"[^\"]*\"|'[^']*'|[^\s,;]+)"
)
_USER_AND_PASSWORD = re.compile(r"(?<=://)[^/\s:@]+:[^/\s]+(?=@)")


def redact(text: str) -> str:
    """The text with values of secret-looking names and passwords in addresses masked."""
    return _USER_AND_PASSWORD.sub(MASK, _SECRET_PAIR.sub(rf"\1{MASK}", text))


def redact_arguments(arguments: Iterable[str]) -> list[str]:
    """An argument array with the values of secret-looking options masked."""
    shown: list[str] = []
    mask_next = False
    for argument in arguments:
        shown.append(MASK if mask_next else redact(_start_of(argument)))
        mask_next = not mask_next and bool(_SECRET_OPTION.fullmatch(argument))
    return shown


def _start_of(argument: str) -> str:
    cut = argument[:_SHOWN_CHARACTERS]
    return argument if cut == argument else f"{cut}… ({len(argument)} characters)"
