"""Which file system a path is on, as the kernel's mount table says."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.disk.file_systems import file_system_of, is_shared, mounted_at

TABLE = r"""
1 0 8:1 / / rw - ext4 /dev/sda rw
2 1 0:1 / /fsx rw shared:1 - lustre mgs:/fsx rw
3 1 0:2 / /fsx rw - nfs4 server:/fsx rw
4 1 0:3 / /with\040space rw - xfs /dev/sdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/etc", "ext4"), ("/fsx/a", "nfs4"), ("/fsxx", "ext4"), ("/with space/x", "xfs")],
)
def test_the_longest_mount_point_decides_and_the_last_one_at_it(
    tmp_path: Path, path: str, kind: str
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE.lstrip())
    assert file_system_of(Path(path), table) == kind


def test_without_a_mount_table_nobody_knows(tmp_path: Path) -> None:
    assert file_system_of(Path("/"), tmp_path / "none") == ""


@pytest.mark.parametrize(
    ("kind", "shared"),
    [("nfs4", True), ("lustre", True), ("tmpfs", False), ("xfs", None), ("", None)],
)
def test_a_network_file_system_is_shared(kind: str, shared: bool | None) -> None:
    assert is_shared(kind) is shared


def test_a_mount_is_told_with_its_device_and_its_point(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    root = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
    home = "2 1 0:44 / /my\\040home rw shared:1 - nfs4 nas:/my\\040export rw,vers=4\n"
    table.write_text(root + home)
    found = mounted_at(Path("/my home/ada"), table)
    assert found
    assert (found.kind, found.source, found.point) == ("nfs4", "nas:/my export", "/my home")
