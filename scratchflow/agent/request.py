"""One request, as it travels: a line of JSON that says everything the far end has to know.

The profile comes along as plain values, so that the cluster needs no configuration of its own and
cannot disagree with the laptop's.
"""

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from scratchflow import __version__
from scratchflow.model.errors.agent import RequestRefused
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import PROTOCOL_VERSION
from scratchflow.model.profile import NAME_PATTERN
from scratchflow.model.requests import FIRST, Arguments, StoreSeen, Where

# Far beyond any real request; keeps a broken asker from filling the agent's memory.
MAX_REQUEST_BYTES = 1 << 20

ShortText = Annotated[str, Meta(max_length=64)]
Do = Annotated[str, Meta(max_length=64, pattern=r"^[a-z][a-z -]*$(?!\n)")]
JobName = Annotated[str, Meta(max_length=256)]
NodeName = Annotated[str, Meta(max_length=128)]
ProfileName = Annotated[str, Meta(pattern=NAME_PATTERN)]


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one scratchflow asks of another."""

    v: int
    version: ShortText
    do: Do
    arguments: dict[str, Any] = {}
    profile_name: ProfileName = "local"
    profile: dict[str, Any] = {}
    verbose: bool = False
    # The asker keeps our stdin open as long as it listens.
    hold_stdin: bool = False
    # Bytes follow on our stdin, see `agent/upload.py`.
    feeds: bool = False
    # To be done on the node of the profile's allocation, which the one who is asked can reach;
    # of this job, when there are two for a while.
    on_node: bool = False
    job_id: int | None = None
    # One of that allocation's nodes, by name or number; empty: the first.
    node: NodeName = ""
    # To the node: the name of the job that it is asked in.
    job_name: JobName = ""
    store_seen: StoreSeen | None = None
    # Where the job has its scratch, when that depends on the job's environment.
    scratch: str = ""


A = TypeVar("A", bound=Arguments)


def asking(
    do: str,
    arguments: dict[str, Any],
    *,
    profile_name: str,
    profile: dict[str, Any],
    verbose: bool = False,
    hold_stdin: bool = True,
    on_node: bool = False,
    where: Where = FIRST,
) -> Request:
    """A request of this scratchflow; by default the far end stops when we stop listening."""
    return Request(
        v=PROTOCOL_VERSION,
        version=__version__,
        do=do,
        arguments=arguments,
        profile_name=profile_name,
        profile=profile,
        verbose=verbose,
        hold_stdin=hold_stdin,
        on_node=on_node,
        job_id=where.job_id,
        node=where.node,
    )


def encode(request: Request) -> bytes:
    """The request as one line."""
    try:
        line = msgspec.json.encode(request) + b"\n"
    except UnicodeEncodeError:
        problem = "a word that is not UTF-8 cannot be sent to the cluster; in a pattern, `?` stands for each such byte"
        raise UsageInvalid(problem=problem, command="scratchflow") from None
    if len(line) > MAX_REQUEST_BYTES:
        raise RequestRefused(reason="the request is larger than 1 MiB")
    return line


def decode(line: bytes) -> Request:
    """The line as a request; another protocol's is told apart from a broken one."""
    try:
        plain = msgspec.json.decode(line)
        if isinstance(plain, dict) and plain.get("v", PROTOCOL_VERSION) != PROTOCOL_VERSION:
            reason = f"it speaks protocol {PROTOCOL_VERSION}, and was asked in another one"
            raise RequestRefused(reason=reason)
        return msgspec.convert(plain, Request)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise RequestRefused(reason=f"this is not a request ({error})") from None


def typed_arguments(request: Request, kind: type[A]) -> A:
    """The request's arguments as the ones that its `do` takes."""
    try:
        return msgspec.convert(request.arguments, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RequestRefused(reason=f"`{request.do}`: {error}") from None
