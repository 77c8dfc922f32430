"""`jobs prune`: only what has ended and is old goes, and never by itself what a job has made."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.login.jobs import prune as module
from scratchflow.login.jobs.prune import prune_jobs
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.job import TaskRecord
from scratchflow.model.requests import PruneJobs, Submit
from scratchflow.store.jobs.given_up import read_given_up
from scratchflow.store.jobs.records import job_directory, job_ids, read_job, write_job, write_task
from tests.unit.login.jobs.conftest import Cluster

LONG_AGO = "2020-01-01T00:00:00Z"
OWN = TaskRecord(task=0, job_id=1, node="n1", phase="ended", start="", end=LONG_AGO, code=0)


def ended(cluster: Cluster, *, state: str = "COMPLETED", own: TaskRecord | None = OWN) -> str:
    """An old job that has ended so."""
    done = submit(cluster.login, Submit(command=("true",)))
    place = cluster.desk.place
    record = read_job(place, done.job)
    assert record is not None
    write_job(place, msgspec.structs.replace(record, time=LONG_AGO))
    cluster.fake.jobs[done.number or 0].state = state
    cluster.fake.jobs[done.number or 0].start = 1
    if own is not None:
        write_task(place, done.job, own)
    return done.job


def made(cluster: Cluster, job: str) -> None:
    directory = job_directory(cluster.desk.place, job).outputs(0)
    directory.mkdir(parents=True)
    (directory / "x").write_text("result")


def test_old_ones_go_and_new_ones_stay(cluster: Cluster) -> None:
    old = ended(cluster)
    new = submit(cluster.login, Submit(command=("true",)))
    cluster.fake.jobs[new.number or 0].state = "COMPLETED"
    foreseen = prune_jobs(cluster.login, PruneJobs(dry_run=True))
    assert sorted(job_ids(cluster.desk.place)) == sorted([old, new.job])
    done = prune_jobs(cluster.login, PruneJobs())
    assert [one.job for one in foreseen.removed] == [one.job for one in done.removed] == [old]
    assert job_ids(cluster.desk.place) == [new.job]
    # The other job runs from the same snapshot.
    assert done.unneeded_snapshots == []
    done = prune_jobs(cluster.login, PruneJobs(wanted=(new.job,)))
    assert done.unneeded_snapshots == [cluster.snapshot]


@pytest.mark.parametrize(
    ("state", "own", "why"),
    [
        ("RUNNING", OWN, "has not ended"),
        ("PENDING", None, "has not ended"),
        ("FAILED", msgspec.structs.replace(OWN, not_collected=["x: full"]), "may be on `n1`"),
        ("NODE_FAIL", msgspec.structs.replace(OWN, phase="running"), "without a word"),
    ],
)
def test_what_is_open_or_not_saved_stays(
    cluster: Cluster, state: str, own: TaskRecord | None, why: str
) -> None:
    job = ended(cluster, state=state, own=own)
    done = prune_jobs(cluster.login, PruneJobs(outputs=True))
    assert ([one.job for one in done.removed], done.kept[0].job) == ([], job)
    assert why in done.kept[0].why
    assert job_ids(cluster.desk.place) == [job]


def test_what_a_job_made_goes_only_when_that_is_said(cluster: Cluster) -> None:
    job = ended(cluster)
    made(cluster, job)
    assert "it made 1 file" in prune_jobs(cluster.login, PruneJobs()).kept[0].why
    with pytest.raises(JobNotReady, match="it made 1 file"):
        prune_jobs(cluster.login, PruneJobs(wanted=(job,)))
    assert (job_directory(cluster.desk.place, job).outputs(0) / "x").read_text() == "result"
    done = prune_jobs(cluster.login, PruneJobs(outputs=True))
    assert (done.removed[0].output_files, done.removed[0].output_bytes) == (1, 6)
    assert job_ids(cluster.desk.place) == []


def test_one_that_is_named_twice_goes_once(cluster: Cluster) -> None:
    job = ended(cluster)
    done = prune_jobs(cluster.login, PruneJobs(wanted=(job, job[-6:])))
    assert [one.job for one in done.removed] == [job]


def test_what_nobody_will_save_any_more_can_be_given_up_by_name(cluster: Cluster) -> None:
    job = ended(cluster, own=msgspec.structs.replace(OWN, not_collected=["x: full"]))
    with pytest.raises(JobNotReady) as refused:
        prune_jobs(cluster.login, PruneJobs(wanted=(job,)))
    assert "--outputs` gives it up" in refused.value.shown_hint
    prune_jobs(cluster.login, PruneJobs(wanted=(job,), outputs=True))
    assert job_ids(cluster.desk.place) == []


def test_what_is_given_up_is_noted_for_the_next_job_on_its_node_and_told(cluster: Cluster) -> None:
    own = msgspec.structs.replace(OWN, job_id=5, not_collected=["x: full"])
    job = ended(cluster, own=own)
    named = PruneJobs(wanted=(job,), outputs=True)
    foreseen = prune_jobs(cluster.login, msgspec.structs.replace(named, dry_run=True))
    assert read_given_up(cluster.desk.place, job, 0, "n1") is None
    (gone,) = prune_jobs(cluster.login, named).removed
    assert foreseen.removed == [gone]
    assert (gone.given_up, gone.given_up_on) == (True, ["n1"])
    assert "on `n1` is given up: the next job there removes it" in gone.rest
    assert "--nodelist=n1 -- true`" in gone.rest
    noted = read_given_up(cluster.desk.place, job, 0, "n1")
    assert noted is not None
    assert (noted.number, noted.shown) == (5, str(gone.number))


def test_one_that_is_saved_leaves_no_note(cluster: Cluster) -> None:
    job = ended(cluster)
    (gone,) = prune_jobs(cluster.login, PruneJobs(wanted=(job,), outputs=True)).removed
    assert (gone.given_up, gone.given_up_on, gone.rest) == (False, [], "")
    assert not (cluster.desk.place.directory / "jobs/given-up").exists()


def test_what_was_not_shown_as_given_up_stays(cluster: Cluster) -> None:
    """A job may have found something on a node since it was asked for a yes."""
    job = ended(cluster, own=msgspec.structs.replace(OWN, not_collected=["x: full"]))
    with pytest.raises(JobNotReady, match="not all that it made is saved"):
        prune_jobs(cluster.login, PruneJobs(wanted=(job,), outputs=True, given_up=()))
    prune_jobs(cluster.login, PruneJobs(wanted=(job,), outputs=True, given_up=(job,)))
    assert job_ids(cluster.desk.place) == []


def test_killed_before_the_record_is_gone_it_is_listed_yet(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    job = ended(cluster, own=msgspec.structs.replace(OWN, not_collected=["x: full"]))
    monkeypatch.setattr(module, "remove_job", killed)
    with pytest.raises(KeyboardInterrupt):
        prune_jobs(cluster.login, PruneJobs(wanted=(job,), outputs=True))
    assert job_ids(cluster.desk.place) == [job]
    assert read_given_up(cluster.desk.place, job, 0, "n1") is not None


def test_of_files_that_cannot_be_read_the_refusal_says_where_they_are_and_what_opens_them(
    cluster: Cluster,
) -> None:
    closed = ["outputs/x: Permission denied"]
    own = msgspec.structs.replace(OWN, not_collected=closed, directory="/scratch/a/jobs/j-0")
    job = ended(cluster, own=own)
    with pytest.raises(JobNotReady) as refused:
        prune_jobs(cluster.login, PruneJobs(wanted=(job,)))
    hint = refused.value.shown_hint
    assert "it is in `/scratch/a/jobs/j-0` on `n1`" in hint
    assert "--nodelist=n1 -- find /scratch/a/jobs/j-0 -not -perm" in hint


def test_nothing_goes_while_slurm_does_not_answer(cluster: Cluster) -> None:
    job = ended(cluster)
    cluster.fake.up = False
    with pytest.raises(SlurmUnreachable):
        prune_jobs(cluster.login, PruneJobs())
    assert job_ids(cluster.desk.place) == [job]


def test_one_with_a_damaged_record_of_a_task_goes_only_when_it_is_given_up(
    cluster: Cluster,
) -> None:
    old = ended(cluster)
    job_directory(cluster.desk.place, old).task(0).write_text("{")
    (kept,) = prune_jobs(cluster.login, PruneJobs()).kept
    assert "cannot be read" in kept.why
    with pytest.raises(JobNotReady, match="cannot be read"):
        prune_jobs(cluster.login, PruneJobs(wanted=(old,)))
    done = prune_jobs(cluster.login, PruneJobs(wanted=(old,), outputs=True))
    assert [one.job for one in done.removed] == [old]


RUNNING = msgspec.structs.replace(OWN, phase="running", code=None, end=None)


@pytest.mark.parametrize(
    ("state", "own"),
    [
        ("FAILED", RUNNING),  # as when the store is away on its node
        ("NODE_FAIL", RUNNING),
        ("TIMEOUT", msgspec.structs.replace(RUNNING, code=0)),
        ("FAILED", msgspec.structs.replace(OWN, code=None, error="full", left_on=["n1"])),
    ],
)
def test_one_of_which_something_may_lie_on_a_node_goes_only_when_it_is_given_up(
    cluster: Cluster, state: str, own: TaskRecord
) -> None:
    job = ended(cluster, state=state, own=own)
    with pytest.raises(JobNotReady, match="may be on `n1`") as refused:
        prune_jobs(cluster.login, PruneJobs(wanted=(job,)))
    hint = refused.value.shown_hint
    assert "--nodelist=n1 -- true` saves it" in hint or "the next job there saves it" in hint
    assert "--outputs` gives it up" in hint
    assert job_ids(cluster.desk.place) == [job]
    prune_jobs(cluster.login, PruneJobs(wanted=(job,), outputs=True))
    assert job_ids(cluster.desk.place) == []


@pytest.mark.parametrize(
    "own",
    [
        msgspec.structs.replace(RUNNING, saved_on=["n1"]),  # the next job there has saved it
        msgspec.structs.replace(RUNNING, goes_with_job=True),
        msgspec.structs.replace(OWN, goes_with_job=True, not_collected=["x: Permission denied"]),
        msgspec.structs.replace(RUNNING, phase="restoring"),  # its command never ran
    ],
)
def test_one_that_has_left_nothing_on_a_node_goes(cluster: Cluster, own: TaskRecord) -> None:
    job = ended(cluster, state="FAILED", own=own)
    assert [one.job for one in prune_jobs(cluster.login, PruneJobs(wanted=(job,))).removed] == [job]
