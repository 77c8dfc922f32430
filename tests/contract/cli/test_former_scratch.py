"""After `config set scratch`, with work at the former place that no snapshot has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.people import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Has saved `1`, written `2`, and changed the scratch of the profile since."""
    person = Person(tmp_path)
    person.saves("1")
    (person.work / "file").write_text("2")
    person.says("config", "set", "scratch", str(tmp_path / "new"))
    return person


def test_no_command_goes_on_at_the_new_place_before_it_is_saved(
    person: Person, tmp_path: Path
) -> None:
    for command in ("restore", "restore --dry-run", "clear", "clear --dry-run", "autobackup on"):
        done = person.run(*command.split())
        assert done.returncode == 35, (command, done.stderr)
        assert f"--set scratch={person.work.parent} backup`" in done.stderr
        assert "--no-backup" not in done.stderr
    assert not (tmp_path / "new").exists()
    person.says("--set", f"scratch={person.work.parent}", "backup")
    person.says("restore")
    assert (tmp_path / "new/work/file").read_text() == "2"


def test_status_and_doctor_name_the_former_place(person: Person) -> None:
    (problem,) = person.data("status")["problems"]
    assert str(person.work) in problem["detail"]
    checks = person.lines("doctor")[-1]["data"]["checks"]
    assert [one["name"] for one in checks if not one["ok"]] == ["workspace.former_scratch"]
