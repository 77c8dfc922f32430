"""Every import of the package goes along to the cluster, or stays here for a reason."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from scratchflow.agent.delivery.bundle import collect_parts
from scratchflow.agent.delivery.markers import normal_name
from scratchflow.agent.delivery.needs import LEFT_OUT, NEEDS, needs_for
from tests.unit.agent.delivery.this_machine import this_target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[4]
# Modules that are not on the cluster, and the one room that may import them.
STAYS = {"ssh": {"paramiko"}, "config": {"yaml"}}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"scratchflow", "tomllib"}


@pytest.mark.slow
def test_every_import_of_the_package_goes_along_or_stays_for_a_reason() -> None:
    covered = {need.module.partition(".")[0] for need in NEEDS}
    for path in (ROOT / "scratchflow").rglob("*.py"):
        extra = imports_of(path) - covered - {"setuptools"}
        allowed = STAYS.get(path.relative_to(ROOT / "scratchflow").parts[0], set())
        assert extra <= allowed, path


def test_every_dependency_goes_along_or_stays_for_a_reason() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {normal_name(re.split(r"[><=;]", line)[0].strip()) for line in declared}
    assert names == {need.distribution for need in NEEDS} | set(LEFT_OUT)


def test_what_stays_on_the_laptop_is_not_in_the_bundle() -> None:
    parts = collect_parts(this_target())
    assert (
        set(parts) & {"paramiko", "cryptography", "bcrypt", "pynacl", "cffi", "pyyaml", "pytest"}
        == set()
    )
    assert {need.distribution for need in needs_for(this_target().python)} <= set(parts)


def test_a_reader_of_toml_goes_only_to_a_python_without_one() -> None:
    assert "tomli" in {need.distribution for need in needs_for((3, 10, 12))}
    assert "tomli" not in {need.distribution for need in needs_for((3, 11, 0))}
