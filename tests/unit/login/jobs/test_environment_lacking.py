"""A job whose snapshot has not the profile's environment is refused: it would fail at once, after its time in the queue."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.login.jobs.rerun import rerun_job
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.jobs import JobLacksEnvironment
from scratchflow.model.profile import BackupOptions, EnvironmentOptions
from scratchflow.model.requests import RerunJob, Submit
from tests.unit.login.jobs.conftest import Cluster

COMMAND = Submit(command=("true",))


def use(cluster: Cluster, also: list[str], **layers: Any) -> None:
    profile = msgspec.structs.replace(
        cluster.profile,
        environment=EnvironmentOptions(**layers),
        backup=BackupOptions(also=also),
    )
    cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)


def refused(cluster: Cluster, asked: Submit | RerunJob) -> JobLacksEnvironment:
    before = [*cluster.desk.scratch.parent.rglob("job.json")]
    with pytest.raises(JobLacksEnvironment) as caught:
        _ = (
            submit(cluster.login, asked)
            if isinstance(asked, Submit)
            else rerun_job(cluster.login, asked)
        )
    assert [*cluster.desk.scratch.parent.rglob("job.json")] == before, "nothing is left of it"
    return caught.value


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_environment_that_is_saved_since_then_is_missed(cluster: Cluster, dry_run: bool) -> None:
    job = submit(cluster.login, COMMAND).job
    use(cluster, ["env"], venv="./env")
    error = refused(cluster, RerunJob(wanted=job, dry_run=dry_run))
    assert str(error).endswith("from which it would run, has no `./env` (`environment.venv`)")
    now = f"`scratchflow jobs rerun --current {job}` runs it from the workspace as it is now"
    assert error.shown_hint == now


def test_one_that_no_backup_takes_is_to_be_saved_first(cluster: Cluster) -> None:
    job = submit(cluster.login, COMMAND).job
    use(cluster, [], conda="./envs/a")
    error = refused(cluster, RerunJob(wanted=job))
    assert "has no `./envs/a` (`environment.conda`)" in str(error)
    saved = "backup.also '[\"envs\"]'` saves it with the workspace; after that, `scratch"
    assert saved in error.shown_hint


def test_a_new_job_is_refused_as_well(cluster: Cluster) -> None:
    use(cluster, ["env"], venv="env")
    assert "`backup.exclude` leaves it out" in refused(cluster, COMMAND).shown_hint
    of_this = msgspec.structs.replace(COMMAND, snapshot=cluster.snapshot, dry_run=True)
    assert "has no `env`" in str(refused(cluster, of_this))


def test_of_a_snapshot_that_is_yet_to_be_taken_nobody_knows(cluster: Cluster) -> None:
    use(cluster, ["env"], venv="env")
    assert submit(cluster.login, msgspec.structs.replace(COMMAND, dry_run=True)).dry_run


@pytest.mark.parametrize(
    "layers",
    [
        {},
        {"venv": "work/.venv"},
        {"venv": "work/linked/env"},
        {"venv": "/shared/env"},
        {"venv": "~/env"},
        {"conda": "torch"},
    ],
)
def test_what_it_has_or_nobody_knows_is_not_missed(
    cluster: Cluster, layers: dict[str, str]
) -> None:
    use(cluster, [], **layers)
    cluster.desk.write("work/.venv/bin/activate")
    (cluster.desk.work / "linked").symlink_to("/shared")
    cluster.desk.backup()
    job = submit(cluster.login, COMMAND).job
    assert rerun_job(cluster.login, RerunJob(wanted=job)).number


def test_a_snapshot_of_now_is_not_looked_at(cluster: Cluster) -> None:
    job = submit(cluster.login, COMMAND).job
    use(cluster, ["env"], venv="env")
    assert rerun_job(cluster.login, RerunJob(wanted=job, snapshot=cluster.snapshot)).number
    refused(cluster, RerunJob(wanted=job, newest=True))
