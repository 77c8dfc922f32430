"""A server on the node as `serve list` and `status` show it."""

from collections.abc import Iterable, Iterator

from scratchflow.cli.tables import wrapped
from scratchflow.model.ages import for_people
from scratchflow.model.results.status import ServerShown, TunnelShown
from scratchflow.model.text import printable

_COLUMN = 12


def column_of(names: Iterable[str]) -> int:
    """How wide the first column is when these stand in it."""
    return max((_COLUMN, *(len(printable(name)) for name in names)))


def server_lines(
    server: ServerShown, width: int | None, heading: str = "", column: int = _COLUMN
) -> Iterator[str]:
    """One server: where it can be opened, or how it ended."""
    name = printable(server.name)
    start = f"{heading or name:<{column}} "
    said = f"`{name}` " if heading else ""
    said += f"of `{printable(server.shows)}` " if server.shows else ""
    if server.ended:
        text = f"ended on {server.node}: {server.ended}"
    elif server.url and server.problem:
        text = f"on {server.node}: {server.url} waits: {server.problem}"
    elif server.url:
        text = f"on {server.node}: {server.url}"
    else:
        text = f"on {server.node}, {place_of(server)}; `scratchflow tunnel {name}` opens it here"
    yield from wrapped(start, for_people(printable(said + text)), width)


def place_of(server: ServerShown) -> str:
    """Where it listens on its node."""
    return f"port {server.port}" if server.port else f"socket {printable(server.socket)}"


def done_with_address(*, opened: bool, copied: bool) -> Iterator[str]:
    """Where else the address is."""
    places = [
        *(["open in the browser"] if opened else []),
        *(["on the clipboard"] if copied else []),
    ]
    if places:
        yield f"it is {' and '.join(places)}"


def tunnel_lines(
    tunnel: TunnelShown, width: int | None, heading: str = "", column: int = _COLUMN
) -> Iterator[str]:
    """A local port that leads to no server of `serve`."""
    name = printable(tunnel.name)
    start = f"{heading or name:<{column}} "
    said = f"`{name}`, " if heading else ""
    problem = f"; {tunnel.problem}" if tunnel.problem else ""
    text = f"{said}a tunnel to {tunnel.to}: http://127.0.0.1:{tunnel.local_port}/{problem}"
    yield from wrapped(start, for_people(printable(text)), width)
