"""Passes a request from the login host to the node of the profile's job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import msgspec

from scratchflow.agent.request import asking
from scratchflow.agent.upload import unframed
from scratchflow.cluster.slurm.client import Slurm, this_slurm
from scratchflow.cluster.slurm.jobs import our_jobs
from scratchflow.cluster.this_host import home_of, node_name
from scratchflow.config.settings import Settings
from scratchflow.dispatch.every_node import naming_node, on_every_node
from scratchflow.dispatch.located import with_store_found
from scratchflow.dispatch.mirroring import start_mirroring
from scratchflow.dispatch.operations import do_here
from scratchflow.login.status.copy_looks import copies_differ
from scratchflow.model.allocation import RunningAllocation, with_node
from scratchflow.model.errors.hop import HopUnderWay
from scratchflow.model.errors.workspace import (
    CloneFailed,
    SourceUnusable,
    WorkspaceMissing,
    WorkspaceNotEmpty,
)
from scratchflow.model.events import Emit, Log, Warned
from scratchflow.model.profile import to_plain
from scratchflow.model.requests import (
    EVERY_NODE,
    FIRST,
    Arguments,
    Backup,
    Create,
    DryRun,
    KnownJob,
    Restore,
    StoreSeen,
    Where,
)
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.results.base import Result
from scratchflow.model.results.by_op import result_of
from scratchflow.node.same_store import store_seen_here
from scratchflow.process.parallel import Meanwhile
from scratchflow.reach.job_scratch import scratch_of_job
from scratchflow.reach.node import node_transport, steps_overlap
from scratchflow.reach.node_agent import ask_node, require_allocation, require_node_of
from scratchflow.ssh.transport.base import Feed
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.freshness import growing
from scratchflow.store.directory import find_place
from scratchflow.store.identity import read_store_id
from scratchflow.store.known import take_back_new
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.workspace import expand


def relay(
    settings: Settings,
    do: str,
    arguments: Arguments,
    environment: Mapping[str, str],
    emit: Emit,
    *,
    where: Where = FIRST,
    verbose: bool,
    feed: Feed | None = None,
) -> Result:
    """Runs it on the node of the profile's allocation; AllocationMissing without one.

    `where` may say of which job, or on which of its nodes. `feed` goes to the agent there as it comes.
    """
    settings = with_store_found(settings, environment)
    slurm = this_slurm(environment)
    Meanwhile(lambda: steps_overlap(environment), "look-srun")  # `node_transport` will want to know
    held = require_allocation(slurm, settings.name, home_of(environment), where.job_id)
    passing = _Passing(settings, do, environment, verbose, feed)
    try:
        return _relayed(passing, arguments, held, where, emit)
    finally:  # also when it failed late: a snapshot may have been taken
        start_mirroring(do, settings, environment)


def _relayed(
    passing: _Passing, arguments: Arguments, held: RunningAllocation, where: Where, emit: Emit
) -> Result:
    settings, environment = passing.settings, passing.environment
    slurm = this_slurm(environment)
    if where.node == EVERY_NODE and len(held.nodes) > 1:
        return passing.to_all(held, arguments, emit)
    if where.node and where.node != EVERY_NODE:
        several = len(held.nodes) > 1
        held = held.on(require_node_of(held, where.node))
        emit = naming_node(held.node, emit) if several else emit
    _tell_of_the_others(arguments, held, emit)
    with _telling_of_a_move(slurm, settings.name, held):
        done = passing.to(held, arguments, emit)
    is_asked = isinstance(arguments, Backup) and arguments.purpose == "asked"
    if not isinstance(done, BackupTaken) or not is_asked or len(held.nodes) < 2:
        return done
    return _with_copies(done, settings, held, environment, emit)


def relay_to_all(
    held: RunningAllocation,
    settings: Settings,
    do: str,
    arguments: Arguments,
    environment: Mapping[str, str],
    emit: Emit,
    *,
    verbose: bool,
) -> Result:
    """Runs it on every node of this allocation at once."""
    passing = _Passing(settings, do, environment, verbose)
    return passing.to_all(held, arguments, emit)


@contextmanager
def _telling_of_a_move(slurm: Slurm, profile: str, held: RunningAllocation) -> Iterator[None]:
    """A workspace that is missing in the younger of two jobs is on its way there."""
    try:
        yield
    except WorkspaceMissing as error:
        older = [job for job in with_node(our_jobs(slurm, profile)) if job.job_id < held.job_id]
        if not older:
            raise
        moving = HopUnderWay(old_node=older[-1].node, node=held.node, job_id=held.job_id)
        raise moving from error


def _tell_of_the_others(arguments: Arguments, held: RunningAllocation, emit: Emit) -> None:
    """A dry run of a restore looks at the first node alone, and the restore itself goes to all."""
    others = held.nodes[1:]
    if not others or not isinstance(arguments, Restore) or not arguments.dry_run:
        return
    if not (arguments.to or arguments.source or arguments.abandon):
        names = ", ".join(f"`{node}`" for node in others)
        message = f"what follows is of `{held.node}` alone; {names} would get the same snapshot"
        emit(Log(level="info", message=message))


def _with_copies(
    done: BackupTaken,
    settings: Settings,
    held: RunningAllocation,
    environment: Mapping[str, str],
    emit: Emit,
) -> BackupTaken:
    """What a backup did not save: the copies of the allocation's further nodes, and which of them differ."""
    from scratchflow.login.copies import look_at_copies

    copies = look_at_copies(settings, held, environment)
    for problem in copies_differ(copies):
        emit(Warned(code=problem.name, message=f"{problem.detail}; {problem.fix}"))
    for copy in copies:
        if copy.exists and copy.changed is None:
            message = f"`{copy.node}` was not looked at: {copy.reason}"
            emit(Warned(code="nodes.not_looked_at", message=message))
    return msgspec.structs.replace(done, copies=copies)


