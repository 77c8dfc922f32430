"""Whatever any `lz4` wrote is read as a stream, and damage is told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scratchflow.archive.foreign import importer as foreign
from scratchflow.archive.read import verify
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.tree.index import Index
from tests.unit.archive.conftest import Bench, State, fill, tree_state


def _import(bench: Bench, path: Path, where: foreign.Where = foreign.unchanged) -> Index:
    with bench.path("F").open("wb", buffering=0) as out:
        imported = foreign.import_archive(path, out, archive_id="F", warn=bench.warn, where=where)
    assert verify.verify_archive(bench.path("F"), digest=imported.digest) == []
    return open_index(bench.path("F"))


def _tar_lz4(bench: Bench, tar: list[str], lz4: list[str]) -> Path:
    path = bench.home / "foreign.tar.lz4"
    with (
        path.open("wb") as out,
        subprocess.Popen(["tar", *tar], cwd=bench.scratch, stdout=subprocess.PIPE) as writing,
    ):
        subprocess.run(["lz4", "-q", *lz4, "-", "-"], stdin=writing.stdout, stdout=out, check=True)
    assert writing.returncode == 0
    return path


def _whole_seconds(state: State) -> State:
    return {path: (*s[:2], s[2] // 10**9, s[3]) for path, s in state.items()}  # type: ignore[operator]


@pytest.mark.parametrize(
    "options",
    [
        ["-B4", "-BD"],
        ["-BD", "-B7"],
        ["--no-frame-crc"],
        ["--content-size"],
        ["-l"],
        ["-9"],
        ["-BX"],
    ],
)
def test_every_kind_of_lz4(bench: Bench, options: list[str]) -> None:
    fill(bench.work)
    (bench.work / "more").write_bytes(os.urandom(1000) * 20_000)
    path = _tar_lz4(bench, ["-cf", "-", "work"], options)
    restored = tree_state(bench.restore(_import(bench, path)))
    assert _whole_seconds(restored) == tree_state(bench.scratch, whole_seconds=True)
    unchecked = [code for code, _, _ in bench.warnings]
    assert unchecked == (["archive.unchecked"] if {"-l", "--no-frame-crc"} & {*options} else [])
