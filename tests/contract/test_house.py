"""The structure check that CI runs really fails when the structure is spoilt."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS = "tests/modules-without-a-test.txt"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package, its page in the docs and the names of its tests, to be spoilt."""
    no_bytecode = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "scratchflow", tmp_path / "scratchflow", ignore=no_bytecode)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/architecture.md", tmp_path / "docs")
    for test in (ROOT / "tests").rglob("test_*.py"):
        name = tmp_path / test.relative_to(ROOT)
        name.parent.mkdir(parents=True, exist_ok=True)
        name.touch()
    shutil.copy(ROOT / EXCEPTIONS, tmp_path / EXCEPTIONS)
    return tmp_path


def check(root: Path) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "scripts/house.py"), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_package_as_it_stands_passes(copy: Path) -> None:
    assert check(copy) == (0, "")


def test_a_circle_that_a_late_import_hides_is_found(copy: Path) -> None:
    (copy / "scratchflow/model/first.py").write_text("from scratchflow.model import second\n")
    late = "def go():\n    from scratchflow.model.first import x\n"
    (copy / "scratchflow/model/second.py").write_text(late)
    code, words = check(copy)
    assert code == 1
    assert "import circle: scratchflow.model.first -> scratchflow.model.second\n" in words


def test_a_crowded_folder_is_found(copy: Path) -> None:
    for number in range(19):
        (copy / f"scratchflow/report/more_{number}.py").touch()
    code, words = check(copy)
    assert code == 1
    assert words.startswith("report/ has ")


def test_a_folder_that_the_docs_do_not_name_is_found(copy: Path) -> None:
    (copy / "scratchflow/disk/attic").mkdir()
    (copy / "scratchflow/disk/attic/__init__.py").touch()
    assert check(copy) == (1, "docs/architecture.md does not name `disk/attic/`\n")


def test_a_vague_name_is_found_by_the_whole_check(copy: Path) -> None:
    with (copy / "scratchflow/disk/umask.py").open("a") as file:
        file.write("what_was_told = 1\n")
    code, words = check(copy)
    assert code == 1
    assert words.startswith("scratchflow/disk/umask.py: `what_was_told` holds the word `told`;")


def vague(root: Path, text: str, module: str = "umask") -> list[str]:
    """What is found in a package of one module."""
    path = root / f"scratchflow/disk/{module}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    house = runpy.run_path(str(ROOT / "scripts/house.py"))
    return list(house["vague_names"](root))


@pytest.mark.parametrize(
    "line",
    [
        "def wish() -> None: ...",
        "class SacredFile: ...",
        "def f(lot=1): ...",
        "TOLD_AGAIN = 2",
        "x.isTold = 3",
        "import a as _told",
    ],
)
def test_every_kind_of_name_is_looked_at(tmp_path: Path, line: str) -> None:
    assert len(vague(tmp_path, f"{line}\n")) == 1


def test_so_is_the_name_of_a_module(tmp_path: Path) -> None:
    (found,) = vague(tmp_path, "", module="told")
    assert found.startswith("scratchflow/disk/told.py: `told` holds the word `told`;")


def test_texts_and_longer_words_are_no_names(tmp_path: Path) -> None:
    text = '"""As told."""\nforetold = "lot"  # wish\nslots = pilot = 1\n'
    assert vague(tmp_path, text) == []


class Names:
    """One module that has a test, and the names of nothing else."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.touch("scratchflow/disk/durable.py", "tests/unit/disk/test_durable.py", EXCEPTIONS)

    def touch(self, *paths: str) -> None:
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).touch()

    def excuse(self, line: str) -> None:
        (self.root / EXCEPTIONS).write_text(f"# why\n\n{line}\n")

    def found(self) -> list[str]:
        house = runpy.run_path(str(ROOT / "scripts/house.py"))
        return list(house["untested"](self.root))


@pytest.fixture
def names(tmp_path: Path) -> Names:
    return Names(tmp_path)


def test_a_module_without_a_test_is_found_by_the_whole_check(copy: Path) -> None:
    (copy / "scratchflow/disk/attic.py").touch()
    missing = "scratchflow/disk/attic.py; expected tests/unit/disk/test_attic.py"
    assert check(copy) == (1, f"no test file answers to {missing}\n")


def test_a_test_or_an_exception_with_its_reason_is_enough(names: Names) -> None:
    assert names.found() == []
    names.touch("scratchflow/disk/attic.py")
    assert len(names.found()) == 1
    names.excuse("scratchflow/disk/attic.py: nothing is in it")
    assert names.found() == []


@pytest.mark.parametrize(
    ("test", "answers"),
    [
        ("unit/disk/test_attic.py", True),
        ("crash/disk/test_attic_on_fire.py", True),
        ("unit/disk/test_attics.py", False),
        ("unit/store/test_attic.py", False),
        ("unit/test_attic.py", False),
        ("cluster/test_attic.py", False),
        ("filesystems/disk/test_attic.py", False),
    ],
)
def test_only_a_test_file_at_the_modules_own_path_answers(
    names: Names, test: str, answers: bool
) -> None:
    names.touch("scratchflow/disk/attic.py", f"tests/{test}")
    assert (names.found() == []) is answers


def test_a_verb_may_be_tried_on_a_whole_cluster(names: Names) -> None:
    names.touch("scratchflow/cli/sweep.py", "tests/cluster/test_sweep_twice.py")
    assert names.found() == []


def test_a_module_at_the_top_is_answered_at_the_top(names: Names) -> None:
    names.touch("scratchflow/attic.py")
    (found,) = names.found()
    assert found.endswith("expected tests/unit/test_attic.py")
    names.touch("tests/unit/test_attic.py")
    assert names.found() == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("scratchflow/disk/durable.py", "has a test file"),
        ("scratchflow/disk/gone.py", "is not there"),
    ],
)
def test_an_exception_that_is_none_any_more_is_found(names: Names, path: str, why: str) -> None:
    names.excuse(f"{path}: some reason")
    assert names.found() == [f"{EXCEPTIONS} names {path}, which {why}"]


@pytest.mark.parametrize("end", ["", ":", ": ", " because"])
def test_an_exception_without_a_reason_is_refused(names: Names, end: str) -> None:
    names.touch("scratchflow/disk/attic.py")
    names.excuse(f"scratchflow/disk/attic.py{end}")
    with pytest.raises(SystemExit, match=r"no reason for scratchflow/disk/attic\.py"):
        names.found()
