"""Calls of verbs that are done in one place, wherever they are typed."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from scratchflow.cli.call import Call
from scratchflow.model.ages import for_people
from scratchflow.model.events import Emit
from scratchflow.model.results.base import OnNodes, Result
from scratchflow.model.text import printable
from scratchflow.model.wrap import Whole

if TYPE_CHECKING:
    from scratchflow.dispatch.cluster import Caller
    from scratchflow.model.requests import Arguments

R = TypeVar("R", bound=Result)


def at_workspace(
    who: "Caller",
    op: str,
    request: "Arguments",
    show: Callable[[R], Iterable[str]],
    *,
    do: str = "",
    node: str = "",
) -> Call[R]:
    """A verb of the workspace or its snapshots; `do` is what it asks for where that has another name.

    `node` is another one of the allocation's nodes than the first.
    """

    def run(emit: Emit) -> R:
        from scratchflow.dispatch import cluster as anywhere

        return cast("R", anywhere.at_workspace(do or op, request, who, emit, node=node))

    return Call(op, run, show)


def on_host(host: str) -> str:
    """ " on `node-1`", for a path in a message; nothing when that is this machine."""
    is_this = host in {"", os.uname().nodename, os.uname().nodename.partition(".")[0]}
    return "" if is_this else f" on `{host}`"


def on_the_others(done: OnNodes, have: str = "the same on") -> Iterator[str]:
    """Which further nodes have it too; and how to go on where they have not."""
    others = done.nodes[1:]
    if others:
        yield printable(f"{have} {', '.join(f'`{node}`' for node in others)}")
    for one in done.failed:
        yield for_people(printable(f"not on `{one.node}`: {one.hint or one.message}"))


def on_login(
    who: "Caller", op: str, request: "Arguments", show: Callable[[R], Iterable[str]]
) -> Call[R]:
    """A verb of the cluster."""

    def run(emit: Emit) -> R:
        from scratchflow.dispatch import cluster as anywhere

        return cast("R", anywhere.on_login(op, request, who, emit))

    return Call(op, run, show)


def other_nodes(nodes: Sequence[str], alias: str | None) -> Iterator[str]:
    """The further nodes of the job, with the alias of each."""
    for number, node in enumerate(nodes[1:], start=2):
        leads = f"; `ssh {alias}-{number}` leads there" if alias else ""
        yield printable(f"node {number}: `{node}`{leads}")


def name_in_hints(who: "Caller") -> None:
    """Makes hints name the profile of this caller, unless commands without `-p` mean the same one."""
    from scratchflow.config.settings import Asked, load_settings
    from scratchflow.model.ages import Wording
    from scratchflow.model.errors.base import ScratchflowError

    name = who.settings().name
    try:
        usual = load_settings(Asked(config=who.asked.config), who.environment).name
    except ScratchflowError:  # several, and none of them is the default
        usual = ""
    if name != usual:
        Wording.profile = name


def would_run(command: str, node: str | None, job_id: int | None) -> str:
    """What `--dry-run` says of taking a node: the command, or why none is run."""
    if command:
        return f"would run: {printable(command)}"
    job = f" by job {job_id}" if job_id is not None else ""
    if node:
        return f"`{printable(node)}` is held already{job}: would ask Slurm for nothing"
    return (
        f"job {job_id} is in the queue already: would wait for it, and ask Slurm for nothing else"
    )


def would_run_each(commands: Sequence[str]) -> Iterator[str]:
    """What `--dry-run` says of several steps: each on a line of its own."""
    yield "would run, one after the other:"
    yield from (Whole(f"  {printable(command)}") for command in commands)