class _Passing(msgspec.Struct, frozen=True):
    """One operation on its way to a node, or to several of them."""

    settings: Settings
    do: str
    environment: Mapping[str, str]
    verbose: bool
    feed: Feed | None = None

    def to(self, held: RunningAllocation, arguments: Arguments, emit: Emit) -> Result:
        """Here, if this is the node of the allocation; else there."""
        if held.node != node_name(self.environment):
            return self.there(held, arguments, emit)
        return do_here(
            self.do,
            self.settings,
            arguments,
            emit,
            wants_items=self.verbose,
            received=unframed(self.feed) if self.feed else None,
            job=KnownJob(held.name, self._scratch(held, emit)),
        )

    def to_all(self, held: RunningAllocation, arguments: Arguments, emit: Emit) -> Result:
        """On every node of the allocation at once."""
        if len(held.nodes) == 1:
            return self.to(held, arguments, emit)

        def ask(node: str, asked: Arguments, tell: Emit) -> Result:
            return self.there(held.on(node), asked, tell)

        alone = _may_change_the_newest(self.settings, self.environment, held.nodes)
        return on_every_node(held.nodes, arguments, ask, emit, first_alone=alone)

    def there(self, held: RunningAllocation, arguments: Arguments, emit: Emit) -> Result:
        """What the agent on the node of this allocation answers."""
        settings, do, environment = self.settings, self.do, self.environment
        kind = result_of(do)
        request = asking(
            do,
            msgspec.to_builtins(arguments),
            profile_name=settings.name,
            profile=to_plain(settings.profile),
            verbose=self.verbose,
        )
        request = msgspec.structs.replace(
            request,
            feeds=self.feed is not None,
            job_name=held.name,
            scratch=self._scratch(held, emit),
        )
        there = node_transport(held, settings.name, environment)
        with (
            _keeping_no_empty_store(settings, arguments, environment),
            _growing_for(settings, do, environment) as name,
        ):
            seen = _store_seen(settings, do, arguments, environment, emit)
            if seen is not None:
                seen = msgspec.structs.replace(seen, grows=name)
            request = msgspec.structs.replace(request, store_seen=seen)
            slurm = this_slurm(environment)
            data = ask_node(there, request, emit, settings, slurm, self.feed)
        return msgspec.convert(data, kind)

    def _scratch(self, held: RunningAllocation, emit: Emit) -> str:
        slurm = this_slurm(self.environment)
        return scratch_of_job(self.settings, held, self.environment, slurm, emit)


def _may_change_the_newest(
    settings: Settings, environment: Mapping[str, str], nodes: Sequence[str]
) -> bool:
    """Whether what one node does first may decide what the others are to have.

    It makes the first snapshot, or there are copies: what is saved of them before a restore is newer than what is restored.
    """
    place = find_place(expand(settings.profile.store, environment), settings.profile.workspace)
    has_copy = any(record.node in nodes for record in read_nodes(place))
    return has_copy or read_catalogue(place).newest_id is None


def _store_seen(
    settings: Settings, do: str, arguments: Arguments, environment: Mapping[str, str], emit: Emit
) -> StoreSeen | None:
    """The store as this host sees it, for the node to compare. What only looks makes no store."""
    store = expand(settings.profile.store, environment)
    is_look = do == "check node" or (isinstance(arguments, DryRun) and arguments.dry_run)
    home = expand("~", environment)
    mirror = settings.profile.backup.mirror
    name = settings.profile.workspace
    return store_seen_here(store, name, home, emit, make=not is_look, mirror=mirror)


@contextmanager
def _keeping_no_empty_store(
    settings: Settings, arguments: Arguments, environment: Mapping[str, str]
) -> Iterator[None]:
    """Takes a store back that is made for a `create --from` which the node refuses before it saves anything."""
    if not isinstance(arguments, Create):
        yield
        return
    place = find_place(expand(settings.profile.store, environment), settings.profile.workspace)
    is_new = read_store_id(place) is None
    try:
        yield
    except (SourceUnusable, WorkspaceNotEmpty, CloneFailed):
        if is_new:
            with suppress(OSError):  # an empty store does no harm: what was refused is told
                take_back_new(expand("~", environment), place)
        raise


def _growing_for(
    settings: Settings, do: str, environment: Mapping[str, str]
) -> AbstractContextManager[str]:
    """The file by which `check node` finds out how late the node sees what this host writes."""
    if do != "check node":
        return nullcontext("")
    store = expand(settings.profile.store, environment)
    return growing(find_place(store, settings.profile.workspace))
