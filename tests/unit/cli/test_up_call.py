"""What `up` says last: what is promised, and the ways to work there."""

from __future__ import annotations

import time

import msgspec
import pytest

from scratchflow.cli.up_call import autobackup_line, other_ways, shown
from scratchflow.cli.verbs import parse
from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.status import Problem
from scratchflow.model.results.up import EditorOpened, UpAndRunning
from scratchflow.model.times import iso_time

SHELL = "for a shell:  `scratchflow shell`, in the workspace"
SSH = "              `ssh compile_machine`, in your home"
ON = AutobackupSwitched(enabled=True, changed=True, node="node-1", every_s=1800)
BRING = "bring files:  `scratchflow create --from laptop:DIR`"


def now(action: str = "nothing", job_id: int | None = 7) -> UpAndRunning:
    return UpAndRunning(
        job_id=job_id,
        node="node-1",
        end_time=None,
        alias="compile_machine" if job_id else None,
        workspace=Settled(action=action, path="/w", snapshot=None),  # type: ignore[arg-type]  # as given
        autobackup=ON,
        editor=EditorOpened(path="/w", command=["code"], link="vscode://w", opened=False),
        changed=True,
    )


def test_a_job_is_promised_a_last_snapshot() -> None:
    assert autobackup_line(ON, 7) == (
        "auto-backup every 30 min, and a last snapshot when the job ends"
    )
    assert autobackup_line(ON, None) == "auto-backup every 30 min"


def test_where_another_profile_saves_the_work_no_snapshot_is_promised_at_the_jobs_end() -> None:
    shared = msgspec.structs.replace(ON, of_profile="login")
    soon = iso_time(time.time() + 600)
    for end_time in (None, soon):
        assert autobackup_line(shared, 7, end_time=end_time) == (
            "auto-backup every 30 min, by that of profile `login`, until its job ends"
        )


def test_a_job_that_ends_before_the_first_of_them_is_told_so() -> None:
    soon = iso_time(time.time() + 600)
    assert autobackup_line(ON, 7, end_time=soon) == (
        "auto-backup before the time limit and when the job ends (every 30 min is later)"
    )
    late = iso_time(time.time() + 7200)
    assert autobackup_line(ON, 7, end_time=late) == autobackup_line(ON, 7)


def test_of_several_nodes_it_is_said_which_has_no_auto_backup() -> None:
    pair = ["node-1", "node-2"]
    assert autobackup_line(ON, 7, pair).endswith("when the job ends, not on `node-2`")
    both = msgspec.structs.replace(ON, others=["node-2"])
    assert autobackup_line(both, 7, pair).endswith("when the job ends, on every node")


@pytest.mark.parametrize(
    ("seen", "lines"),
    [
        (now(), [SHELL, SSH]),
        (now("created"), [SHELL, SSH, BRING]),
        (now("restored", None), []),
        (now("created", None), [BRING]),
    ],
)
def test_the_ways_that_help_are_named(seen: UpAndRunning, lines: list[str]) -> None:
    assert list(other_ways(seen)) == lines


def test_they_are_what_up_prints() -> None:
    lines = list(parse(["up"]).show(now("created")))
    assert lines[-3:] == [SHELL, SSH, BRING]
    assert autobackup_line(ON, 7) in lines


def test_the_link_is_for_a_machine_without_the_editor() -> None:
    assert "or with:      vscode://w" in list(shown(now()))
    editor = msgspec.structs.replace(now().editor, has_editor=True)
    lines = list(shown(msgspec.structs.replace(now(), editor=editor)))
    assert "open it with: code" in lines
    assert not any("vscode://" in line for line in lines)


def test_all_is_well_is_said_only_when_nothing_is_wrong() -> None:
    well = msgspec.structs.replace(now(), changed=False)
    assert any("all is well" in line for line in shown(well))
    full = Problem(name="disk.no_space", detail="no space left at `/store`", fix="free some")
    lines = list(shown(msgspec.structs.replace(well, problems=[full])))
    assert not any("all is well" in line for line in lines)
    assert lines[-2:] == ["✗ no space left at `/store`", "  fix: free some"]
