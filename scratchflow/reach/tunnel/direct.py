"""The fast way for a tunnel: ssh to the node itself, by the alias and through a login host that is reached already.

`srun` carries a few megabytes a second, ssh many times that.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from scratchflow.process.far_words import quoted
from scratchflow.ssh.transport.base import ALIVE_COUNT, ALIVE_INTERVAL_S, CONNECT_TIMEOUT_S


def direct_argv(
    alias: str, config: str, to_login: Sequence[str], words: Sequence[str]
) -> list[str]:
    """`ssh` that runs the words where the alias leads. `to_login` is an ssh that ends with `--` and the login host.

    It rides the connection of that one, so nobody has to log in there again.
    """
    *login, dashes, host = to_login
    settings = [
        "BatchMode=yes",
        f"ConnectTimeout={CONNECT_TIMEOUT_S}",
        f"ServerAliveInterval={ALIVE_INTERVAL_S}",
        f"ServerAliveCountMax={ALIVE_COUNT}",
        f"ProxyCommand={shlex.join([*login, '-W', '[%h]:%p', dashes, host])}",
        "ControlMaster=no",
        "ControlPath=none",
        "RequestTTY=no",
        "RemoteCommand=none",
        "PermitLocalCommand=no",
        "ClearAllForwardings=yes",
        "ForwardX11=no",
        "EscapeChar=none",
        "LogLevel=ERROR",
    ]
    options = [word for setting in settings for word in ("-o", setting)]
    start = ["ssh", *(["-F", config] if config else []), "-T", *options]
    return [*start, "--", alias, quoted(list(words))]
