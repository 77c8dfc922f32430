"""`scratchflow agent`: answers another scratchflow; in no `--help`, because no person types it."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from scratchflow import __version__
from scratchflow.agent.request import Request, typed_arguments
from scratchflow.agent.server import hang_up, hang_up_at_end_of, read_request, serve
from scratchflow.agent.upload import rest_of_input, unframed
from scratchflow.cli.call import Call
from scratchflow.model.errors.agent import RequestRefused
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.requests import KnownJob, Where
from scratchflow.model.results.base import Result, VersionShown

STDIN = 0


def receive(arguments: Sequence[str]) -> Call[Any]:
    """Reads the request; what it asks for runs later, inside the error boundary."""
    if arguments or os.isatty(STDIN):
        problem = "`agent` takes a request on its input, from another scratchflow"
        raise UsageInvalid(problem=problem, command="scratchflow")
    request, begun = read_request(STDIN)
    more = rest_of_input(STDIN, begun, hang_up) if request.feeds else None

    def flow(emit: Emit) -> Result:
        def with_input(asked: Request, tell: Emit) -> Result:
            return dispatch(asked, tell, more)

        return serve(request, with_input, emit, stdin=STDIN)

    return Call(request.do, flow, lambda _: ())


def dispatch(request: Request, emit: Emit, feed: Iterator[bytes] | None = None) -> Result:
    """Runs the flow that `do` names, with the profile that came along; `feed` is the rest of the input."""
    if request.do == "version":
        return VersionShown(version=__version__)
    from scratchflow.config.settings import given_settings
    from scratchflow.dispatch.operations import ON_LOGIN, ON_NODE, do_here

    settings = given_settings(request.profile_name, request.profile, "the request")
    served = ON_NODE.get(request.do) or ON_LOGIN.get(request.do)
    if served is None:
        raise RequestRefused(reason=f"it does not know `{request.do}`")
    typed = typed_arguments(request, served.arguments)
    if request.on_node or request.do in ON_LOGIN:
        _find_slurm()
    if request.on_node:
        from scratchflow.dispatch.relay import relay

        return relay(
            settings,
            request.do,
            typed,
            os.environ,
            emit,
            where=Where(request.job_id, request.node),
            verbose=request.verbose,
            feed=feed,
        )
    return do_here(
        request.do,
        settings,
        typed,
        emit,
        wants_items=request.verbose,
        store_seen=request.store_seen,
        received=_received(feed) if feed else None,
        job=KnownJob(request.job_name, request.scratch),
    )


def _received(feed: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes that came with the request. After the last one, the input only says who still listens."""
    yield from unframed(feed)
    hang_up_at_end_of(STDIN)


def _find_slurm() -> None:
    """ssh started us without a login shell, whose profile may be what puts Slurm on the PATH."""
    from scratchflow.cluster.command import local_run
    from scratchflow.cluster.login_path import with_login_path

    os.environ.update(with_login_path(os.environ, local_run(os.environ)))
