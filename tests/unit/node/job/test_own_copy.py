"""A task's own copy: the snapshot elsewhere, with the task's words and variables."""

from __future__ import annotations

import random

import msgspec
import pytest

from scratchflow.model.errors.jobs import JobNotStarted
from scratchflow.node.job.own_copy import OwnCopy
from tests.unit.conftest import Desk
from tests.unit.node.job.test_run import submitted


def test_it_has_the_files_the_parameters_and_what_a_spec_adds(desk: Desk) -> None:
    tasks = [{"lr": 0.1}, {"lr": 0.01}]
    record = submitted(desk, "train", tasks=tasks, variables={"MODE": "x"}, python_path=["src"])
    copy = OwnCopy(desk.scratch / "jobs/own", record, 1)
    copy.restore(desk.context, desk.notify)
    assert desk.content(copy.work) == desk.content()
    assert copy.command == ["train", "--lr=0.01"]
    given = copy.environment(desk.context, {"PYTHONPATH": "/before"})
    assert (given["MODE"], given["PYTHONPATH"]) == ("x", f"/before:{copy.work}/src")
    with open(given["SCRATCHFLOW_PARAMS"], "rb") as file:
        assert msgspec.json.decode(file.read()) == {"lr": 0.01}


def test_a_large_file_comes_from_the_workspace_on_the_same_node_and_is_no_link_to_it(
    desk: Desk,
) -> None:
    large = desk.write("work/large", random.Random(2).randbytes(9 << 20))  # noqa: S311 - data
    record = submitted(desk, "true")
    archive = desk.place.archive(record.snapshot)
    whole = archive.read_bytes()
    spoiled = (3 << 20, 9 << 20)
    archive.chmod(0o600)
    archive.write_bytes(whole[: spoiled[0]] + bytes(spoiled[1] - spoiled[0]) + whole[spoiled[1] :])
    copy = OwnCopy(desk.scratch / "jobs/own", record, 0)
    copy.restore(desk.context, desk.notify)
    assert (copy.work / "large").read_bytes() == large.read_bytes()
    assert not (copy.work / "large").samefile(large)


def test_a_directory_that_the_snapshot_lacks_is_told(desk: Desk) -> None:
    copy = OwnCopy(desk.scratch / "jobs/own", submitted(desk, "true", directory="missing"), 0)
    copy.restore(desk.context, desk.notify)
    with pytest.raises(JobNotStarted, match="there is no `missing`"):
        _ = copy.directory
