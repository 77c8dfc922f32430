"""What is not TOML is told with its place, and what is too much for a reader is told as that."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.config import ConfigSyntax
from tests.unit.config.written import apply_edit, refused


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("a = \n", 1, 5), ('[profiles.a]\nlogin = "x\n', 2, 11), ("\n\n  ?", 3, 3), ("a = [1,", 1, 8)],
)
def test_bad_toml_names_line_and_column(file: Path, text: str, line: int, column: int) -> None:
    error = refused(file, text)
    assert isinstance(error, ConfigSyntax)
    assert f"line {line}, column {column}:" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        f"[profiles.a.slurm]\nnodes = {'9' * 5000}",
        f"x = {'[' * 5000}",
        f"{'x.' * 5000}x = 1",
        f"[profiles.a.environment.variables]\n{'x.' * 5000}x = '1'",
    ],
)
def test_more_than_python_can_take_is_a_clear_error(file: Path, text: str) -> None:
    refused(file, text)
    with pytest.raises(ScratchflowError):
        apply_edit(file, "profiles.a.login", "x")
