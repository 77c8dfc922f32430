"""`jobs code` and `restore --from-job`: the files that a job ran from, brought back."""

from __future__ import annotations

import msgspec

from scratchflow.dispatch.cluster import Caller, cluster_of
from scratchflow.flows.transfer.take_home import restore_here
from scratchflow.model.events import Emit
from scratchflow.model.requests import EVERY_NODE, OneJob, Restore
from scratchflow.model.results.jobs import JobInspected
from scratchflow.model.results.restore import Restored


def bring_code(
    caller: Caller, emit: Emit, wanted: str, request: Restore, here: str | None
) -> Restored:
    """Restores the job's snapshot: to a directory, to this machine, or into the workspace after a safety snapshot."""
    with cluster_of(caller.settings(), caller, emit) as cluster:
        found = cluster.on_login("jobs show", OneJob(wanted=wanted), JobInspected)
        request = msgspec.structs.replace(request, snapshot=found.job.snapshot)
        if here is None:
            # A directory of the node is the first node's alone, as with `restore`.
            node = "" if request.to is not None or request.dry_run else EVERY_NODE
            return cluster.at_workspace("restore", request, Restored, node=node)
    return restore_here(caller, request, here, emit)
