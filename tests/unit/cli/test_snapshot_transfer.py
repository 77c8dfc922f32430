"""How `snapshots export`, `copy` and `import` are typed."""

from __future__ import annotations

import pytest

from scratchflow.cli.verbs import parse
from scratchflow.model.errors.base import UsageInvalid


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("snapshots copy latest --all --to aws", "name none besides"),
        ("snapshots import --from-mirror latest --all", "name none besides"),
        ("snapshots import", "takes one FILE"),
        ("snapshots import a.tar.lz4 --all", "takes one FILE"),
        ("snapshots export laptop:", "needs a file"),
    ],
)
def test_what_cannot_be_meant_is_refused(line: str, problem: str) -> None:
    with pytest.raises(UsageInvalid, match=problem):
        parse(line.split())


@pytest.mark.parametrize(
    ("line", "op"),
    [
        ("snapshots import a.tar.lz4", "snapshots import"),
        ("snapshots import --from-mirror", "snapshots import from-mirror"),
        ("snapshots copy --to aws", "snapshots copy"),
        ("snapshots mirror --dry-run", "snapshots mirror"),
    ],
)
def test_each_is_a_command_of_snapshots(line: str, op: str) -> None:
    assert parse(line.split()).op == op
