"""Every operation has one result, which JSON can carry."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import get_args, get_origin

import msgspec
import pytest

from scratchflow.model import results
from scratchflow.model.results.base import OnNodes, OnProfiles, Result
from scratchflow.model.results.by_op import all_results

ROOT = Path(__file__).resolve().parents[4]


def test_every_result_belongs_to_an_operation() -> None:
    kinds = {
        kind
        for module in iter_modules(results.__path__)
        for kind in vars(import_module(f"{results.__name__}.{module.name}")).values()
        if isinstance(kind, type)
        if issubclass(kind, Result) and kind not in {Result, OnNodes, OnProfiles}
    }
    assert kinds == set(all_results().values())


@pytest.mark.parametrize("kind", sorted(set(all_results().values()), key=repr))
def test_no_field_holds_what_json_cannot_carry(kind: type[Result]) -> None:
    """Bytes and sets would come back as something else."""
    for field in msgspec.structs.fields(kind):
        parts = [field.type, *get_args(field.type), get_origin(field.type)]
        assert not {bytes, set, frozenset, complex} & {
            part for part in parts if isinstance(part, type)
        }


def test_a_result_is_found_without_loading_other_families() -> None:
    program = (
        "import sys\n"
        "from scratchflow.model.results.by_op import result_of\n"
        "print(result_of('sync').__name__, *(name for name in sys.modules if '.model.results.' in name))"
    )
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    kind, *loaded = done.stdout.split()
    assert kind == "Synced"
    assert {name.rpartition(".")[2] for name in loaded} == {"by_op", "base", "sync"}
