"""A line that is understood without the parser means what the parser makes of it; what is odd is left to that."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scratchflow.cli import naming
from scratchflow.cli.call import Call
from scratchflow.cli.plain import FORMS, plain_call
from scratchflow.cli.verbs import parse
from scratchflow.dispatch import cluster
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows import status as status_flow
from scratchflow.flows.setup import which
from scratchflow.flows.transfer import take_home
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.zone import local_zone


class Done(Exception):
    """The flow was reached; what it got is kept."""


@contextmanager
def nothing_runs(reached: list[Any]) -> Iterator[None]:
    """Every flow that a line can lead to only keeps what it is given."""

    def keep(*arguments: Any, **more: Any) -> None:
        reached.append(([one for one in arguments if not callable(one)], _seen(more)))
        raise Done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "at_workspace", keep)
        patch.setattr(cluster, "on_login", keep)
        patch.setattr(
            status_flow,
            "status",
            lambda who, emit, **more: keep(who, emit, fix=more.get("fix", False)),
        )
        patch.setattr(take_home, "restore_here", keep)
        patch.setattr(which, "ready_to_work", keep)
        yield


def _seen(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name != "emit"}


def meaning(call: Call[Any]) -> Any:
    """The flow, all that it is given, and how its result is shown."""
    reached: list[Any] = []
    with nothing_runs(reached), suppress(Done):
        call.flow(lambda _: None)
    ((arguments, more),) = reached
    kinds = [type(one).__name__ for one in arguments]
    plain = [one for one, kind in zip(arguments, kinds, strict=True) if kind != "TerminalAsker"]
    return call.op, call.show.__qualname__, call.until_interrupted, kinds, plain, more


TAKEN = [
    "status",
    "status --json",
    "-p mine status -v",
    "up",
    "up login",
    "up --profile mine login --json",
    "backup",
    "backup --full -m before",
    "--config /c backup -q",
    "restore",
    "restore 570643",
    "restore yesterday --path a --path b/c",
    "restore --path a --to /elsewhere --json",
    "restore --to laptop:~/results --path results",
    "jobs",
    "jobs list",
    "jobs --all",
    "jobs list --all --json",
    "-p mine jobs -v",
    "jobs --profile mine --config /c list",
    "--json jobs -q list",
]


@pytest.fixture(autouse=True, scope="module")
def one_moment() -> Iterator[None]:
    """A request says which zone was in force when it was typed: both are typed in the same moment."""
    zone = local_zone(1_800_000_000.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naming, "local_zone", lambda _: zone)
        yield


@pytest.mark.parametrize("line", TAKEN)
def test_it_means_the_same_as_with_the_parser(line: str) -> None:
    plain = plain_call(line.split())
    assert plain is not None
    assert meaning(plain) == meaning(parse(line.split()))


def test_who_asks_is_told_to_the_flow() -> None:
    plain = plain_call(["-p", "mine", "--config", "/c", "status", "--verbose", "--json"])
    assert plain is not None
    (who,) = meaning(plain)[4]
    assert isinstance(who, Caller)
    assert (who.asked.profile, who.asked.config) == ("mine", "/c")
    assert (who.may_ask, who.verbose) == (False, True)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "status x",
        "status --watch",
        "up one two",
        "up --gpus 2",
        "up --yes",
        "backup x",
        "backup --dry-run",
        "backup -m",
        "backup -m -x",
        "backup -m a -m b",
        "--full backup",
        "restore a b",
        "restore --from x",
        "restore --to laptop:",
        "restore --path=a",
        "restore -- a",
        "jobs show 41",
        "jobs --all list",
        "--all jobs",
        "jobs --state failed",
        "jobs --help",
        "jobs -p",
        "jobs -p --json",
        "jobs -qv",
        "jobs jobs",
        "jobs --set a=b",
        "submit jobs",
        "list jobs",
    ],
)
def test_anything_else_is_left_to_the_parser(line: str) -> None:
    assert plain_call(line.split()) is None


WORDS = st.sampled_from(
    [
        *FORMS,
        "list",
        "latest",
        "x",
        "",
        "--",
        "--json",
        "-q",
        "-v",
        "-p",
        "--profile",
        "mine",
        "--config",
        "--full",
        "-m",
        "--message",
        "--path",
        "--to",
        "/d",
        "laptop:d",
        "--all",
        "--dry-run",
        "--path=a",
    ]
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(FORMS)), st.lists(WORDS, max_size=2), st.lists(WORDS, max_size=5))
@example("jobs", [], ["-p", "list"])
def test_no_line_means_another_thing_than_with_the_parser(
    verb: str, before: list[str], after: list[str]
) -> None:
    line = [*before, verb, *after]
    plain = plain_call(line)
    if plain is not None:
        try:
            parsed = parse(line)
        except UsageInvalid as refused:
            raise AssertionError(f"{line} is wrong: {refused}") from None
        assert meaning(plain) == meaning(parsed), line


@pytest.mark.parametrize("verb", sorted(FORMS))
def test_the_parser_is_not_loaded_for_it(verb: str) -> None:
    script = (
        "import sys; from scratchflow.cli.plain import plain_call;"
        f" assert plain_call([{verb!r}]); print('typer' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
