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
        "M file",
        "+ new",
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


def test_a_path_is_shown_as_restore_takes_it(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.saves("1")
    for name in ("src/main.py", "work/notes"):
        (person.work / name).parent.mkdir(exist_ok=True)
        (person.work / name).write_text("first")
    saved = person.data("backup")["snapshot"]
    for name in ("src/main.py", "work/notes"):
        (person.work / name).write_text("second, by mistake")
    shown = person.says("snapshots", "diff").splitlines()[:2]
    assert shown == ["M src/main.py", "M work/work/notes"], "`work/notes` would be another file"
    for line in shown:
        person.data("restore", saved, "--path", line.removeprefix("M "))
    assert (person.work / "src/main.py").read_text() == "first"
    assert (person.work / "work/notes").read_text() == "first"
