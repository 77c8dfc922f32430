"""`kill -9` at random times of `create --from`: nothing half is left, and there is a way on each time."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.crash.node.test_backup_killed_at_random import KILLS, Program, duration_s
from tests.odd_tree import make_odd_tree, tree_digest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory that is a git repository with everything committed."""
    directory = tmp_path / "project"
    directory.mkdir()
    make_odd_tree(directory, big_bytes=20 << 20)
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *identity, *words], cwd=directory, check=True)
    return directory


def fresh(tmp_path: Path) -> Program:
    """A program that has never run."""
    for name in ("scratch", "store"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        subprocess.run(["chmod", "-Rf", "u+w", str(tmp_path / name)], check=False)
        shutil.rmtree(tmp_path / name, ignore_errors=True)
    program = Program(tmp_path)
    program.work.rmdir()
    return program


def exit_code(program: Program, *arguments: str) -> int:
    process = program.start(*arguments)
    process.communicate()
    return process.returncode


@pytest.mark.parametrize("kind", ["directory", "clone"])
def test_a_killed_create_leaves_all_or_nothing_and_a_way_on(
    tmp_path: Path, project: Path, kind: str
) -> None:
    source = str(project) if kind == "directory" else f"file://{project}"
    create = ("create", "--from", source)
    took_s = duration_s(fresh(tmp_path), *create)
    whole = state_of_files(tmp_path / "scratch/work", kind)
    chance = random.Random(11)  # noqa: S311 - moments, not secrets
    for _ in range(max(4, KILLS // 3)):
        program = fresh(tmp_path)
        program.killed(chance.uniform(0.2, 1.1) * took_s, *create)
        if program.work.exists():
            assert state_of_files(program.work, kind) == whole
        if exit_code(program, *create) == 35:
            program.run("restore" if program.ids() else "create")
        assert state_of_files(program.work, kind) == whole
        assert program.ids()
        assert not list((program.work.parent / ".scratchflow/work").glob("incoming-*"))


def state_of_files(work: Path, kind: str) -> str:
    """All of it; of a clone what git says, since times differ each time."""
    if kind == "directory":
        return tree_digest(work)
    script = "git rev-parse HEAD && git status --porcelain && git fsck --strict"
    done = subprocess.run(script, shell=True, cwd=work, capture_output=True, text=True, check=False)  # noqa: S602 - no foreign word in it
    return f"{done.returncode} {done.stdout}"
