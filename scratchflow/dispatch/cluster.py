"""Decides where an operation runs: here, on the login host, or on the node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from typing import TYPE_CHECKING, TypeVar

import msgspec

from scratchflow.cluster.this_host import job_id as this_job_id
from scratchflow.cluster.this_host import role
from scratchflow.config.settings import PROFILE_VARIABLE, Asked, Settings, load_settings
from scratchflow.dispatch.noted import note
from scratchflow.dispatch.operations import ON_LOGIN, ON_NODE, OnLogin, OnNode, do_here
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import EVERY_NODE, FIRST, Arguments, Where
from scratchflow.model.results.base import Result
from scratchflow.model.results.by_op import result_of

if TYPE_CHECKING:
    from scratchflow.ssh.transport.base import Feed, Transport

R = TypeVar("R", bound=Result)


class Caller(msgspec.Struct, frozen=True):
    """The command line's settings, and whether the user can be asked something."""

    asked: Asked
    environment: Mapping[str, str]
    may_ask: bool = False
    verbose: bool = False

    def settings(self) -> Settings:
        """The profile that is meant."""
        return load_settings(self.asked, self.environment)


def is_login_host(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether Slurm can be asked on this machine: then nothing has to be reached."""
    profile = settings.profile
    return profile.login == "local" or profile.scheduler == "none" or role(environment) == "node"


def is_untouched(settings: Settings, caller: Caller) -> bool:
    """Whether this machine knows no cluster, and nobody chose to work on it alone either."""
    if settings.exists or caller.asked.profile or caller.environment.get(PROFILE_VARIABLE):
        return False
    from scratchflow.workspace.workspace import find_workspace

    return not find_workspace(settings.profile, caller.environment).path.is_dir()


def is_here(settings: Settings, environment: Mapping[str, str], job_id: int | None = None) -> bool:
    """Whether the workspace is on this machine: there is no cluster, or we are in the job that is meant.

    In a job of somebody else's, or of another profile, the scratch here is not the one that is meant.
    """
    if settings.profile.scheduler == "none":
        return True
    if role(environment) != "node":
        return False
    from scratchflow.dispatch.where import is_job_of

    this_job = this_job_id(environment)
    return job_id in {None, this_job} and is_job_of(settings, this_job, environment)


class Cluster:
    """The profile's cluster, seen from this machine; connects once, when first needed.

    `once`: in most cases there will be one request, which is then answered sooner; a second one connects anew.
    Without `remembers` nothing of the answers is kept on this machine, as a dry run promises.
    """

    def __init__(
        self,
        settings: Settings,
        caller: Caller,
        emit: Emit,
        open_until: ExitStack,
        *,
        once: bool = False,
        remembers: bool = True,
    ) -> None:
        self.settings = settings
        self.caller = caller
        self.emit = emit
        self._open_until = open_until
        self._once = once
        self._remembers = remembers
        self._transport: Transport | None = None

    def on_login(
        self, do: str, request: Arguments, kind: type[R], *, emit: Emit | None = None
    ) -> R:
        """Runs the operation on the login host."""
        _require_arguments(ON_LOGIN[do], request)
        if is_login_host(self.settings, self.caller.environment):
            done = do_here(do, self.settings, request, emit or self.emit)
        else:
            done = self._ask(do, request, emit or self.emit, on_node=False)
        if self._remembers:
            note(self.settings, done)
        return _of(kind, done)

    def at_workspace(
        self,
        do: str,
        request: Arguments,
        kind: type[R],
        *,
        job_id: int | None = None,
        node: str = "",
        emit: Emit | None = None,
        feed: Feed | None = None,
    ) -> R:
        """Runs the operation where the workspace is, or, if it needs only the store, where the store can be seen.

        With `job_id` on the node of that job: while moving there are two. With `node` on that one of
        the job's nodes, by name or number. `feed` goes there with the
        request, see `agent/upload.py`.
        """
        done = self._done_at_workspace(do, request, Where(job_id, node), emit or self.emit, feed)
        if self._remembers:
            note(self.settings, done)
        return _of(kind, done)

    def with_workspace(self, name: str, store: str = "") -> Cluster:
        """The same cluster, over the same connection, with another workspace of the profile's; `store` if that is another, too."""
        profile = self.settings.profile
        profile = msgspec.structs.replace(profile, workspace=name, store=store or profile.store)
        other = copy(self)
        other.settings = msgspec.structs.replace(self.settings, profile=profile)
        return other

    def _done_at_workspace(
        self, do: str, request: Arguments, where: Where, emit: Emit, feed: Feed | None
    ) -> Result:
        _require_arguments(ON_NODE[do], request)
        settings, environment = self.settings, self.caller.environment
        if settings.profile.scheduler == "none" and where.node not in {"", EVERY_NODE}:
            raise SchedulerMissing(profile=settings.name)
        if where.node == EVERY_NODE and is_here(settings, environment, where.job_id):
            return self._done_from_here(do, request, where, emit)
        verbose = self.caller.verbose
        needs_scratch = ON_NODE[do].needs_scratch
        is_login = is_login_host(settings, environment)
        needs_no_node = is_login and not needs_scratch
        is_asked_here = not where.node and is_here(settings, environment, where.job_id)
        if is_asked_here and do == "backup" and settings.profile.slurm.nodes > 1:
            return self._done_from_here(do, request, where, emit)
        if needs_no_node or is_asked_here:
            received = _unframed(feed) if feed is not None else None
            return do_here(do, settings, request, emit, wants_items=verbose, received=received)
        from scratchflow.dispatch.far_paths import paths_there

        # The login host has the node's home: a path of it is the same there.
        login = "" if is_login else settings.profile.login
        request = paths_there(request, {} if is_login else environment, emit, login)
        if is_login:
            from scratchflow.dispatch.relay import relay

            return relay(
                settings, do, request, environment, emit, where=where, verbose=verbose, feed=feed
            )
        return self._ask(do, request, emit, on_node=needs_scratch, where=where, feed=feed)

    def _done_from_here(self, do: str, request: Arguments, where: Where, emit: Emit) -> Result:
        """On this node with regard to the others of its job, which Slurm names; while it is away, without."""
        settings, environment = self.settings, self.caller.environment
        verbose = self.caller.verbose
        if settings.profile.scheduler == "slurm":
            from scratchflow.dispatch.relay import relay

            with suppress(SlurmUnreachable):
                return relay(settings, do, request, environment, emit, where=where, verbose=verbose)
        return do_here(do, settings, request, emit, wants_items=verbose)

    def _ask(
        self,
        do: str,
        request: Arguments,
        emit: Emit,
        *,
        on_node: bool,
        where: Where = FIRST,
        feed: Feed | None = None,
    ) -> Result:
        from scratchflow.reach.login import ask_agent, feed_agent

        kind = result_of(do)
        login = self._login()
        arguments = msgspec.to_builtins(request)
        settings, verbose = self.settings, self.caller.verbose
        if feed is None:
            data = ask_agent(
                login,
                settings,
                do,
                arguments,
                emit,
                on_node=on_node,
                where=where,
                verbose=verbose,
            )
        else:
            from scratchflow.agent.request import asking
            from scratchflow.model.profile import to_plain

            fed = asking(
                do,
                arguments,
                profile_name=settings.name,
                profile=to_plain(settings.profile),
                on_node=on_node,
                where=where,
                verbose=verbose,
            )
            data = feed_agent(login, fed, feed, emit)
        return msgspec.convert(data, kind)

    def _login(self) -> Transport:
        """The connection to the login host, made when it is first needed."""
        if self._transport is None:
            from scratchflow.reach.login import reach_login

            reaching = reach_login(
                self.settings,
                self.caller.environment,
                self.emit,
                may_ask=self.caller.may_ask,
                once=self._once,
            )
            self._transport = self._open_until.enter_context(reaching)
        return self._transport


@contextmanager
def cluster_of(
    settings: Settings, caller: Caller, emit: Emit, *, once: bool = False, remembers: bool = True
) -> Iterator[Cluster]:
    """The profile's cluster, as a context manager for any number of operations, or with `once` for one as a rule."""
    with ExitStack() as open_until:
        yield Cluster(settings, caller, emit, open_until, once=once, remembers=remembers)


def at_workspace(
    do: str, request: Arguments, caller: Caller, emit: Emit, *, node: str = ""
) -> Result:
    """Runs one operation where the workspace is, or on that one of the allocation's nodes."""
    settings = caller.settings()
    if not settings.exists:
        message = "no configuration file yet; using the built-in profile `local`"
        if is_untouched(settings, caller):
            message += ": this machine alone. `scratchflow up LOGIN` sets a cluster up"
        emit(Log(level="info", message=message))
    if ON_NODE[do].needs_scratch:
        from scratchflow.dispatch.local_directory import warn_in_local_workspace

        warn_in_local_workspace(settings, caller.asked, caller.environment, emit)
    with cluster_of(settings, caller, emit, once=True) as cluster:
        return cluster.at_workspace(do, request, result_of(do), node=node)


def at_workspace_as(kind: type[R], do: str, request: Arguments, caller: Caller, emit: Emit) -> R:
    """The same for whoever goes on with the result, which is of this kind."""
    return _of(kind, at_workspace(do, request, caller, emit))


def on_login(do: str, request: Arguments, caller: Caller, emit: Emit) -> Result:
    """Runs one operation on the login host."""
    with cluster_of(caller.settings(), caller, emit, once=True) as cluster:
        return cluster.on_login(do, request, result_of(do))


def _unframed(feed: Feed) -> Iterator[bytes]:
    from scratchflow.agent.upload import unframed

    return unframed(feed)


def _of(kind: type[R], done: Result) -> R:
    if not isinstance(done, kind):
        raise TypeError(f"{type(done)} instead of {kind}")
    return done


def _require_arguments(served: OnLogin | OnNode, request: Arguments) -> None:
    """Checks the arguments' type here too, not only where the function is called directly."""
    if not isinstance(request, served.arguments):
        raise TypeError(f"{type(request)} instead of {served.arguments}")
