"""A verb alone, taken without a parser, means what the parser makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from scratchflow.cli.call import Call
from scratchflow.cli.plain import plain_call
from scratchflow.cli.verbs import parse
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows import status as flow


def called(call: Call[Any], monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the flow is given."""
    given: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        flow, "status", lambda who, _, fix=False: given.append((type(who), who, fix))
    )
    call.flow(lambda _: None)
    return given


def test_status_alone_is_the_status_that_the_parser_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, parsed = plain_call(["status"]), parse(["status"])
    assert plain is not None
    assert (plain.op, plain.show, plain.until_interrupted) == (
        parsed.op,
        parsed.show,
        parsed.until_interrupted,
    )
    ((kind, who, fix),) = called(plain, monkeypatch)
    assert [(kind, who, fix)] == called(parsed, monkeypatch)
    assert (kind, who.may_ask, fix) == (Caller, True, False)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["status", "--json"],
        ["--json", "status"],
        ["status", "x"],
        ["-p", "x", "status"],
        ["up"],
    ],
    ids=" ".join,
)
def test_anything_else_is_parsed(arguments: list[str]) -> None:
    assert plain_call(arguments) is None
