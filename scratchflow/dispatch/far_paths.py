"""Paths typed on one machine and used on another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import Arguments
from scratchflow.model.text import printable

A = TypeVar("A", bound=Arguments)


def paths_there(request: A, environment: Mapping[str, str], emit: Emit, login: str = "") -> A:
    """The same request with its paths as the node will understand them.

    A path that begins with `$NAME` is the node's to read. The shell has already made `~/old` a path in the home of this machine: it means the home there. A
    relative path means nothing there, and is refused; how a file comes there is said when this machine is not `login` itself.
    """
    meant: dict[str, str] = {}
    for field in request.path_fields:
        path = getattr(request, field)
        if path is None:
            continue
        in_home = _beneath(path, environment.get("HOME", ""))
        if in_home is not None:
            meant[field] = f"~/{in_home}"
            message = f"`~/{in_home}` is in your home on the cluster, not on this machine"
            if field in request.laptop_fields:
                message += f"; `laptop:~/{in_home}` would be on this machine"
            emit(Log(level="info", message=message))
        elif not path.startswith(
            ("/", "~/", "$") if field in request.named_fields else ("/", "~/")
        ):
            problem = f"`{path}` would be a path on the node: give it in full, or from `~/` on"
            if field in request.laptop_fields:
                problem += f"; `laptop:{path}` is on this machine"
            refusal = UsageInvalid(problem=problem, command=f"scratchflow {request.help_of}")
            if login and path and field in request.brought_by:
                refusal.add_step(_brought(path, login, request.brought_by[field]))
            raise refusal
    return msgspec.structs.replace(request, **meant)


def _brought(path: str, login: str, command: str) -> str:
    """The two steps that take in a file of this machine."""
    import shlex  # only ever needed on the way to an error

    here = path.removeprefix("laptop:")
    name = shlex.quote(os.path.basename(here))
    copied = f"`scp {shlex.quote(here)} {login}:` copies a file of this machine into your home on the cluster"
    return printable(f"{copied}, and `scratchflow {command} ~/{name}` takes it from there")


def _beneath(path: str, home: str) -> str | None:
    """The rest of a path in a home; None for any other, and where the home is the top itself."""
    whole = os.path.normpath(path)
    top = os.path.normpath(home) if home else "/"
    return whole[len(top) + 1 :] if top != "/" and whole.startswith(f"{top}/") else None
