"""Mount points beneath a directory, from the kernel's table."""

from __future__ import annotations

from pathlib import Path

from scratchflow.disk.mounts import is_mount_point, mounts_beneath

TABLE = """\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:5 / {top} rw - tmpfs tmpfs rw
31 30 254:0 /home/alice {top}/work/home rw,relatime - ext4 /dev/vda rw
32 30 0:7 / {top}/work/a\\040b\\134c rw - tmpfs tmpfs rw
33 30 0:8 / {top}-beside rw - tmpfs tmpfs rw
"""


def _table(tmp_path: Path) -> Path:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE.format(top=tmp_path / "top"))
    return table


def test_bind_mounts_and_escaped_names_are_found_beneath_a_directory(tmp_path: Path) -> None:
    top = tmp_path / "top"
    found = mounts_beneath(top, _table(tmp_path))
    assert found == [bytes(top / "work/a b\\c"), bytes(top / "work/home")]


def test_a_mount_at_the_directory_itself_is_told_apart(tmp_path: Path) -> None:
    table = _table(tmp_path)
    assert is_mount_point(tmp_path / "top", table)
    assert not is_mount_point(tmp_path / "top/work", table)


def test_a_link_to_the_directory_is_resolved(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "top")
    assert mounts_beneath(tmp_path / "link", _table(tmp_path))


def test_a_system_without_a_table_has_none(tmp_path: Path) -> None:
    assert mounts_beneath(tmp_path, tmp_path / "missing") == []


def test_this_machine_lists_its_own_proc() -> None:
    assert b"/proc" in mounts_beneath(Path("/"))


def test_a_mount_that_a_later_one_hides_is_not_there(tmp_path: Path) -> None:
    top = tmp_path / "top"
    table = _table(tmp_path)
    hides = [f"40 30 0:9 / {top}/work rw - tmpfs tmpfs rw", f"41 40 0:9 / {top}/work/b rw - x x rw"]
    table.write_text(table.read_text() + "\n".join(hides))
    assert mounts_beneath(top, table) == [bytes(top / "work"), bytes(top / "work/b")]
