"""`setup`: what it finds on a cluster, what it proposes, what it wrote or removed."""

import msgspec

from scratchflow.model.results.base import Result
from scratchflow.model.results.checks import Check
from scratchflow.model.results.up import UpAndRunning


class PartitionSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A partition as `setup` proposes it; None is no limit."""

    name: str
    is_default: bool
    max_time_s: int | None
    # Of its largest node; 0 when nobody can tell.
    most_cpus: int = 0
    most_gpus: int = 0


class PlaceSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A directory that could be the store or the scratch, as a profile would write it."""

    path: str
    free_bytes: int
    file_system: str
    # Whether other hosts see it too: True for a network file system, None when nobody can tell.
    is_shared: bool | None
    # What the user's quota leaves there; None when there is none, or nobody can tell.
    quota_left_bytes: int | None = None

    @property
    def room_bytes(self) -> int:
        """What can still be written: the smaller one of free space and quota."""
        quota = self.quota_left_bytes
        return self.free_bytes if quota is None else min(self.free_bytes, quota)


class Surveyed(Result, frozen=True):
    """`survey`: what `setup` proposes a profile from."""

    user: str
    home: str
    cluster: str
    partitions: list[PartitionSeen]
    stores: list[PlaceSeen]
    scratches: list[PlaceSeen]
    # Slurm's own word for the nodes' temporary directory; empty when it does not answer.
    node_tmp: str = ""
    # What the node of a job of the user's, which runs now, has for a scratch; the best first.
    job_id: int | None = None
    in_job: list[PlaceSeen] = []
    # The script that sets `$SLURM_TMPDIR` in every job, if Slurm names one and it can be read.
    tmpdir_prolog: str = ""
    slurm_problem: str = ""
    has_slurm: bool = True
    # The host's own name, and which of the marks that were asked about it has.
    host: str = ""
    variables: list[str] = []
    directories: list[str] = []
    # Of the places that were asked about: those in a directory of the user's own.
    site_stores: list[PlaceSeen] = []
    # What Slurm says to a job without an account; empty when it takes one. And the accounts that there are.
    account_refusal: str = ""
    accounts: list[str] = []


class SetupValue(msgspec.Struct, frozen=True, kw_only=True):
    """One value of the profile, and why it is this one."""

    key: str
    value: str
    reason: str


class ClusterSetUp(Result, frozen=True):
    """`setup`: what was written where, and whether it works."""

    profile: str
    login: str
    reached_by: str
    agent: str
    python: str
    config_diff: str
    ssh_config_diff: str
    checks: list[Check]
    values: list[SetupValue] = []
    # What it has in common with other profiles, in words.
    shared: list[str] = []
    is_default: bool = True
    default_profile: str = ""
    # What `up` did after it, if that was wanted.
    up: UpAndRunning | None = None
    # In a dry run: what `up` would ask Slurm for.
    command: str = ""
    dry_run: bool = False
    # Whose facts were used for the proposal; empty for a site that nobody knows.
    site: str = ""


class StorageOfSite(msgspec.Struct, frozen=True, kw_only=True):
    """What persists where, and who says so; `backed_up` is empty when that is not known."""

    place: str
    lasts: str
    backed_up: str
    source: str


class SiteShown(msgspec.Struct, frozen=True, kw_only=True):
    """What `setup` knows of a site before it looks."""

    name: str
    title: str
    summary: str
    known_by: list[str]
    values: list[SetupValue]
    # Places for the store, the best first.
    stores: list[str]
    # Why a job needs an account there; empty when it needs none.
    account: str
    storage: list[StorageOfSite]
    remarks: list[str]


class SitesListed(Result, frozen=True):
    """`setup --list-sites`."""

    sites: list[SiteShown]


class HostsListed(Result, frozen=True):
    """`setup --list-hosts`: the hosts that the ssh config names, for a choice of login hosts; with LOGIN that one alone."""

    hosts: list[str]


class LeftBehind(msgspec.Struct, frozen=True, kw_only=True):
    """Something that `setup --remove` leaves, and how to remove it."""

    what: str
    how: str
    # Notes and caches: nothing that anybody would miss.
    is_small: bool = False


class SetupRemoved(Result, frozen=True):
    """`setup --remove`."""

    ssh_config_diff: str
    agent_removed: bool
    # What stays because another profile or a job uses it, in words.
    kept: list[str] = []
    # What was removed, or in a dry run would be, in words.
    removes: list[str] = []
    left: list[LeftBehind] = []
    dry_run: bool = False
