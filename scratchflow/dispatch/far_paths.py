"""Paths typed on one machine and used on another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import Arguments

A = TypeVar("A", bound=Arguments)


def paths_there(request: A, environment: Mapping[str, str], emit: Emit) -> A:
    """The same request with its paths as the node will understand them.

    A path that begins with `$NAME` is the node's to read. The shell has already made `~/old` a path in the home of this machine: it means the home there. A
    relative path means nothing there, and is refused.
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
            raise UsageInvalid(problem=problem, command=f"scratchflow {request.help_of}")
    return msgspec.structs.replace(request, **meant)


def _beneath(path: str, home: str) -> str | None:
    """The rest of a path in a home; None for any other, and where the home is the top itself."""
    whole = os.path.normpath(path)
    top = os.path.normpath(home) if home else "/"
    return whole[len(top) + 1 :] if top != "/" and whole.startswith(f"{top}/") else None
