"""The child runs alone, with the standard library only, and gives values that JSON can hold."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import scratchflow.experiments.mrunner_child as module
from scratchflow.experiments.mrunner_child import get_combinations


def test_it_needs_nothing_but_the_standard_library() -> None:
    tree = ast.parse(Path(module.__file__).read_text())
    found = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in found} <= set(sys.stdlib_module_names)


def test_it_answers_with_one_json_object_and_no_package_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "spec.py"
    file.write_text(
        "import sys\nassert 'scratchflow' not in sys.modules\nprint('words')\n"
        "class Array:\n"
        "    def __init__(self, values): self.values = values\n"
        "    def __len__(self): return len(self.values)\n"
        "    def __iter__(self): return iter(self.values)\n"
        "    def tolist(self): return list(self.values)\n"
        "from pathlib import Path\n"
        "from mrunner.helpers.specification_helper import create_experiments_helper as make\n"
        "experiments_list = make('n', {'p': Path('/x'), 't': (1, 2)}, {'a': Array([Array([1])])})\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", module.__file__, str(file)], capture_output=True, check=True
    )
    [one] = json.loads(done.stdout)["experiments"]
    assert one["parameters"] == {"p": "/x", "t": [1, 2], "a": [1]}
    assert done.stderr == b"words\n"


def test_no_grids_give_nothing_and_an_empty_one_gives_one_set() -> None:
    assert get_combinations([]) == []
    assert get_combinations({}) == [{}]
    assert get_combinations({"a": []}) == []
