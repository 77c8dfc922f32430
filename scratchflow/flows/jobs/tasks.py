"""The tasks of a job, from the flags and the spec of `submit`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from scratchflow.experiments.plan import plan_tasks
from scratchflow.experiments.read_spec import read_spec
from scratchflow.experiments.spec import Spec
from scratchflow.model.events import Emit, Log
from scratchflow.model.requests import Submit
from scratchflow.model.text import printable


def with_tasks(
    request: Submit,
    params: Sequence[str],
    grids: Sequence[str],
    zips: Sequence[str],
    spec_file: str,
    emit: Emit,
) -> Submit:
    """The request with one task for each set of parameters; what a spec says counts less than flags.

    Everything is checked here, before a snapshot is taken. Keys of a spec that mean nothing here are told.
    """
    spec = read_spec(Path(spec_file).expanduser()) if spec_file else None
    if spec is None and not (params or grids or zips):
        return request
    words = [request.script, *request.command] if request.script else list(request.command)
    planned = plan_tasks(words, params=params, grids=grids, zips=zips, spec=spec)
    if added := planned[0].command[len(words) :] if words else ():
        first = " ".join(added)
        given = " ".join(words)
        names = [f"{{{name}}}" for name in planned[0].parameters]
        rest = ", ".join(f"`{name}`" for name in names if name not in given)
        message = f"parameters follow the command, in the first task as `{first}`; {rest} in the command would put the values there instead"
        emit(Log(level="info", message=printable(message)))
    request = msgspec.structs.replace(request, tasks=tuple(task.parameters for task in planned))
    return request if spec is None else _with_spec(request, spec, emit)


def _with_spec(request: Submit, spec: Spec, emit: Emit) -> Submit:
    for remark in spec.remarks:
        emit(Log(level="info", message=printable(f"`{remark.key}`: {remark.fate}")))
    if spec.said:
        emit(Log(level="info", message=printable(f"`{spec.path}` said: {spec.said}")))
    command = request.command or (() if request.script else tuple(spec.command))
    return msgspec.structs.replace(
        request,
        command=command,
        name=request.name or spec.name,
        tags=tuple(dict.fromkeys([*spec.tags, *request.tags])),
        max_parallel=request.max_parallel or spec.max_parallel or 0,
        append=spec.append,
        variables=spec.variables,
        python_path=tuple(spec.python_path),
    )
