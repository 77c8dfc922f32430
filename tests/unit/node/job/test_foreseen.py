"""A dry run of `submit` sees the script that the real one would save first."""

from __future__ import annotations

from scratchflow.model.requests import Freeze
from scratchflow.model.results.jobs import Frozen
from scratchflow.node.job.freeze import freeze
from tests.unit.conftest import Desk

SCRIPT = "#!/bin/bash\n#SBATCH --time=2\ntrue\n"


def foreseen(desk: Desk, script: str, directory: str = "") -> Frozen:
    wanted = Freeze(dry_run=True, script=script, directory=directory)
    return freeze(desk.context, desk.notify, wanted)


def test_a_dry_run_finds_what_is_not_saved_yet(desk: Desk) -> None:
    desk.backup()
    assert foreseen(desk, "runs/new.sh", "runs").script is None
    desk.write("work/runs/new.sh", SCRIPT)
    (desk.work / "link.sh").symlink_to("runs/new.sh")
    found = foreseen(desk, "runs/new.sh", "runs")
    assert (found.snapshot, found.script, found.has_directory) == (None, SCRIPT, True)
    assert foreseen(desk, "link.sh").script == SCRIPT
    desk.backup()
    assert foreseen(desk, "runs/new.sh", "runs").script is None, "the snapshot has it"


def test_what_a_backup_leaves_out_or_does_not_see_is_not_found(desk: Desk) -> None:
    desk.write("elsewhere.sh", SCRIPT)
    desk.write("work/.scratchignore", "/tmp\n*.local.sh\n")
    for path in ("tmp/new.sh", "my.local.sh"):
        desk.write(f"work/{path}", SCRIPT)
    (desk.work / "out.sh").symlink_to(desk.scratch / "elsewhere.sh")
    (desk.work / "in.sh").symlink_to("tmp/new.sh")
    for path in ("tmp/new.sh", "my.local.sh", "out.sh", "in.sh", "tmp", "none.sh"):
        found = foreseen(desk, path, "tmp")
        assert (found.script, found.has_directory) == (None, False), path
