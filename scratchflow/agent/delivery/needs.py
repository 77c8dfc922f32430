"""What the package needs on a cluster, and what it does not: the one list of it.

Their own dependencies follow by themselves. Everything here is small: the agent is sent over ssh and
lies in the user's home.
"""

from __future__ import annotations

import msgspec


class Need(msgspec.Struct, frozen=True):
    """A distribution that goes along, the module that shows that it works, and the reason."""

    distribution: str
    module: str
    reason: str
    below: tuple[int, int] | None = None  # only for a Python older than this


NEEDS = (
    Need("msgspec", "msgspec", "requests, events, manifests and indexes"),
    Need("lz4", "lz4.frame", "archives"),
    Need("xxhash", "xxhash", "digests of files"),
    Need("pyfastcdc", "pyfastcdc", "chunks of large files; none for newer Pythons", below=(3, 14)),
    Need("pathspec", "pathspec", "what a backup leaves out"),
    Need("platformdirs", "platformdirs", "where crash reports and the profile `local` belong"),
    Need("libtmux", "libtmux", "the tmux session on the login host"),
    Need("typer", "typer", "the same commands for people who type them on the cluster"),
    Need("rich", "rich.console", "what those people see"),
    Need("tomlkit", "tomlkit", "`config set` on the cluster"),
    Need("tomli", "tomli", "TOML for a Python without a reader of its own", below=(3, 11)),
)

# A dependency of the package that stays on the laptop, and why it may.
LEFT_OUT = {
    "paramiko": "only the laptop speaks ssh by itself; it and what it needs are most of the size",
    "pyyaml": "only `config import` reads YAML, where the other program's file is: on the laptop",
}


def needs_for(python: tuple[int, ...]) -> list[Need]:
    """What goes along to a Python of this version."""
    return [need for need in NEEDS if need.below is None or python[:2] < need.below]
