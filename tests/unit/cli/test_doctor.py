"""What a person reads of `doctor`: every check with its fix, and how many failed."""

from __future__ import annotations

from scratchflow.cli.doctor import _shown
from scratchflow.cli.verbs import parse
from scratchflow.model.results.checks import Check, ChecksDone

GOOD = Check(name="slurm", ok=True, detail="answers")
BAD = Check(name="store", ok=False, detail="cannot be written", fix="`scratchflow config set`")


def test_all_is_well() -> None:
    assert list(_shown(ChecksDone(checks=[GOOD]))) == ["✓ slurm: answers", "No problems found."]


def test_what_failed_has_its_fix_beneath_it_and_is_counted() -> None:
    assert list(_shown(ChecksDone(checks=[GOOD, BAD]))) == [
        "✓ slurm: answers",
        "✗ store: cannot be written",
        "  fix: `scratchflow config set`",
        "1 of 2 checks failed",
    ]


def test_one_check_is_no_plural() -> None:
    assert list(_shown(ChecksDone(checks=[BAD])))[-1] == "1 of 1 check failed"


def test_the_verb_is_doctor_with_and_without_mending() -> None:
    assert [parse(line.split()).op for line in ("doctor", "doctor --fix")] == ["doctor", "doctor"]
