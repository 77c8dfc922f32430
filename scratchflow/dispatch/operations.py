"""The table of operations: arguments, machine, and the name of the function that does it there.

One table for the command line and for the agent. A function's module is imported when it is asked for.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.dispatch.located import with_store_found
from scratchflow.dispatch.mirroring import start_mirroring
from scratchflow.model import requests
from scratchflow.model.errors.workspace import WorkspaceFailed
from scratchflow.model.events import Emit
from scratchflow.model.requests import Arguments, KnownJob, StoreSeen
from scratchflow.model.results.base import Result

if TYPE_CHECKING:
    from scratchflow.node.context import NodeContext

NO_JOB = KnownJob()


class OnNode(msgspec.Struct, frozen=True):
    """Done where the workspace is, by a function of (node's context, progress, arguments).

    With `needs_scratch` off, wherever the store can be seen.
    """

    arguments: type[Arguments]
    function: str
    needs_scratch: bool = True
    # Refused when the store is away, or the node sees another one than the login host. `backup` looks for the workspace
    # first, and `check node` tells instead of refusing.
    compares_store: bool = True
    # A job's command may have closed the directory of the user's that all jobs are in.
    opens_scratch: bool = False


class OnLogin(msgspec.Struct, frozen=True):
    """Done on the login host, where Slurm and tmux are, by a function of (login host, arguments)."""

    arguments: type[Arguments]
    function: str


# `do` is the `op` of the events, so each is a key of `RESULTS_BY_OP`.
ON_NODE = {
    "backup": OnNode(
        requests.Backup, "scratchflow.node.backup:requested_backup", compares_store=False
    ),
    "save node": OnNode(
        requests.SaveNode, "scratchflow.node.save_node:save_node", compares_store=False
    ),
    "create": OnNode(requests.Create, "scratchflow.node.create:requested_create"),
    "create ready": OnNode(requests.Create, "scratchflow.node.create:ready_to_receive"),
    "check node": OnNode(
        requests.Nothing, "scratchflow.login.check:check_node", compares_store=False
    ),
    "environment": OnNode(
        requests.Nothing,
        "scratchflow.node.environment.shell:prepare_shell",
        compares_store=False,
    ),
    "locate": OnNode(requests.Nothing, "scratchflow.node.locate:locate", compares_store=False),
    "usage": OnNode(
        requests.Nothing, "scratchflow.node.usage.usage:show_usage", compares_store=False
    ),
    "copy": OnNode(
        requests.Nothing, "scratchflow.node.copy_state:copy_state", compares_store=False
    ),
    "run place": OnNode(
        requests.RunAt, "scratchflow.node.run_place:run_place", compares_store=False
    ),
    "server run": OnNode(
        requests.RunServer, "scratchflow.node.serving.run:run_server", compares_store=False
    ),
    "freeze": OnNode(requests.Freeze, "scratchflow.node.job.freeze:freeze", compares_store=False),
    "job run": OnNode(requests.RunJob, "scratchflow.node.job.run:run_job", opens_scratch=True),
    "job tail": OnNode(requests.TailLogs, "scratchflow.node.job.tail:tail", compares_store=False),
    "job further": OnNode(
        requests.FurtherJob, "scratchflow.node.job.further:run_further", opens_scratch=True
    ),
    "job debug": OnNode(requests.DebugTask, "scratchflow.node.job.debug:prepare_debug"),
    "job outputs": OnNode(requests.PutOutputs, "scratchflow.node.job.outputs:put_outputs"),
    "settle": OnNode(requests.Settle, "scratchflow.node.settle:settle"),
    "autobackup run": OnNode(
        requests.Autobackup, "scratchflow.node.autobackup.loop:run_autobackup"
    ),
    "restore": OnNode(requests.Restore, "scratchflow.node.restore.restore:requested_restore"),
    "snapshots list": OnNode(
        requests.Nothing, "scratchflow.node.history.history:list_snapshots", needs_scratch=False
    ),
    "snapshots show": OnNode(
        requests.Show, "scratchflow.node.history.history:show_snapshot", needs_scratch=False
    ),
    "snapshots cat": OnNode(
        requests.Cat, "scratchflow.node.contents.content:send_content", needs_scratch=False
    ),
    "snapshots history": OnNode(
        requests.History, "scratchflow.node.contents.versions:path_history", needs_scratch=False
    ),
    "snapshots diff": OnNode(
        requests.Diff, "scratchflow.node.history.snapshot_diff:diff_snapshots", needs_scratch=False
    ),
    "snapshots diff workspace": OnNode(
        requests.DiffWorkspace, "scratchflow.node.history.live_diff:diff_workspace"
    ),
    "snapshots verify": OnNode(
        requests.Verify,
        "scratchflow.node.history.verification:requested_verification",
        needs_scratch=False,
    ),
    "snapshots prune": OnNode(
        requests.Prune, "scratchflow.node.retention:prune_snapshots", needs_scratch=False
    ),
    "snapshots keep": OnNode(
        requests.Mark, "scratchflow.node.retention:keep_snapshots", needs_scratch=False
    ),
    "snapshots unkeep": OnNode(
        requests.Mark, "scratchflow.node.retention:unkeep_snapshots", needs_scratch=False
    ),
    "snapshots export": OnNode(
        requests.Export, "scratchflow.node.transfer.transfer:requested_export"
    ),
    "snapshots send": OnNode(
        requests.Send, "scratchflow.node.transfer.send:send_snapshot", needs_scratch=False
    ),
    "snapshots offer": OnNode(
        requests.Offer, "scratchflow.node.transfer.copy:offer", needs_scratch=False
    ),
    "snapshots lacking": OnNode(
        requests.Lacking, "scratchflow.node.transfer.copy:lacking", needs_scratch=False
    ),
    "snapshots give": OnNode(
        requests.GiveArchive, "scratchflow.node.transfer.copy:give", needs_scratch=False
    ),
    "snapshots take": OnNode(
        requests.TakeArchive, "scratchflow.node.transfer.copy:take", needs_scratch=False
    ),
    "snapshots adopt": OnNode(
        requests.Adopt, "scratchflow.node.transfer.copy:adopt", needs_scratch=False
    ),
    "snapshots mirror": OnNode(
        requests.DryRun, "scratchflow.node.mirror.send:mirror_snapshots", needs_scratch=False
    ),
    "mirror keep": OnNode(
        requests.Nothing, "scratchflow.node.mirror.keep:keep_mirrored", needs_scratch=False
    ),
    "snapshots fetch": OnNode(
        requests.FetchSnapshots,
        "scratchflow.node.mirror.fetch:fetch_snapshots",
        needs_scratch=False,
    ),
    "snapshots newer": OnNode(requests.Newer, "scratchflow.node.restore.unsaved:find_newer"),
    "snapshots import": OnNode(
        requests.Import, "scratchflow.node.transfer.transfer:requested_import"
    ),
}

ON_LOGIN = {
    "nodes": OnLogin(requests.Nothing, "scratchflow.login.nodes:show_nodes"),
    "survey": OnLogin(requests.Survey, "scratchflow.login.survey:survey"),
    "check": OnLogin(requests.Look, "scratchflow.login.check:check_login"),
    "hold": OnLogin(requests.Hold, "scratchflow.login.hold.hold:hold_node"),
    "release": OnLogin(requests.Release, "scratchflow.login.release:release_node"),
    "look": OnLogin(requests.ShowStatus, "scratchflow.login.status.status:look"),
    "make ready": OnLogin(requests.MakeReady, "scratchflow.dispatch.make_ready:make_ready"),
    "watch": OnLogin(requests.Watch, "scratchflow.login.status.watch:watch"),
    "session": OnLogin(requests.Session, "scratchflow.login.session:ready_session"),
    "run carrier": OnLogin(requests.CarrierOf, "scratchflow.login.run:carrier"),
    "run detached": OnLogin(requests.RunDetached, "scratchflow.login.run:run_detached"),
    "server start": OnLogin(requests.StartServer, "scratchflow.login.serving.start:start_server"),
    "server list": OnLogin(requests.Nothing, "scratchflow.login.serving.look:list_servers"),
    "server stop": OnLogin(requests.StopServers, "scratchflow.login.serving.stop:stop_servers"),
    "sync look": OnLogin(requests.SyncLook, "scratchflow.login.homes:look_at_home"),
    "sync count": OnLogin(requests.SyncCount, "scratchflow.login.homes:count_files"),
    "sync note": OnLogin(requests.SyncNote, "scratchflow.login.sync_notes:note_again"),
    "submit": OnLogin(requests.Submit, "scratchflow.login.jobs.submit:submit"),
    "jobs": OnLogin(requests.ListJobs, "scratchflow.login.jobs.list:list_jobs"),
    "jobs show": OnLogin(requests.OneJob, "scratchflow.login.jobs.list:show_job"),
    "jobs rerun": OnLogin(requests.RerunJob, "scratchflow.login.jobs.rerun:rerun_job"),
    "jobs diff": OnLogin(requests.CompareJobs, "scratchflow.login.jobs.compare:compare_jobs"),
    "jobs outputs": OnLogin(requests.JobOutputs, "scratchflow.login.jobs.outputs:show_outputs"),
    "jobs prune": OnLogin(requests.PruneJobs, "scratchflow.login.jobs.prune:prune_jobs"),
    "cancel": OnLogin(requests.CancelJobs, "scratchflow.login.jobs.cancel:cancel_jobs"),
    "logs": OnLogin(requests.ReadLogs, "scratchflow.login.jobs.logs:read_logs"),
    "jobs open": OnLogin(requests.OpenJobs, "scratchflow.login.status.jobs:open_jobs"),
    "autobackup on": OnLogin(requests.SwitchOn, "scratchflow.login.autobackup.switch:switch_on"),
    "autobackup off": OnLogin(requests.DryRun, "scratchflow.login.autobackup.switch:switch_off"),
    "autobackup status": OnLogin(requests.Nothing, "scratchflow.login.autobackup.switch:show"),
}


def function_of(operation: OnNode | OnLogin) -> Callable[..., Result]:
    """The function that does it, imported now."""
    module, _, name = operation.function.partition(":")
    function: Callable[..., Result] = getattr(importlib.import_module(module), name)
    return function


def do_here(
    do: str,
    settings: Settings,
    request: Arguments,
    emit: Emit,
    *,
    wants_items: bool = False,
    store_seen: StoreSeen | None = None,
    received: Iterator[bytes] | None = None,
    job: KnownJob = NO_JOB,
) -> Result:
    """Does it on this machine, which is the right one; `received` is what was sent along.

    `job` is what whoever asks knows of the job that this is done in.
    """
    settings = with_store_found(settings, os.environ)
    if do in ON_LOGIN:
        from scratchflow.login.host import LoginHost

        done = function_of(ON_LOGIN[do])(LoginHost(settings, os.environ, emit), request)
        start_mirroring(do, settings, os.environ)
        return done
    from scratchflow.node.context import node_context
    from scratchflow.node.progress import Notifier

    served = ON_NODE[do]
    here = node_context(
        settings,
        os.environ,
        needs_scratch=served.needs_scratch,
        job_name=job.name,
        store_seen=store_seen,
        received=received,
        scratch=job.scratch,
    )
    if served.opens_scratch:
        from scratchflow.disk.trees import open_directory

        open_directory(here.workspace.scratch)
    with _refusing_closed_scratch(here, served):
        if served.compares_store:
            from scratchflow.node.same_store import require_same_store, require_store_here

            require_store_here(here, os.environ)
            if store_seen is not None:
                require_same_store(here)
        notify = Notifier(emit, wants_items=wants_items)
        is_dry = isinstance(request, requests.DryRun) and request.dry_run
        if served.needs_scratch and not is_dry:
            from scratchflow.node.base_note import note_what_was_saved

            note_what_was_saved(here, notify)
        done = function_of(served)(here, notify, request)
    start_mirroring(do, settings, os.environ)
    return done


@contextmanager
def _refusing_closed_scratch(here: NodeContext, served: OnNode) -> Iterator[None]:
    """ScratchUnusable in place of what nobody expected, where the user may not enter their own scratch."""
    try:
        yield
    except (PermissionError, WorkspaceFailed):
        if served.needs_scratch:
            from scratchflow.workspace.usual_scratch import require_usable_scratch

            require_usable_scratch(here.workspace, here.node)
        raise
