"""`scratchflow nodes`: what the cluster has, what is free, which nodes are warm."""

from collections.abc import Iterator

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbCommand
from scratchflow.cli.remote_call import on_login
from scratchflow.model.requests import Nothing
from scratchflow.model.results import NodeRow, NodesShown
from scratchflow.model.text import printable
from scratchflow.model.units import format_size

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def nodes(context: typer.Context) -> Call[NodesShown]:
    """Show the cluster's nodes: what is free, and which still hold a copy of the workspace.

    `*` marks those of the partition that the profile asks for.
    """
    return on_login(context, "nodes", Nothing(), _shown)


def _shown(shown: NodesShown) -> Iterator[str]:
    wanted = set((shown.partition or "").split(","))
    rows = [("node", "state", "CPUs free", "memory free", "GPUs free", "warm")]
    rows += [_row(node) for node in shown.nodes]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    marks = [" ", *("*" if wanted & set(node.partitions) else " " for node in shown.nodes)]
    for mark, (name, state, *amounts, warm) in zip(marks, rows, strict=True):
        right = "  ".join(
            f"{text:>{width}}" for text, width in zip(amounts, widths[2:], strict=False)
        )
        yield f"{mark} {name:<{widths[0]}}  {state:<{widths[1]}}  {right}  {warm}"
    if shown.partition:
        yield f"* in partition `{printable(shown.partition)}`, which this profile asks for"


def _row(node: NodeRow) -> tuple[str, str, str, str, str, str]:
    memory = "?" if node.memory_free_bytes is None else format_size(node.memory_free_bytes)
    return (
        printable(node.name),
        printable(node.state),
        f"{node.cpus_free} of {node.cpus}",
        memory,
        _gpus(node),
        node.warm.rpartition("-")[2] if node.warm else "-",  # the part that tells snapshots apart
    )


def _gpus(node: NodeRow) -> str:
    if not node.gpus:
        return "-"
    free = "?" if node.gpus_free is None else str(node.gpus_free)
    return f"{free} of {node.gpus}"
