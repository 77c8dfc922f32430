"""The environment of a process that is started on the node for the profile."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from scratchflow.model.errors.run import LayerFailed
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.node.context import NodeContext
from scratchflow.node.environment.cache import cache_key, read_cached, write_cached
from scratchflow.node.environment.change import NO_CHANGE, Change
from scratchflow.node.environment.compute import compute
from scratchflow.node.environment.missing import missing_in_words, missing_layer

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
        return _computed(context, base)
    key = cache_key(options, workspace.scratch, context.job_id, base)
    found = read_cached(workspace, key)
    if found is None:
        found = _computed(context, base)
        write_cached(workspace, key, found, base)
    return found


def _computed(context: NodeContext, base: Mapping[str, str]) -> Change:
    """An environment that is not on the node fails with the next step that `status` names for it."""
    options, scratch = context.profile.environment, context.workspace.scratch
    try:
        return compute(options, scratch, base, node=context.node)
    except LayerFailed as failed:
        layer = missing_layer(options, scratch)
        if failed.fields["layer"] != f"environment.{layer}":
            raise
        _, remedy = missing_in_words(context.profile, layer, context.node)
        raise LayerFailed(**{**failed.fields, "remedy": remedy}) from None


def environment_for_tools(context: NodeContext, base: Mapping[str, str]) -> dict[str, str]:
    """The same for the tools that make a venv or conda environment: without those, and what needs them."""
    options = msgspec.structs.replace(context.profile.environment, conda="", venv="", prologue="")
    if options == NOTHING_SET:
        return dict(base)
    return compute(options, context.workspace.scratch, base, node=context.node).applied_to(base)
