"""What a removal says of jobs that still need something: which, and what ends them."""

from __future__ import annotations

import pytest

from scratchflow.flows.setup.removal.in_use import InUse, jobs_left, only_after, who_uses_agent
from scratchflow.model.profile import Profile
from scratchflow.model.results.status import ElsewhereShown, JobsShown, SubmittedOpen

HELD = ElsewhereShown(profile="lab", job_id=45, state="running", node="n2")
WAITS = SubmittedOpen(job_id=37, waits=True)


def test_without_jobs_there_is_nothing_to_say() -> None:
    nothing = InUse.of(JobsShown(jobs=[]))
    assert not nothing
    assert [*who_uses_agent(nothing, ()), *jobs_left(nothing, "uni", "aws", {})] == []


@pytest.mark.parametrize("shown", [{"elsewhere": [HELD]}, {"submitted": [WAITS]}])
def test_a_held_node_or_a_submitted_job_is_in_use(
    shown: dict[str, list[ElsewhereShown | SubmittedOpen]],
) -> None:
    assert InUse.of(JobsShown(jobs=[], **shown))  # type: ignore[arg-type]


def test_jobs_that_wait_use_the_agent_when_they_start() -> None:
    two = InUse((), [WAITS, SubmittedOpen(job_id=38, waits=True)])
    assert [*who_uses_agent(two, ())] == ["jobs 37, 38 use it when they start"]


@pytest.mark.parametrize(
    ("login", "others", "how"),
    [
        ("aws", {}, "`scratchflow -p uni cancel 37`, or `ssh aws scancel 37`"),
        ("aws", {"far": "lab"}, "`scratchflow -p uni cancel 37`, or `ssh aws scancel 37`"),
        ("aws", {"gpu": "aws"}, "`ssh aws scancel 37`"),
        ("local", {}, "`scratchflow -p uni cancel 37`, or `scancel 37`"),
    ],
)
def test_cancel_is_offered_where_only_this_profile_can_have_submitted_it(
    login: str, others: dict[str, str], how: str
) -> None:
    profiles = {name: Profile(login=other) for name, other in others.items()}
    (left,) = jobs_left(InUse((), [WAITS]), "uni", login, profiles)
    assert left.how == how


@pytest.mark.parametrize(
    ("saves", "may_need", "text"),
    [
        ([], [], ""),
        ([45], [], "only when job 45 has ended, which saves there: "),
        ([45, 46], [], "only when jobs 45, 46 have ended, which save there: "),
        (
            [45],
            [37],
            "only when job 45 has ended, which saves there, and job 37 has ended, which may need it: ",
        ),
    ],
)
def test_the_jobs_that_must_have_ended_stand_before_a_command(
    saves: list[int], may_need: list[int], text: str
) -> None:
    assert only_after(saves, may_need) == text
