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
    """Show the cluster's nodes: what is free, and which still hold a copy of the workspace."""
    return on_login(context, "nodes", Nothing(), _shown)


def _shown(shown: NodesShown) -> Iterator[str]:
    yield f"{'node':<24} {'state':<14} {'CPUs free':>11} {'memory free':>13} {'GPUs free':>10}  warm"
    for node in shown.nodes:
        memory = "?" if node.memory_free_bytes is None else format_size(node.memory_free_bytes)
        yield (
            f"{printable(node.name):<24} {printable(node.state):<14}"
            f" {f'{node.cpus_free} of {node.cpus}':>11} {memory:>13} {_gpus(node):>10}"
            f"  {node.warm or '-'}"
        )


def _gpus(node: NodeRow) -> str:
    if not node.gpus:
        return "-"
    free = "?" if node.gpus_free is None else str(node.gpus_free)
    return f"{free} of {node.gpus}"
