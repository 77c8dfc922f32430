"""`scratchflow serve`: web pages of programs on the node, for their user alone."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from scratchflow.cli.call import Call, announced
from scratchflow.cli.options import DRY_RUN, VerbCommand, VerbGroup, caller
from scratchflow.cli.server_words import (
    column_of,
    done_with_address,
    place_of,
    server_lines,
    tunnel_lines,
)
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.requests import StartServer, StopServers
from scratchflow.model.results.serve import ServersListed, ServersStopped, Serving
from scratchflow.model.text import closest, printable
from scratchflow.model.wrap import Whole
from scratchflow.report.output import terminal_width

NAME = typer.Option("--name", metavar="NAME", help="Call it so in `serve list`.")
PORT = typer.Option("--port", metavar="PORT", help="The port of this machine to use.")
OPEN = typer.Option("--open", help="Open it in the browser.")
COPY = typer.Option("--copy", help="Put its address on the clipboard.")
NO_TUNNEL = typer.Option("--no-tunnel", help="Only start it on the node.")
CWD = typer.Option(
    "--cwd", metavar="DIR", help="Start in this directory; from the workspace on, unless absolute."
)


class ServeGroup(VerbGroup):
    """`serve -- CMD` is `serve command -- CMD`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        before = args[: args.index("--")] if "--" in args else None
        if before is not None and not {*before} & {*self.commands}:
            args = ["command", *args]
        return super().parse_args(ctx, args)

    def other_word(self, name: str, rest: Sequence[str]) -> str | None:
        """`serve python …`: the words of a command stand after `--`."""
        return None if closest(name, [*self.commands]) else f"-- {printable(name)}"


app = typer.Typer(cls=ServeGroup, rich_markup_mode=None, add_completion=False)


@app.callback()
def serve() -> None:
    """Start TensorBoard, Jupyter or another server on the node, and open it on this machine.

    It runs in the allocation, with the profile's environment, on a socket that only you can reach, and ends
    with the allocation or `serve stop`. A tunnel brings it to a port of this machine, also after `hop`.
    """


@app.command(cls=VerbCommand)
def tensorboard(
    context: typer.Context,
    logs: Annotated[str, typer.Argument(metavar="LOGDIR", help="Its logs, in the workspace.")],
    name: Annotated[str, NAME] = "",
    port: Annotated[int, PORT] = 0,
    open_browser: Annotated[bool, OPEN] = False,
    copy: Annotated[bool, COPY] = False,
    no_tunnel: Annotated[bool, NO_TUNNEL] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Serving]:
    """Show a directory of logs in TensorBoard, which has to be installed in the profile's environment."""
    request = StartServer(kind="tensorboard", words=(logs,), name=name, dry_run=dry_run)
    options = _options(context, port, open_browser=open_browser, copy=copy, tunnel=not no_tunnel)
    return _call(context, request, options)


@app.command(cls=VerbCommand)
def jupyter(
    context: typer.Context,
    name: Annotated[str, NAME] = "",
    cwd: Annotated[str, CWD] = "",
    port: Annotated[int, PORT] = 0,
    open_browser: Annotated[bool, OPEN] = False,
    copy: Annotated[bool, COPY] = False,
    no_tunnel: Annotated[bool, NO_TUNNEL] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Serving]:
    """Open JupyterLab on the workspace. It has to be installed in the profile's environment."""
    request = StartServer(kind="jupyter", name=name, cwd=cwd, dry_run=dry_run)
    options = _options(context, port, open_browser=open_browser, copy=copy, tunnel=not no_tunnel)
    return _call(context, request, options)


@app.command(cls=VerbCommand)
def command(
    context: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="CMD", help="The command and its words, after `--`.")
    ],
    name: Annotated[str, NAME] = "",
    cwd: Annotated[str, CWD] = "",
    port: Annotated[int, PORT] = 0,
    open_browser: Annotated[bool, OPEN] = False,
    copy: Annotated[bool, COPY] = False,
    no_tunnel: Annotated[bool, NO_TUNNEL] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Serving]:
    """Run any other server; `serve -- CMD` is the same.

    `{socket}` in its words is the unix socket to listen on. A program that needs a port has `{port}`
    instead: every user of the node can open that one.
    """
    places = {place for place in ("{socket}", "{port}") for word in words if place in word}
    if len(places) != 1:
        problem = (
            "one of the command's words has to hold `{socket}` or `{port}`: where it is to listen"
        )
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = StartServer(words=tuple(words), name=name, cwd=cwd, dry_run=dry_run)
    options = _options(context, port, open_browser=open_browser, copy=copy, tunnel=not no_tunnel)
    return _call(context, request, options)


