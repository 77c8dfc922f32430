"""Results come back from another machine as the class that was sent, and exit codes say what was found."""

from __future__ import annotations

import inspect
from typing import get_args, get_origin

import msgspec
import pytest

from scratchflow.model import results
from scratchflow.model.results import (
    RESULTS_BY_OP,
    BadSnapshot,
    Check,
    ChecksDone,
    OnNodes,
    OnProfiles,
    Result,
    SnapshotsVerified,
)


def test_every_result_belongs_to_an_operation() -> None:
    kinds = {
        kind
        for _, kind in inspect.getmembers(results, inspect.isclass)
        if issubclass(kind, Result) and kind not in {Result, OnNodes, OnProfiles}
    }
    assert kinds == set(RESULTS_BY_OP.values())


def test_damage_found_is_not_success() -> None:
    sound = SnapshotsVerified(checked=2, bad=[])
    damaged = SnapshotsVerified(checked=2, bad=[BadSnapshot(id="b", reason="a bit")])
    assert sound.exit_code() == 0
    assert damaged.exit_code() != 0


def test_a_result_travels_and_passes_over_what_a_newer_agent_adds() -> None:
    done = ChecksDone(checks=[Check(name="store", ok=False, detail="gone", fix="mount it")])
    data = msgspec.to_builtins(done)
    data["checks"][0]["later"] = 1
    assert msgspec.convert({**data, "later": [2]}, ChecksDone) == done


@pytest.mark.parametrize("kind", sorted(set(RESULTS_BY_OP.values()), key=repr))
def test_no_field_holds_what_json_cannot_carry(kind: type[Result]) -> None:
    """Bytes and sets would come back as something else."""
    for field in msgspec.structs.fields(kind):
        parts = [field.type, *get_args(field.type), get_origin(field.type)]
        assert not {bytes, set, frozenset, complex} & {
            part for part in parts if isinstance(part, type)
        }
