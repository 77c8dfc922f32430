"""What is in use when `setup --remove` runs, and what to say of it: jobs that need the agent or a store, and places of other profiles."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import msgspec

from scratchflow.config.settings import LOCAL
from scratchflow.model.profile import PATH_NAME, Profile
from scratchflow.model.results.setup import LeftBehind
from scratchflow.model.results.status import (
    AllocationShown,
    ElsewhereShown,
    JobsShown,
    SubmittedOpen,
)
from scratchflow.workspace.workspace import STATE_NAME

# What submitted jobs and `jobs debug` have beneath scratch.
COPIES_OF_JOBS = ("jobs", "debug")


class InUse(msgspec.Struct, frozen=True):
    """Nodes that other profiles hold, and submitted jobs that wait or run."""

    held: Sequence[ElsewhereShown] = ()
    submitted: Sequence[SubmittedOpen] = ()

    def __bool__(self) -> bool:
        return bool(self.held or self.submitted)

    @property
    def numbers(self) -> list[int | None]:
        """Of all of them."""
        return [*(job.job_id for job in self.held), *(job.job_id for job in self.submitted)]

    @staticmethod
    def of(shown: JobsShown) -> InUse:
        """As the login host told it."""
        return InUse(shown.elsewhere, shown.submitted)


def who_uses_agent(in_use: InUse, known: Container[str]) -> Iterator[str]:
    """`known` are the profiles of this machine. One text for each held node, and one each for the submitted jobs that wait and that run."""
    for job in in_use.held:
        used = f"job {job.job_id} of profile `{job.profile}` uses it"
        comma = "" if job.profile in known else ","
        yield f"{used}; {_clear(job, known)}{comma} saves its workspace and ends it"
    waiting = [job for job in in_use.submitted if job.waits]
    running = [job for job in in_use.submitted if not job.waits]
    if waiting:
        starts = "it starts" if len(waiting) == 1 else "they start"
        yield f"{_jobs(waiting)} {_use(waiting)} it when {starts}"
    if running:
        yield f"{_jobs(running)} {_use(running)} it"


def own_too(jobs: Sequence[AllocationShown]) -> Iterator[str]:
    """Further jobs of the profile itself."""
    for job in jobs:
        yield f"job {job.job_id} of this profile {_has(job.node)} too"


def _has(node: str | None) -> str:
    return f"holds `{node}`" if node else "waits for a node"


def who_holds_too(held: Sequence[ElsewhereShown], known: Container[str]) -> Iterator[str]:
    """What else has to be given back, told at once and not one refusal after the other."""
    for job in held:
        holder = f"job {job.job_id} of profile `{job.profile}`"
        yield f"{holder} {_has(job.node)} too: {_clear(job, known)}"


def jobs_left(
    in_use: InUse, name: str, login: str, others: Mapping[str, Profile]
) -> Iterator[LeftBehind]:
    """The jobs themselves and how to end them."""
    for job in in_use.held:
        where = f", on {job.node}" if job.node else ", which waits in Slurm's queue"
        yield LeftBehind(
            what=f"job {job.job_id} of profile `{job.profile}`{where}",
            how=f"{_clear(job, others)}: after a last backup",
        )
    if in_use.submitted:
        numbers = " ".join(str(job.job_id) for job in in_use.submitted)
        scancel = f"`scancel {numbers}`" if login == LOCAL else f"`ssh {login} scancel {numbers}`"
        # The name of a submitted job does not tell its profile, and `cancel` finds those of one profile.
        is_alone = all(profile.login != login for profile in others.values())
        cancel = f"`scratchflow -p {name} cancel {numbers}`, or " if is_alone else ""
        waits = all(job.waits for job in in_use.submitted)
        state = "in Slurm's queue" if waits else "in Slurm's queue or running"
        yield LeftBehind(
            what=f"submitted {_jobs(in_use.submitted)}, {state}", how=f"{cancel}{scancel}"
        )


def _clear(job: ElsewhereShown, known: Container[str]) -> str:
    if job.profile in known:
        return f"`scratchflow -p {job.profile} clear`"
    where = "with the FILE that has this profile, here or on another machine"
    return f"`scratchflow --config FILE -p {job.profile} clear`, {where}"


def only_after(saves: Sequence[int | None], may_need: Sequence[int | None]) -> str:
    """What stands before a command that removes data: the jobs that must have ended; empty without any."""
    ends = [
        f"{_numbered(jobs)} {'has' if len(jobs) == 1 else 'have'} ended, which {why}"
        for jobs, why in (
            (saves, f"save{'s' * (len(saves) == 1)} there"),
            (may_need, "may need it"),
        )
        if jobs
    ]
    return f"only when {', and '.join(ends)}: " if ends else ""


def _jobs(jobs: Sequence[SubmittedOpen]) -> str:
    return _numbered([job.job_id for job in jobs])


def _numbered(jobs: Sequence[int | None]) -> str:
    return f"job{'s' * (len(jobs) > 1)} {', '.join(map(str, jobs))}"


def _use(jobs: Sequence[SubmittedOpen]) -> str:
    return "uses" if len(jobs) == 1 else "use"


def users_of(path: str, login: str, others: Mapping[str, Profile]) -> list[str]:
    """The profiles that have it, something in it or something above it, on that login host or its nodes.

    Profiles may write one place in several ways. Only the cluster knows what names in a path mean, so in doubt a place is in use.
    """
    return [
        name
        for name, profile in others.items()
        if profile.login == login and any(_may_overlap(path, theirs) for theirs in _places(profile))
    ]


def still_used(names: Sequence[str], asked: str = "") -> str:
    """What is said in place of a command that removes it; `asked` is a cluster's profile to ask, else the first of them."""
    command = f"`scratchflow -p {asked or names[0]} setup --remove --all`"
    return f"still used by {profiles_named(names)}; {command} says how to remove it"


