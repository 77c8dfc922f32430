"""A spec is read by what it is: mrunner's Python, or TOML."""

from __future__ import annotations

from pathlib import Path

from scratchflow.experiments.read_spec import read_spec


def test_both_kinds_say_the_same(tmp_path: Path) -> None:
    toml, python = tmp_path / "a.toml", tmp_path / "a.py"
    toml.write_text('command = "run it"\n[params]\na = 1\n[grid]\nb = [2, 3]\n')
    python.write_text(
        "from mrunner.helpers.specification_helper import create_experiments_helper\n"
        "experiments_list = create_experiments_helper(\n"
        "    base_config={'a': 1}, params_grid={'b': [2, 3]}, script='run it')\n"
    )
    one, other = read_spec(toml), read_spec(python)
    assert one.sets == other.sets == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]
    assert one.command == other.command == ["run", "it"]
