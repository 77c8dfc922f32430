"""`scratchflow tunnel`: a port of this machine that leads to the node."""

from collections.abc import Iterator
from typing import Annotated

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, VerbCommand, caller
from scratchflow.cli.serve import COPY, OPEN, PORT
from scratchflow.cli.server_words import done_with_address
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results.serve import TunnelOpened
from scratchflow.model.text import printable
from scratchflow.model.wrap import Whole

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(cls=VerbCommand)
def tunnel(
    context: typer.Context,
    to: Annotated[
        str,
        typer.Argument(
            metavar="PORT[:LOCAL]|SOCKET|NAME",
            help="A port of the node, a socket there, or what is served under this name.",
        ),
    ],
    port: Annotated[int, PORT] = 0,
    open_browser: Annotated[bool, OPEN] = False,
    copy: Annotated[bool, COPY] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[TunnelOpened]:
    """Lead a port of this machine, on 127.0.0.1 alone, to a port or socket of the node.

    It stays when the terminal is closed, connects again after sleep or a lost link, and leads to the
    new node after `hop`. It ends with its server, with the allocation, or by `serve stop`.
    """
    if not 0 <= port < 1 << 16:
        raise UsageInvalid(problem=f"{port} is no port", command=context.command_path)
    who, command = caller(context), context.command_path

    def run(emit: Emit) -> TunnelOpened:
        from scratchflow.flows.serve.tunnel import tunnel as flow
        from scratchflow.flows.serve.tunnel import wanted_tunnel

        wanted = wanted_tunnel(to, port, command)
        return flow(who, emit, wanted, open_browser=open_browser, copy=copy, dry_run=dry_run)

    return Call("tunnel", run, _shown)


def _shown(opened: TunnelOpened) -> Iterator[str]:
    tunnel = opened.tunnel
    to, name = printable(tunnel.to), printable(tunnel.name)
    if opened.dry_run:
        yield f"would lead port {tunnel.local_port} of this machine to {to} of the node"
        return
    node = f" of `{printable(opened.node)}`" if opened.node else ""
    yield Whole(f"{printable(opened.url)} leads to {to}{node}")
    yield from done_with_address(opened=opened.opened, copied=opened.copied)
    yield f"`scratchflow serve stop {name}` ends it"
