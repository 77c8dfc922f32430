"""All tasks of one job: what the command line says over what the spec says, checked before anything is submitted."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from scratchflow.experiments.command import command_for
from scratchflow.experiments.sets import Parameters, combined, parameter_sets
from scratchflow.experiments.spec import Spec
from scratchflow.model.errors.base import ParameterInvalid


class Task(msgspec.Struct, frozen=True):
    """One task: its parameters, and its command with them in it."""

    parameters: Parameters
    command: list[str]


def plan_tasks(
    argv: Sequence[str],
    *,
    params: Sequence[str] = (),
    grids: Sequence[str] = (),
    zips: Sequence[str] = (),
    spec: Spec | None = None,
) -> list[Task]:
    """Each set of the spec with each set of the flags. The command line's command counts before the spec's."""
    flags = parameter_sets(params, grids, zips)
    # Without flags the spec's sets stay as they are: mrunner's files may ask for equal ones.
    has_flags = flags != [{}]
    sets = (combined(spec.sets, flags) if has_flags else spec.sets) if spec else flags
    command = list(argv) or (spec.command if spec else [])
    if not command:
        problem = "there is no command: write it after `--`"
        raise ParameterInvalid(given=spec.path if spec else "--", problem=problem)
    append = spec.append if spec else True
    tasks = [Task(one, command_for(command, one, append=append)) for one in sets]
    if any(not task.command[0].strip() for task in tasks):
        problem = "the name of the program would be empty"
        raise ParameterInvalid(given=command[0], problem=problem)
    return tasks
