"""The environment of a process that is started on the node for the profile."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from scratchflow.model.profile import EnvironmentOptions
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.cache import cache_key, read_cached, write_cached
from scratchflow.node.environment.change import NO_CHANGE, Change
from scratchflow.node.environment.compute import compute

NOTHING_SET = EnvironmentOptions()


def environment_of(context: NodeContext, base: Mapping[str, str]) -> dict[str, str]:
    """The variables for a process of the profile, from those of this one.

    LayerFailed (exit code 40) when a module, an environment or a line fails.
    """
    return change_for(context, base).applied_to(base)


def change_for(context: NodeContext, base: Mapping[str, str]) -> Change:
    """What the profile's layers change; computed once for a job and a `base`, and then read from a file.

    Without a job there is no end at which it would be forgotten: then it is computed each time.
    """
    options = context.profile.environment
    if options == NOTHING_SET:
        return NO_CHANGE
    workspace = context.workspace
    if context.job_id is None:
        return compute(options, workspace.scratch, base, node=context.node)
    key = cache_key(options, workspace.scratch, context.job_id, base)
    found = read_cached(workspace, key)
    if found is None:
        found = compute(options, workspace.scratch, base, node=context.node)
        write_cached(workspace, key, found, base)
    return found


def environment_for_tools(context: NodeContext, base: Mapping[str, str]) -> dict[str, str]:
    """The same for the tools that make a venv or conda environment: without those, and what needs them."""
    options = msgspec.structs.replace(context.profile.environment, conda="", venv="", prologue="")
    if options == NOTHING_SET:
        return dict(base)
    return compute(options, context.workspace.scratch, base, node=context.node).applied_to(base)
