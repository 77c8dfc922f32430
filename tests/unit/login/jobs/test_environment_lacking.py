"""`jobs rerun` says at once when the snapshot of the job has no such environment."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.login.jobs.rerun import rerun_job
from scratchflow.login.jobs.submit import submit
from scratchflow.model.events import Warned
from scratchflow.model.profile import BackupOptions, EnvironmentOptions
from scratchflow.model.requests import RerunJob, Submit
from tests.unit.login.jobs.conftest import Cluster

LACKS = "has no `{}` (`environment.{}`): the job will fail"


def use(cluster: Cluster, also: list[str], **layers: Any) -> None:
    profile = msgspec.structs.replace(
        cluster.profile,
        environment=EnvironmentOptions(**layers),
        backup=BackupOptions(also=also),
    )
    cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)


def said(cluster: Cluster, **asked: Any) -> list[str]:
    job = submit(cluster.login, Submit(command=("true",))).job
    cluster.said.clear()
    rerun_job(cluster.login, RerunJob(wanted=job, **asked))
    events = [event for event in cluster.said if isinstance(event, Warned)]
    return [event.message.replace(job, "JOB") for event in events]


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_environment_that_is_saved_since_then_is_missed(cluster: Cluster, dry_run: bool) -> None:
    use(cluster, ["env"], venv="./env")
    (message,) = said(cluster, dry_run=dry_run)
    assert LACKS.format("./env", "venv") in message
    assert message.endswith(
        "fail. `scratchflow jobs rerun --current JOB` runs it from the workspace as it is now"
    )


def test_one_that_no_backup_takes_is_to_be_saved_first(cluster: Cluster) -> None:
    use(cluster, [], conda="./envs/a")
    (message,) = said(cluster)
    assert LACKS.format("./envs/a", "conda") in message
    assert "backup.also '[\"envs\"]'` saves it with the workspace; after that, `scratch" in message


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
    assert said(cluster) == []


def test_a_snapshot_of_now_is_not_looked_at(cluster: Cluster) -> None:
    use(cluster, ["env"], venv="env")
    assert said(cluster, snapshot=cluster.snapshot) == []
    assert said(cluster, newest=True)
