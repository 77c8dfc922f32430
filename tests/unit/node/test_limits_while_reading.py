"""Whoever may not open enough files hears that, whatever is read: never that a snapshot is damaged."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.model.errors.store import TargetFull
from scratchflow.model.errors.workspace import LimitReached
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.transfer.transfer import export_snapshot
from scratchflow.store.checks.verified import read_verified
from tests.unit.conftest import Desk
from tests.unit.limited import only_so_many_more

Read = Callable[[Desk, str, Path], object]

READERS: dict[str, Read] = {
    "export": lambda desk, one, to: export_snapshot(
        desk.context, desk.notify, one, to, dry_run=False
    ),
    "restore": lambda desk, one, to: desk.restore(one, to=to),
    "verify": lambda desk, _, __: verify_snapshots(desk.context, desk.notify, []),
}


def _a_long_chain(desk: Desk) -> str:
    """The last snapshot needs the archives of all before it."""
    for number in range(8):
        desk.write(f"work/{number}", os.urandom(3000))
        desk.backup()
    return desk.ids[-1]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_too_few_open_files_are_never_damage(desk: Desk, tmp_path: Path, read: Read) -> None:
    last = _a_long_chain(desk)
    refused = 0
    for more in range(14):
        try:
            with only_so_many_more(more):
                read(desk, last, tmp_path / f"{more}")
        except LimitReached:
            refused += 1
    assert refused
    assert not [one for one in read_verified(desk.place).values() if one.problem]


def test_a_file_that_may_not_become_so_large_is_a_limit_too(desk: Desk, tmp_path: Path) -> None:
    desk.write("work/large", os.urandom(300_000))
    last = str(desk.backup().snapshot)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for read in (READERS["export"], READERS["restore"]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(LimitReached, match="ulimit -f"):
                read(desk, last, tmp_path / "never")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not (tmp_path / "never").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_export_without_room_names_its_own_file(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("work/large", os.urandom(300_000))
    last, target = str(desk.backup().snapshot), tmp_path / "never.tar.lz4"
    really = os.open

    def onto_a_full_disk(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_EXCL and Path(path).parent == tmp_path:
            return really("/dev/full", os.O_WRONLY)
        return really(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", onto_a_full_disk)
    with pytest.raises(TargetFull) as caught:
        export_snapshot(desk.context, desk.notify, last, target, dry_run=False)
    assert caught.value.fields["path"] == str(target)
