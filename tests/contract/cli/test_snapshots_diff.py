"""`snapshots diff` as people type it, on the real program."""

from __future__ import annotations

from pathlib import Path

from scratchflow.model.ages import short_id
from tests.contract.people import Person


def test_without_arguments_it_shows_what_changed_since_the_last_snapshot(tmp_path: Path) -> None:
    person = Person(tmp_path)
    first = person.saves("1")
    (person.work / "new").write_text("x")
    (person.work / "file").write_text("2")
    shown = person.says("snapshots", "diff").splitlines()
    assert shown == [
        "M work/file",
        "+ work/new",
        f"1 added, 1 changed, 0 removed since snapshot {short_id(first)} (just now)",
    ]
    second = person.data("backup")["snapshot"]
    assert person.says("snapshots", "diff").startswith("nothing differs since snapshot")
    assert person.says("snapshots", "diff", "latest~1").splitlines()[:2] == shown[:2]
    (person.work / "new").unlink()
    live = person.data("snapshots", "diff", short_id(first))
    assert (live["older"], live["newer"], live["added"]) == (first, "workspace", 0)
    between = person.data("snapshots", "diff", short_id(first), "latest")
    assert (between["newer"], between["added"]) == (second, 1)