def _options(
    context: typer.Context, port: int, *, open_browser: bool, copy: bool, tunnel: bool
) -> dict[str, Any]:
    """What happens on this machine, as `ServeOptions` names it."""
    if not 0 <= port < 1 << 16:
        raise UsageInvalid(problem=f"{port} is no port", command=context.command_path)
    for flag, is_given in (("--open", open_browser), ("--copy", copy)):
        if is_given and not tunnel:
            problem = f"`{flag}` and `--no-tunnel` exclude each other"
            raise UsageInvalid(problem=problem, command=context.command_path)
    return {"tunnel": tunnel, "local_port": port, "open_browser": open_browser, "copy": copy}


def _call(context: typer.Context, request: StartServer, options: dict[str, Any]) -> Call[Serving]:
    from scratchflow.workspace.servers import is_server_name

    if request.name and not is_server_name(request.name):
        problem = "`--name` takes letters, digits, `.`, `_` and `-`, at most 40"
        raise UsageInvalid(problem=problem, command=context.command_path)
    who = caller(context)

    def run(emit: Emit) -> Serving:
        from scratchflow.flows.serve.serve import ServeOptions
        from scratchflow.flows.serve.serve import serve as flow

        return flow(who, emit, request, ServeOptions(**options))

    return Call("serve", run, _serving)


def _serving(serving: Serving) -> Iterator[str]:
    server = serving.server
    name, node = printable(server.name), printable(server.node)
    if serving.dry_run:
        yield f"would start `{name}` on `{node}`"
        return
    verb = "runs" if serving.changed else "already runs"
    if serving.url:
        yield Whole(f"`{name}` {verb} on `{node}`: {printable(serving.url)}")
        yield from done_with_address(opened=serving.opened, copied=serving.copied)
    else:
        yield f"`{name}` {verb} on `{node}`, {place_of(server)}; `scratchflow tunnel {name}` opens it here"
    yield f"`scratchflow serve stop {name}` ends it"


@app.command("list", cls=VerbCommand)
def list_servers(context: typer.Context) -> Call[ServersListed]:
    """List what is served, with the addresses on this machine, and its other tunnels."""
    who = caller(context)

    def run(emit: Emit) -> ServersListed:
        from scratchflow.flows.serve.serve import list_servers as flow

        return flow(who, emit)

    return Call("serve list", run, _listed)


def _listed(found: ServersListed) -> Iterator[str]:
    width = terminal_width()
    if not found.servers and not found.tunnels:
        yield "nothing is served; `scratchflow serve --help` shows what can be"
    names = [server.name for server in found.servers] + [tunnel.name for tunnel in found.tunnels]
    column = column_of(names)
    for server in found.servers:
        yield from server_lines(server, width, column=column)
    for tunnel in found.tunnels:
        yield from tunnel_lines(tunnel, width, column=column)


@app.command(cls=VerbCommand)
def stop(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="As `serve list` has it.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[ServersStopped]:
    """End servers with their tunnels, or other tunnels of this machine."""
    if bool(names) == every:
        problem = "name what is to end, or give `--all`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = StopServers(names=tuple(names or ()), every=every, dry_run=dry_run)
    who = caller(context)

    def run(emit: Emit) -> ServersStopped:
        from scratchflow.flows.serve.serve import stop_servers

        return stop_servers(who, emit, request)

    return announced("ending servers", Call("serve stop", run, _stopped))


def _stopped(done: ServersStopped) -> Iterator[str]:
    names = [*done.stopped, *(name for name in done.tunnels if name not in done.stopped)]
    listed = ", ".join(f"`{printable(name)}`" for name in names) or "nothing"
    yield f"would end {listed}" if done.dry_run else f"ended: {listed}"
