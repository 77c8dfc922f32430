"""The conditions in a distribution's metadata, answered for another Python than this one.

pip answers them for the Python it runs in; the cluster's may be older and need more. Only what
such metadata really says is understood; what is not understood counts as true, because a
distribution too many does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from scratchflow.agent.delivery.target import Target

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*([^;]*)(?:;(.*))?")
_TOKEN = re.compile(
    r"\s*(?:(\(|\))|(and|or)\b|(not\s+in|in)\b|(===|[<>=!~]=|<|>)|([\"'])(.*?)\5|(\w+))"
)
_CLAUSE = re.compile(r"\s*(===|[<>=!~]=|<|>)\s*([^\s,]+)\s*")

_COMPARE: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    "==": lambda one, other: one == other,
    "===": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "~=": lambda one, other: one >= other and one[: len(other) - 1] == other[:-1],
}


class Requirement(msgspec.Struct, frozen=True):
    """`name` in its normal form, and the versions it may have, as written."""

    name: str
    versions: str


def parse_requirement(text: str, target: Target) -> Requirement | None:
    """The requirement, or None when it does not hold for the target."""
    match = _REQUIREMENT.fullmatch(text)
    if not match or (match[3] and not holds(match[3], target)):
        return None
    return Requirement(normal_name(match[1]), match[2].strip().strip("()").strip())


def normal_name(name: str) -> str:
    """`Typing_Extensions` and `typing-extensions` are one distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def holds(marker: str, target: Target) -> bool:
    """Whether `python_version < "3.11" and …` is true for the target; extras are not asked for."""
    try:
        return _Marker(marker, target).value()
    except ValueError:
        return True


def allows(specifier: str, version: tuple[int, ...]) -> bool:
    """Whether `>=3.10,<4` allows this version."""
    return all(
        not match or _version_holds(version, match[1], match[2])
        for match in map(_CLAUSE.fullmatch, specifier.split(","))
    )


def _version_holds(version: tuple[int, ...], operator: str, text: str) -> bool:
    wanted = tuple(int(number) for number in re.findall(r"\d+", text.removesuffix(".*")))
    if text.endswith(".*"):
        version = version[: len(wanted)]
    length = max(len(version), len(wanted))
    if operator == "~=":
        return _COMPARE["~="](version, wanted)
    padded = [(*one, *[0] * (length - len(one))) for one in (version, wanted)]
    return _COMPARE[operator](padded[0], padded[1])


class _Marker:
    """Reads a marker from left to right: `or` of `and` of comparisons and brackets."""

    def __init__(self, text: str, target: Target) -> None:
        self._tokens: list[tuple[str, str]] = _tokens(text)
        full = ".".join(map(str, target.python))
        self._values = {
            "python_version": target.short_python,
            "python_full_version": full,
            "sys_platform": "linux",
            "platform_system": "Linux",
            "os_name": "posix",
            "platform_machine": target.machine,
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "extra": "",
        }

    def value(self) -> bool:
        value = self._any()
        if self._tokens:
            raise ValueError("more than one condition")
        return value

    def _any(self) -> bool:
        value = self._all()
        while self._tokens and self._tokens[0] == ("word", "or"):
            self._take()
            value = self._all() or value
        return value

    def _all(self) -> bool:
        value = self._one()
        while self._tokens and self._tokens[0] == ("word", "and"):
            self._take()
            value = self._one() and value
        return value

    def _one(self) -> bool:
        kind, text = self._take()
        if kind == "bracket":
            value = self._any()
            self._take()
            return value
        left, (_, operator), right = (kind, text), self._take(), self._take()
        return self._compare(left, operator, right)

    def _compare(self, left: tuple[str, str], operator: str, right: tuple[str, str]) -> bool:
        one, other = (self._resolve(side) for side in (left, right))
        if any(kind == "name" and text.startswith("python_") for kind, text in (left, right)):
            numbers = tuple(int(number) for number in re.findall(r"\d+", one))
            return _version_holds(numbers, operator, other)
        if operator in {"in", "not in"}:
            return (one in other) is (operator == "in")
        return (one == other) is (operator in {"==", "==="})

    def _resolve(self, side: tuple[str, str]) -> str:
        kind, text = side
        if kind == "text":
            return text
        if text not in self._values:
            raise ValueError(f"unknown: {text}")
        return self._values[text]

    def _take(self) -> tuple[str, str]:
        if not self._tokens:
            raise ValueError("it ends too early")
        return self._tokens.pop(0)


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if not match:
            raise ValueError("not a marker")
        bracket, word, membership, operator, quote, quoted, name = match.groups()
        found.append(
            ("bracket", bracket)
            if bracket
            else ("word", word)
            if word
            else ("operator", " ".join((membership or operator).split()))
            if membership or operator
            else ("text", quoted)
            if quote
            else ("name", name)
        )
        position = match.end()
    return found
