"""The environment of a profile on the node: nothing without layers, computed once for a job."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.run import LayerFailed
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.environment import environment_for_tools, environment_of
from tests.unit.conftest import make_desk
from tests.unit.node.environment.node_home import CONDA_PROGRAM, NodeHome


def _context(place: Path, layers: str, job_id: int | None) -> NodeContext:
    context = make_desk(place, f"[profiles.test.environment]\n{layers}\n").context
    return msgspec.structs.replace(context, job_id=job_id)


@pytest.fixture
def desk_place(tmp_path: Path) -> Path:
    place = tmp_path / "desk"
    place.mkdir(mode=0o700)
    return place


def test_a_profile_without_layers_changes_nothing_and_starts_no_shell(desk_place: Path) -> None:
    base = {"A": "1", "PATH": "/nonexistent"}
    context = _context(desk_place, "", 7)
    assert environment_of(context, base) == base
    assert environment_for_tools(context, base) == base


def test_it_is_computed_once_for_a_job(at_node: NodeHome, desk_place: Path) -> None:
    log = at_node.home / "log"
    context = _context(desk_place, f'prologue = "echo x >> {log}; export X=1"', 7)
    for step in ("1", "2"):
        found = environment_of(context, {**at_node.base, "SLURM_STEP_ID": step})
        assert (found["X"], found["SLURM_STEP_ID"]) == ("1", step)
    assert log.read_text() == "x\n"
    environment_of(msgspec.structs.replace(context, job_id=8), at_node.base)
    assert log.read_text() == "x\nx\n"


def test_a_damaged_file_is_computed_anew(at_node: NodeHome, desk_place: Path) -> None:
    context = _context(desk_place, 'variables = { X = "1" }', 7)
    environment_of(context, at_node.base)
    (kept,) = context.workspace.state.glob("environment-*")
    kept.write_bytes(b"\xff{}\nX=2\0")
    assert environment_of(context, at_node.base)["X"] == "1"
    assert environment_of(context, at_node.base)["X"] == "1"


def test_what_was_computed_where_it_was_in_force_already_is_kept_apart(
    at_node: NodeHome, desk_place: Path
) -> None:
    context = _context(desk_place, 'after_modules = "export CC=gcc-12"', 7)
    inside = {**at_node.base, "CC": "gcc-12"}
    assert environment_of(context, inside)["CC"] == "gcc-12"
    assert environment_of(context, at_node.base)["CC"] == "gcc-12"


def test_without_a_job_it_is_computed_each_time(at_node: NodeHome, desk_place: Path) -> None:
    log = at_node.home / "log"
    context = _context(desk_place, f'prologue = "echo x >> {log}"', None)
    for _ in range(2):
        environment_of(context, at_node.base)
    assert log.read_text() == "x\nx\n"


def test_a_failure_is_not_kept(at_node: NodeHome, desk_place: Path) -> None:
    context = _context(desk_place, 'venv = "env"', 7)
    with pytest.raises(LayerFailed):
        environment_of(context, at_node.base)
    at_node.scratch = context.workspace.scratch
    venv = at_node.venv("env")
    assert environment_of(context, at_node.base)["VIRTUAL_ENV"] == str(venv)


def test_what_makes_an_environment_gets_the_layers_that_need_none(
    at_node: NodeHome, desk_place: Path
) -> None:
    at_node.tool("conda", CONDA_PROGRAM)
    layers = 'after_modules = "export A=1"\nconda = "nosuch"\nvenv = "nosuch"\nprologue = "false"'
    context = _context(desk_place, f'{layers}\nvariables = {{ CCACHE_DIR = "/c" }}', 7)
    found = environment_for_tools(context, at_node.base)
    assert (found["A"], found["CCACHE_DIR"]) == ("1", "/c")
