"""`jobs` without the parser means what it means with it, and what is odd is left to the parser."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from scratchflow.cli.call import Call
from scratchflow.cli.plain_jobs import parse_plain, plain_jobs
from scratchflow.cli.verbs import parse
from scratchflow.dispatch.cluster import Caller, Cluster
from scratchflow.model.requests import Arguments
from scratchflow.model.results import JobsListed


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is asked of the login host, and by whom."""
    found: list[tuple[Any, ...]] = []

    def on_login(self: Cluster, do: str, request: Arguments, kind: type[Any]) -> JobsListed:
        assert kind is JobsListed
        who = self.caller
        said = (who.asked.config or "", who.asked.profile or "", tuple(who.asked.overrides))
        found.append((do, request, said, who.may_ask, who.verbose))
        return JobsListed(jobs=[])

    monkeypatch.setattr(Cluster, "on_login", on_login)
    monkeypatch.setattr(Caller, "settings", lambda _: None)
    return found


def shown(call: Call[JobsListed]) -> list[str]:
    return list(call.show(call.flow(lambda _: None)))


@pytest.mark.parametrize(
    "line",
    [
        "jobs",
        "jobs list",
        "jobs --all",
        "jobs list --all --json",
        "-p mine jobs -v",
        "jobs --profile mine --config /c list",
        "--json jobs -q list",
    ],
)
def test_it_means_the_same_as_with_the_parser(line: str, asked: list[tuple[Any, ...]]) -> None:
    quick = plain_jobs(line.split())
    assert quick is not None
    slow = parse(line.split())
    assert quick.op == slow.op
    assert shown(quick) == shown(slow)
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    "line",
    [
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
        "",
    ],
)
def test_anything_else_is_left_to_the_parser(line: str) -> None:
    assert parse_plain(line.split()) is None


def test_the_parser_is_not_loaded_for_it() -> None:
    script = "import sys; from scratchflow.cli.plain_jobs import plain_jobs; plain_jobs(['jobs']); print('typer' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
