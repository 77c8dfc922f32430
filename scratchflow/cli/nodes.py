"""`scratchflow nodes`: what the cluster has, what is free, which nodes are warm."""

from collections.abc import Iterator

import msgspec
import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand, caller
from scratchflow.cli.tables import aligned
from scratchflow.model.ages import shown_id, time_left
from scratchflow.model.events import Emit
from scratchflow.model.requests import Nothing
from scratchflow.model.results.allocation import GpuTypeShown, NodeRow, NodesShown, PartitionShown
from scratchflow.model.text import printable
from scratchflow.model.units import format_size
from scratchflow.report.output import terminal_width

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def nodes(context: typer.Context) -> Call[NodesShown]:
    """Show the cluster's nodes: what is free, and which still hold a copy of the workspace.

    `*` marks those of the partition that the profile asks for.
    """
    who = caller(context)

    def run(emit: Emit) -> NodesShown:
        from scratchflow.dispatch.cluster import cluster_of

        settings = who.settings()
        with cluster_of(settings, who, emit, once=True) as cluster:
            seen = cluster.on_login("nodes", Nothing(), NodesShown)
        return msgspec.structs.replace(seen, last=_last(settings.name))

    return Call("nodes", run, _shown)


def _last(profile: str) -> str:
    """The last request from this machine as options of `salloc`; one of another version is none."""
    from scratchflow.cluster.slurm.request import resource_options
    from scratchflow.config.remembered import recall
    from scratchflow.model.profile import SlurmOptions

    table = recall(profile).slurm
    try:
        return " ".join(resource_options(msgspec.convert(table, SlurmOptions))) if table else ""
    except msgspec.ValidationError:
        return ""


_HEADER = ["node", "state", "CPUs free", "memory free", "GPUs free", "warm"]


def _shown(shown: NodesShown) -> Iterator[str]:
    width = terminal_width()
    wanted = set((shown.partition or "").split(","))
    held = set(shown.held)
    rows = [_HEADER, *(_row(node, is_held=node.name in held) for node in shown.nodes)]
    marks = [" ", *("*" if wanted & set(node.partitions) else " " for node in shown.nodes)]
    lines = aligned(rows, right={2, 3, 4}, width=None if width is None else width - 2)
    for mark, line in zip(marks, lines, strict=True):
        yield f"{mark} {line}"
    if shown.partition:
        yield f"* in partition `{printable(shown.partition)}`, which this profile asks for"
    if shown.partitions:
        yield f"longest time: {', '.join(map(_limit, shown.partitions))}"
    if any(gpu.type for gpu in shown.gpu_types):
        yield f"GPUs free: {', '.join(map(_gpu_type, shown.gpu_types))}; `--gpus TYPE:N` asks for a type"
    if any(node.warm for node in shown.nodes):
        yield "warm: its scratch still has the workspace as of that snapshot; `scratchflow up` asks for such a node first"


def _row(node: NodeRow, *, is_held: bool) -> list[str]:
    memory = "?" if node.memory_free_bytes is None else format_size(node.memory_free_bytes)
    cpus = f"{node.cpus_free} of {node.cpus}"
    warm = shown_id(node.warm) if node.warm else "-"
    state = f"{printable(node.state)}{', yours' if is_held else ''}"
    return [printable(node.name), state, cpus, memory, _gpus(node), warm]


def _limit(one: PartitionShown) -> str:
    limit = "no limit" if one.max_time_s is None else time_left(one.max_time_s)
    return f"{limit} in `{printable(one.name)}`"


def _gpu_type(gpu: GpuTypeShown) -> str:
    at_least = "" if gpu.is_exact else "at least "
    return f"{at_least}{gpu.free} of {gpu.total} {printable(gpu.type) or 'without a type'}"


def _gpus(node: NodeRow) -> str:
    if not node.gpus:
        return "-"
    free = "?" if node.gpus_free is None else str(node.gpus_free)
    return f"{free} of {node.gpus}"
