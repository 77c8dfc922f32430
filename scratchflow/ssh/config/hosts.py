"""The hosts that the user's ssh config names: what a person could choose a login host from.

ssh itself never lists them. Patterns, negations and `Match` are passed over; a list with a host too
few is no harm, since any other can be typed.
"""

from __future__ import annotations

from scratchflow.model.text import printable
from scratchflow.ssh.config.lines import Line, config_lines
from scratchflow.ssh.config.names import is_login
from scratchflow.ssh.config.paths import SshPaths


def hosts_in_config(places: SshPaths) -> list[str]:
    """Every plain name after a `Host`, in the order of the file; our own aliases are none of them."""
    lines = (one for one in config_lines(places) if one.word == "host" and not one.scope)
    return list(dict.fromkeys(name for one in lines for name in one.arguments if is_login(name)))


def own_entry(places: SshPaths, host: str) -> Line | None:
    """The `Host` line of the user's own that names this host itself; the first, as ssh goes by that."""
    lines = (one for one in config_lines(places) if one.word == "host" and not one.scope)
    return next((one for one in lines if host in one.arguments), None)


def why_passed_over(places: SshPaths, host: str) -> str:
    """Why ssh does not go by the `Host` of this name: what includes it stands below another one. Empty without one."""
    for line in config_lines(places):
        if line.word == "host" and line.scope and host in line.arguments:
            return _below(places, line, host)
    return ""


def _below(places: SshPaths, line: Line, host: str) -> str:
    config, file, scope = (printable(one) for one in (places.config, line.file, line.scope))
    return (
        f"`Host {host}` is in `{file}`, whose `Include` stands below `{scope}` and is read for that alone;"
        f" move the `Include` to the top of `{config}`"
    )
