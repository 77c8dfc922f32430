"""The value of a parameter: how people type it, and how a command gets to see it.

What JSON calls a number, `true`, `false` or `null` is that; everything else is text, and so is whatever stands in
double quotes. A value is written the same way again: text as it is, all else as JSON.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

Value = Any
"""A bool, a number, text, None, or lists and tables of these: what JSON can hold."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
# Written as a number, this would come out shorter: `1.10` is more often a version than a number.
_NEEDLESS_ZERO = re.compile(r"\.[0-9]+0(?![0-9])", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}
# Beyond this, int() itself refuses.
_MOST_DIGITS = 4000


def read_value(text: str) -> Value:
    """One value, as it is typed. A ValueError says what is wrong with its quotes."""
    if text.startswith('"'):
        return _unquoted(text)
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if _NUMBER.fullmatch(text) else text


def write_value(value: Value) -> str:
    """The value as a word of a command line."""
    return value if isinstance(value, str) else as_json(value)


def typed(value: Value) -> str:
    """How to type a value, so that `read_value` gives just that one: in quotes where it needs them."""
    if not isinstance(value, str):
        return as_json(value)
    has_marks = not value or "," in value or '"' in value
    return as_json(value) if has_marks or read_value(value) != value else value


def as_json(value: Value) -> str:
    """Compact, in ASCII, keys in their order: two values are the same exactly if these texts are."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def split_values(text: str) -> list[str]:
    """The values between the commas; a comma in double quotes does not separate."""
    parts, start, is_quoted, is_escaped = [], 0, False, False
    for place, character in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif is_quoted and character == "\\":
            is_escaped = True
        elif character == '"' and (is_quoted or place == start):
            is_quoted = not is_quoted
        elif character == "," and not is_quoted:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _unquoted(text: str) -> str:
    try:
        inner = json.loads(text)
    except ValueError:
        raise ValueError(f"the quotes of `{text}` do not end where the value does") from None
    if not isinstance(inner, str):
        raise TypeError(text)  # what starts with a quote is text, or not JSON
    return inner


def _number(text: str) -> Value:
    """The number, if it can be written again without losing a digit; else the text."""
    if not {".", "e", "E"} & set(text):
        return int(text) if text != "-0" and len(text) < _MOST_DIGITS else text
    number = float(text)
    is_exact = math.isfinite(number) and Decimal(repr(number)) == Decimal(text)
    return number if is_exact and not _NEEDLESS_ZERO.search(text) else text
