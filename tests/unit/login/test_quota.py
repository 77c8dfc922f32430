"""What is left of a quota is read from what the host's programs print; nothing is made up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, local_run
from scratchflow.disk.file_systems import Mounted
from scratchflow.login import quota as module
from scratchflow.login.quota import left_on, quota_left_bytes
from scratchflow.process.child import Completed

NFS = Mounted("nfs4", "nas:/export/home", "/home")
LUSTRE = Mounted("lustre", "10.0.0.1@tcp:/fsx", "/fsx")
# As quota 4.06 prints it.
QUOTA = """\
Disk quotas for user alice (uid 1000):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
      /dev/sdb1     100       0       0              12       0       0
nas:/export/home 1048576* 900000 2097152   6days     30       0       0
"""


@pytest.mark.parametrize(
    ("mounted", "left_kib"),
    [
        (NFS, 0),
        (Mounted("ext4", "/dev/sdb1", "/data"), None),
        (Mounted("ext4", "/dev/sdc1", "/other"), None),
    ],
)
def test_the_line_of_the_device_counts(mounted: Mounted, left_kib: int | None) -> None:
    assert left_on(mounted, QUOTA) == (None if left_kib is None else left_kib * 1024)


@pytest.mark.parametrize(
    ("columns", "left_kib"),
    [
        ("100 500 600", 400),
        ("100 0 600", 500),
        ("100 500 0", 400),
        ("700* 500 600", 0),
        ("100 0 0", None),
        ("none", None),
        ("- - -", None),
        ("² 5 6", None),
    ],
)
def test_the_lower_limit_that_is_set_counts(columns: str, left_kib: int | None) -> None:
    text = f"nas:/export/home {columns} 0 1 0 0 0\n"
    assert left_on(NFS, text) == (None if left_kib is None else left_kib * 1024)


def test_lustre_is_asked_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is too long for its column has a line of its own."""
    asked: list[Sequence[str]] = []

    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        assert timeout_s
        asked.append(argv)
        return Completed(0, b"       /fsx/alice\n      1024  0  3072  -  12  0  0  -\n")

    monkeypatch.setattr(module, "mounted_at", lambda _: LUSTRE)
    assert quota_left_bytes(Path("/fsx/alice"), "alice", run) == 2048 * 1024
    assert asked == [["lfs", "quota", "-q", "-u", "alice", "/fsx/alice"]]


@pytest.mark.parametrize("error", [CommandMissing(), CommandUnanswered("hangs")])
@pytest.mark.parametrize("mounted", [NFS, LUSTRE, None])
def test_where_nobody_can_tell_there_is_no_number(
    monkeypatch: pytest.MonkeyPatch, error: Exception, mounted: Mounted | None
) -> None:
    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        assert argv
        assert timeout_s
        raise error

    monkeypatch.setattr(module, "mounted_at", lambda _: mounted)
    assert quota_left_bytes(Path("/x"), "alice", run) is None


def test_this_machine_is_asked_without_harm(tmp_path: Path) -> None:
    left = quota_left_bytes(tmp_path, "nobody", local_run(dict(os.environ)))
    assert left is None or left >= 0
