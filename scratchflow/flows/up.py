"""`up`: everything that is missing to start working, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.dispatch.cluster import Caller, Cluster, cluster_of
from scratchflow.flows.alias import (
    ALIAS_UNREAD,
    lines_are_back,
    put_lines_back,
    require_alias_beside_login,
    show_alias,
)
from scratchflow.flows.allocate import allocate_on, session_here
from scratchflow.flows.moved import CODE as MOVED
from scratchflow.flows.moved import forget_move, moved_in_words, read_move
from scratchflow.flows.open import opened
from scratchflow.flows.status import seen_on, with_alias
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    NodeFailed,
    NodeSilent,
)
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.errors.by_code import error_from_agent
from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.errors.store import (
    NoSpace,
    StoreLost,
    StoreNotShared,
    StoreReplaced,
    StoreUnusable,
)
from scratchflow.model.events import PHASE_WORKSPACE, Emit, Event, Log, Progress, Warned
from scratchflow.model.requests import EVERY_NODE, Hold, MakeReady, Settle, SwitchOn
from scratchflow.model.results.allocation import Allocated
from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.setup import ClusterSetUp
from scratchflow.model.results.status import (
    FEWER_NODES,
    ON_FAILED_NODE,
    STORE_MOVED,
    Problem,
    StatusShown,
)
from scratchflow.model.results.up import EditorOpened, MadeReady, UpAndRunning
from scratchflow.node.environment.missing import ENVIRONMENT_MISSING, missing_in_words
from scratchflow.process.interrupted import Interrupted

# These say themselves whether the node is still ours.
_OF_THE_NODE = (AllocationEnded, AllocationMissing, NodeFailed, NodeSilent)
# With these the last backup of `clear` fails, too.
_NO_BACKUP = frozenset({StoreReplaced.code, StoreNotShared.code})
# Nothing that `up` does mends these; of others, what was seen before it may be over.
_STAYS = frozenset({NoSpace.code, StoreUnusable.code, FEWER_NODES, ON_FAILED_NODE, ALIAS_UNREAD})


def up(caller: Caller, emit: Emit, request: Hold, *, run_editor: bool) -> UpAndRunning:
    """A node, the workspace on it, the auto-backup. Each step looks first; killed, it goes on next time."""
    settings = caller.settings()
    require_alias_beside_login(settings, dry_run=request.dry_run)
    remembers = not request.dry_run
    with cluster_of(settings, caller, emit, once=True, remembers=remembers) as cluster:
        if not request.dry_run:
            _put_lines_back(settings, emit)
        ready = _looked(cluster, request)
        seen, settled, autobackup = ready.seen, ready.workspace, ready.autobackup
        _require_store(cluster.settings, seen, dry_run=request.dry_run)
        _warn_of_another_store(seen, emit)
        allocated = None
        if settled is None or autobackup is None:
            _warn_if_moved(settings, seen, emit)
            allocated = _node(cluster, seen, request)
            if request.dry_run:
                return _foretold(cluster, seen, allocated)
            settled, autobackup = _settled(cluster, seen, allocated)
            forget_move(settings.name)
        else:
            _say(settled, emit)
    editor = opened(settings, settled.path, caller.environment, run=run_editor, exists=True)
    node, job_id, end_time = _held(seen, allocated)
    brought = settled.action != "nothing" or _is_brought_to_others(seen, settled)
    changed = allocated is not None or brought or autobackup.changed
    return UpAndRunning(
        job_id=job_id,
        node=node,
        end_time=end_time,
        alias=settings.profile.alias if settings.profile.scheduler == "slurm" else None,
        workspace=settled,
        autobackup=autobackup,
        editor=editor,
        changed=changed,
        problems=[
            *(one for one in seen.problems if _is_still(one, node, changed=changed)),
            *_without_environment(settings, settled, node),
        ],
        reused=allocated is None or allocated.reused,
        nodes=_nodes(seen, allocated),
    )


def _put_lines_back(settings: Settings, emit: Emit) -> None:
    """Who cannot have them back is told, and works on: the node is reached by other ways, too."""
    if settings.profile.scheduler == "none":
        return
    try:
        if put_lines_back(settings):
            emit(Log(level="info", message=lines_are_back(settings)))
    except SshConfigRefused as error:
        emit(Warned(code=error.code, message=f"{error}; {error.shown_hint}"))


def _is_still(problem: Problem, node: str | None, *, changed: bool) -> bool:
    """Whether it was seen before, and is true afterwards. What lay on a node that we have again was saved."""
    if problem.name == ON_FAILED_NODE and f"`{node}`" in problem.detail:
        return False
    # That the environment is missing is known from the node itself by now.
    return problem.name in _STAYS or (not changed and problem.name != ENVIRONMENT_MISSING)


def _without_environment(
    settings: Settings, settled: Settled, node: str | None
) -> Iterator[Problem]:
    """A node is new, and the venv or conda environment of the profile was left on another."""
    if settled.missing_layer:
        detail, fix = missing_in_words(settings.profile, settled.missing_layer, node or "")
        yield Problem(name=ENVIRONMENT_MISSING, detail=detail, fix=fix)


def _is_brought_to_others(seen: StatusShown, settled: Settled) -> bool:
    """Whether a further node had no workspace when it was looked at, and has it now."""
    missing = {copy.node for copy in seen.copies if not copy.exists}
    return not missing.isdisjoint(settled.nodes)


def _looked(cluster: Cluster, request: Hold) -> MadeReady:
    """What is true now. When a node is held, the login host does the rest in the same request."""
    settings, caller = cluster.settings, cluster.caller
    if request.dry_run or request.node or settings.profile.scheduler == "none":
        return MadeReady(seen=seen_on(cluster))
    shown = show_alias(settings)
    leads = (shown.target, *shown.others) if shown and shown.target else ()
    alias = None if shown is None else leads
    asked = MakeReady(alias=alias, verbose=caller.verbose)
    held: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Progress) and event.phase == PHASE_WORKSPACE:
            held[:] = alias or ()
        cluster.emit(event)

    try:
        with _saying_that_the_node_stays(held):
            ready = cluster.on_login("make ready", asked, MadeReady, emit=watch)
    except (AllocationEnded, NodeFailed) as error:  # its node is lost: what follows takes another
        cluster.emit(Warned(code=error.code, message=f"{error}; taking another node"))
        return MadeReady(seen=seen_on(cluster))
    return msgspec.structs.replace(ready, seen=with_alias(settings, ready.seen, caller))


def _settled(
    cluster: Cluster, seen: StatusShown, allocated: Allocated | None
) -> tuple[Settled, AutobackupSwitched]:
    """The workspace on the node, and the auto-backup."""
    node = _held(seen, allocated)[0]
    with _saying_that_the_node_stays([node] if node else [], allocated):
        cluster.emit(Progress(phase=PHASE_WORKSPACE))
        # Of this job: another laptop that starts at the same moment may hold a younger one for a second.
        taken = allocated.job_id if allocated else None
        settled = cluster.at_workspace("settle", Settle(), Settled, job_id=taken, node=EVERY_NODE)
        _say(settled, cluster.emit)
        switch = SwitchOn(job_id=taken)
        return settled, cluster.on_login("autobackup on", switch, AutobackupSwitched)


def _require_store(settings: Settings, seen: StatusShown, *, dry_run: bool) -> None:
    """The refusal that would come later anyway, before a node is taken for nothing.

    A store that the login host cannot write to may be in order on the node: only a dry run, which cannot look there, goes by it.
    Without a cluster this machine is the node: nothing is written to the store there once the auto-backup runs.
    """
    refused: list[type[ScratchflowError]] = [StoreLost]
    is_here = settings.profile.scheduler == "none"
    is_there = seen.allocation and seen.workspace.exists
    is_ready = is_there and (seen.autobackup.enabled or not is_here)
    if dry_run and is_here and not is_ready:
        refused.append(StoreReplaced)
    if dry_run and not is_ready:
        refused.append(StoreUnusable)
    for kind, problem in product(refused, seen.problems):
        if problem.name == kind.code:
            raise error_from_agent(
                problem.name,
                problem.detail,
                problem.fix,
                retryable=kind.retryable,
                exit_code=kind.exit_code,
            )


def _warn_of_another_store(seen: StatusShown, emit: Emit) -> None:
    """Before a workspace is made that would be empty."""
    for problem in seen.problems:
        if problem.name == STORE_MOVED:
            emit(Warned(code=problem.name, message=f"{problem.detail}; {problem.fix}"))


def _warn_if_moved(settings: Settings, seen: StatusShown, emit: Emit) -> None:
    """Before a node is taken for what `hop --to` left behind, while there is time for Ctrl-C."""
    moved = None if seen.allocation else read_move(settings)
    if moved is not None:
        what, how = moved_in_words(settings.name, moved)
        emit(Warned(code=MOVED, message=f"{what}, and what follows goes on without it; {how}"))


@contextmanager
def _saying_that_the_node_stays(
    held: Sequence[str], taken: Allocated | None = None
) -> Iterator[None]:
    """Ctrl-C or an error in here leaves the node ours, and the user should know. `held` is empty while none is known.

    An error says so only of a job that was `taken` just now, and not when it is about the node itself.
    """
    try:
        yield
    except _OF_THE_NODE:
        raise
    except ScratchflowError as error:
        if taken is not None and taken.job_id is not None and not taken.reused:
            stays = f"job {taken.job_id} on `{taken.node}` stays yours"
            error.add_step(f"{stays}; {_gives_back(error)}")
        raise
    except Interrupted as interrupted:
        if not held:
            raise
        stays = (
            f"`{held[0]}` stays ours: `scratchflow up` goes on, `scratchflow clear` gives it back."
        )
        raise EndedBySignal(interrupted.signum, stays) from interrupted


def _gives_back(error: ScratchflowError) -> str:
    """The command that does, with what it loses where no backup can be taken."""
    if error.code in _NO_BACKUP:
        return "`scratchflow clear --no-backup` gives it back, and saves nothing of what is there"
    return "`scratchflow clear` gives it back"


def foretold_with_set_up(planned: ClusterSetUp) -> UpAndRunning:
    """`up --dry-run` on a machine where the cluster has to be set up first."""
    values = {one.key: one.value for one in planned.values}
    workspace = f"{values.get('scratch', '')}/{values.get('workspace', '')}"
    return UpAndRunning(
        job_id=None,
        node=None,
        end_time=None,
        alias=values.get("alias"),
        workspace=None,
        autobackup=None,
        editor=EditorOpened(path=workspace, command=[], link="", opened=False),
        changed=True,
        command=planned.command,
        set_up_first=planned.login,
        dry_run=True,
    )


def _node(cluster: Cluster, seen: StatusShown, request: Hold) -> Allocated | None:
    """The node, taken if there is none, or if the alias does not lead to it; None when all is well."""
    held = seen.allocation
    if cluster.settings.profile.scheduler == "none":
        return None if held else session_here(cluster, request)
    if held and held.state == "running" and not request.node:
        alias = seen.alias
        if alias is None or [alias.target, *alias.others] == [held.node, *held.nodes[1:]]:
            return None
    return allocate_on(cluster, request)


def _say(settled: Settled, emit: Emit) -> None:
    texts = {
        "created": f"made the workspace `{settled.path}`",
        "restored": f"restored snapshot {settled.snapshot} to `{settled.path}`",
        "nothing": f"the workspace `{settled.path}` is there",
    }
    emit(Log(level="info", message=texts[settled.action]))
    saved = settled.restored.safety_snapshot if settled.restored else None
    if saved:
        message = f"what was there and in no snapshot yet is saved as a fork, snapshot {saved}"
        emit(Log(level="info", message=message))
    if settled.newer:
        message = (
            f"the workspace does not continue the newest snapshot, {settled.newer}, which was saved"
            " elsewhere; `scratchflow restore` brings that one, and saves first what is there"
        )
        emit(Warned(code="workspace.behind", message=message))


def _held(
    seen: StatusShown, allocated: Allocated | None
) -> tuple[str | None, int | None, str | None]:
    if allocated is not None:
        return allocated.node, allocated.job_id, allocated.end_time
    held = seen.allocation
    return (held.node, held.job_id, held.end_time) if held else (None, None, None)


def _nodes(seen: StatusShown, allocated: Allocated | None) -> list[str]:
    if allocated is not None:
        return allocated.nodes
    return seen.allocation.nodes if seen.allocation else []


def _foretold(cluster: Cluster, seen: StatusShown, allocated: Allocated | None) -> UpAndRunning:
    node, job_id, end_time = _held(seen, allocated)
    settings = cluster.settings
    return UpAndRunning(
        job_id=job_id,
        node=node,
        end_time=end_time,
        alias=settings.profile.alias,
        workspace=None,
        autobackup=None,
        editor=opened(settings, seen.workspace.path, cluster.caller.environment, run=False),
        changed=allocated is not None,
        command=allocated.command if allocated else "",
        dry_run=True,
        nodes=_nodes(seen, allocated),
    )