def unless_used(names: Sequence[str]) -> str:
    """What stands before a command that removes what may be theirs: no profile says whose it is. Empty without any."""
    does = "does" if len(names) == 1 else "do"
    return f"only if {profiles_named(names)} {does} not use it: " if names else ""


def profiles_named(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"profile{'s' * (len(quoted) > 1)} {' and '.join(quoted)}"


def _places(profile: Profile) -> Iterator[str]:
    """Its snapshots, and what it has on scratch."""
    yield beneath(profile.store, profile.workspace)
    for name in (profile.workspace, f"{STATE_NAME}/{profile.workspace}", *COPIES_OF_JOBS):
        yield beneath(profile.scratch, name)
    yield from saved_and_environments(profile)


def saved_and_environments(profile: Profile) -> list[str]:
    """Where is what is saved with its workspace, and its environments, wherever that is."""
    layers = profile.environment
    # A conda environment without a `/` is one that conda knows by its name.
    conda = layers.conda if "/" in layers.conda else ""
    paths = [path for path in (*profile.backup.also, layers.venv, conda) if path]
    return [beneath(profile.scratch, path).rstrip("/") for path in paths]


def beneath(directory: str, path: str) -> str:
    """Where a path of a profile is: beneath that directory, unless it says itself where."""
    is_whole = path.startswith(("/", "~", "$"))
    return path if is_whole else f"{directory.rstrip('/')}/{path.removeprefix('./')}"


def _may_overlap(one: str, other: str) -> bool:
    return may_hold(one, other) or may_hold(other, one)


def may_hold(above: str, path: str) -> bool:
    """Whether the path is that directory or in it, whatever the names in either mean."""
    pattern, end = "", 0
    text = _with_tilde(above)
    for name in PATH_NAME.finditer(text):
        anything = "[^/]+" if "USER" in name.groups() else ".+"
        pattern += re.escape(text[end : name.start()]) + anything
        end = name.end()
    pattern += re.escape(text[end:])
    return re.fullmatch(f"{pattern}(/.*)?", _with_tilde(path)) is not None


def _with_tilde(path: str) -> str:
    return re.sub(r"^\$(?:HOME\b|\{HOME\})", "~", path.rstrip("/"))
