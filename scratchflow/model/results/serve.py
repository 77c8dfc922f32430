"""`serve` and `tunnel`. A server and a tunnel by themselves are in `status.py`, which shows them too."""

from scratchflow.model.results.base import Result
from scratchflow.model.results.status import ServerShown, TunnelShown


class ServerStarted(Result, frozen=True):
    """`server start`: the server, which may have run already."""

    server: ServerShown
    page: str = "/"
    token: str = ""
    changed: bool = True
    dry_run: bool = False


class ServersSeen(Result, frozen=True):
    """`server list`: what the login host knows; `pages` and `tokens` by name, for addresses."""

    servers: list[ServerShown] = []
    pages: dict[str, str] = {}
    tokens: dict[str, str] = {}


class ServersStopped(Result, frozen=True):
    """`serve stop`: what was ended, servers and tunnels of this machine."""

    stopped: list[str] = []
    tunnels: list[str] = []
    dry_run: bool = False


class ServerEnded(Result, frozen=True):
    """`server run`: how the program on the node came to its end."""

    reason: str


class ServersListed(Result, frozen=True):
    """`serve list`: servers on the node, with their addresses on this machine, and its other tunnels."""

    servers: list[ServerShown] = []
    tunnels: list[TunnelShown] = []


class Serving(Result, frozen=True):
    """`serve`: where the server can be opened."""

    server: ServerShown
    url: str = ""
    """With its token; empty without a tunnel."""
    changed: bool = True
    opened: bool = False
    """In the browser."""
    copied: bool = False
    """To the clipboard."""
    dry_run: bool = False


class TunnelOpened(Result, frozen=True):
    """`tunnel`: the local port."""

    tunnel: TunnelShown
    url: str = ""
    """With the server's token."""
    node: str = ""
    changed: bool = True
    opened: bool = False
    """In the browser."""
    copied: bool = False
    """To the clipboard."""
    dry_run: bool = False
