"""What is asked of another machine arrives as it was asked; what is not known there is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from scratchflow.dispatch.operations import ON_LOGIN, ON_NODE
from scratchflow.model.requests import (
    Adopt,
    ArchiveOf,
    Arguments,
    Export,
    GiveArchive,
    Lacking,
    Prune,
    Release,
    Restore,
    TakeArchive,
    WholeSnapshot,
)

SAMPLES: dict[str, Any] = {
    "other": "aws",
    "argv": ("sh", "-c", "true"),
    "older": "a",
    "snapshot": "a",
    "snapshots": ("a",),
    "paths": ("a",),
    "file": "/f",
    "target": "/t",
    "token": "t",
    "job": "j",
    "task": 1,
    "wanted": "12",
    "first": "12",
    "second": "13",
    "name": "n",
    "kind": "command",
    "words": ("true",),
    "cwd": "",
    "start": "s",
    "folders": ("p",),
    "path": "work/a",
    "to": "/x",
}


ARCHIVE = ArchiveOf("a", 1, "0")
WHOLE = WholeSnapshot(id="a", workspace="w", manifest="{}", archives=[ARCHIVE])
# Where a name means something else than elsewhere.
OWN_SAMPLES: dict[type[Arguments], dict[str, Any]] = {
    Adopt: {"snapshot": WHOLE},
    GiveArchive: {"archive": "a"},
    Lacking: {"snapshots": [WHOLE]},
    TakeArchive: {"archive": ARCHIVE},
}


def kinds(top: type[Arguments] = Arguments) -> Iterator[type[Arguments]]:
    for kind in top.__subclasses__():
        yield kind
        yield from kinds(kind)


def sample(kind: type[Arguments]) -> Arguments:
    """One with everything given that has no default."""
    needed = {field.name for field in msgspec.structs.fields(kind) if field.required}
    samples = {**SAMPLES, **OWN_SAMPLES.get(kind, {})}
    return kind(**{name: samples[name] for name in needed})


@pytest.mark.parametrize("kind", sorted(set(kinds()), key=repr))
def test_every_kind_travels_and_comes_back_equal(kind: type[Arguments]) -> None:
    asked = sample(kind)
    line = msgspec.json.encode(msgspec.to_builtins(asked))
    assert msgspec.convert(msgspec.json.decode(line), kind) == asked
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({**msgspec.to_builtins(asked), "later": 1}, kind)
    assert set(kind.path_fields) <= set(kind.__struct_fields__)


def test_every_kind_is_what_some_operation_takes() -> None:
    taken = {served.arguments for served in ON_LOGIN.values()}
    taken |= {served.arguments for served in ON_NODE.values()}
    bases = {base for kind in taken for base in kind.__mro__}
    assert {kind for kind in kinds() if kind.__module__ == Arguments.__module__} <= bases


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Restore, {"dry_run": "yes"}),
        (Restore, {"paths": "work"}),
        (Prune, {"snapshots": [1]}),
        (Release, {"job_ids": ["7"]}),
        (Export, {}),
    ],
)
def test_a_value_of_another_type_is_refused_not_bent(
    kind: type[Arguments], values: dict[str, Any]
) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(values, kind)


def test_nothing_is_done_for_real_or_to_everything_by_a_forgotten_value() -> None:
    assert Restore() == Restore(replace=False, abandon=False, to=None, source=None)
    assert Release(job_ids=()) != Release(job_ids=None)
