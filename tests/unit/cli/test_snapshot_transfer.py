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
    ("words", "command"),
    [
        (("4d3e2d", "/h/e.tar.lz4"), "/h/e.tar.lz4 4d3e2d"),
        (("2 hours ago", "e.tar.lz4"), "e.tar.lz4 '2 hours ago'"),
        (("@before a/b", "laptop:my file"), "'laptop:my file' '@before a/b'"),
    ],
)
def test_an_export_typed_the_other_way_around_is_told_as_that(
    words: tuple[str, str], command: str
) -> None:
    with pytest.raises(UsageInvalid) as caught:
        parse(["snapshots", "export", *words])
    assert "FILE comes first" in str(caught.value)
    assert f"`scratchflow snapshots export {command}`" in str(caught.value)


@pytest.mark.parametrize(
    "words", [("/h/e.tar.lz4", "4d3e2d"), ("out/e", "@fix a/b"), ("/h/one", "/h/two"), ("e",)]
)
def test_any_other_export_is_taken_as_it_is(words: tuple[str, ...]) -> None:
    assert parse(["snapshots", "export", *words]).op == "snapshots export"


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
