"""Which result each operation hands back. Its family is imported when it is asked for.

The schema lists these by verb; a verb without an entry here has no machine-readable result.
"""

from importlib import import_module

from scratchflow.model.results.base import Result

# By the `op` of the events: the module beside this one, and the class in it.
RESULTS_BY_OP = {
    "version": "base:VersionShown",
    "help": "base:HelpShown",
    "setup": "setup:ClusterSetUp",
    "setup remove": "setup:SetupRemoved",
    "setup sites": "setup:SitesListed",
    "setup --list-hosts": "setup:HostsListed",
    "survey": "setup:Surveyed",
    "nodes": "allocation:NodesShown",
    "allocate": "allocation:Allocated",
    "hold": "allocation:NodeHeld",
    "clear": "allocation:Cleared",
    "release": "allocation:NodeReleased",
    "status": "status:StatusShown",
    "status --all": "status:StatusOfAll",
    "look": "status:StatusShown",
    "watch": "status:StatusShown",
    "attach": "run:Attached",
    "session": "run:SessionReady",
    "environment": "run:EnvironmentReady",
    "run": "run:RunEnded",
    "shell": "run:RunEnded",
    "run carrier": "run:RunCarrier",
    "copy": "backup:CopyState",
    "usage": "usage:UsageRead",
    "run place": "run:RunPlace",
    "run detached": "run:RunWindow",
    "serve": "serve:Serving",
    "serve list": "serve:ServersListed",
    "serve stop": "serve:ServersStopped",
    "server start": "serve:ServerStarted",
    "server list": "serve:ServersSeen",
    "server stop": "serve:ServersStopped",
    "server run": "serve:ServerEnded",
    "tunnel": "serve:TunnelOpened",
    "sync": "sync:Synced",
    "sync --last": "sync:SyncRecalled",
    "sync look": "sync:SyncSide",
    "sync count": "sync:FilesCounted",
    "sync note": "sync:SyncNoted",
    "submit": "jobs:Submitted",
    "freeze": "jobs:Frozen",
    "job run": "jobs:JobRan",
    "job tail": "jobs:LogRead",
    "job further": "jobs:FurtherEnded",
    "job debug": "jobs:DebugReady",
    "jobs debug": "jobs:DebugReady",
    "jobs": "jobs:JobsListed",
    "jobs show": "jobs:JobInspected",
    "jobs rerun": "jobs:Submitted",
    "jobs diff": "jobs:JobsCompared",
    "jobs prune": "jobs:JobsPruned",
    "jobs code": "restore:Restored",
    "jobs outputs": "jobs:OutputsShown",
    "job outputs": "jobs:OutputsPut",
    "cancel": "jobs:JobsCancelled",
    "logs": "jobs:LogsShown",
    "up": "up:UpAndRunning",
    "hop --to": "allocation:HoppedTo",
    "hop": "allocation:Hopped",
    "open": "up:EditorOpened",
    "settle": "restore:Settled",
    "make ready": "up:MadeReady",
    "jobs open": "status:JobsShown",
    "locate": "run:ScratchLocated",
    "autobackup on": "backup:AutobackupSwitched",
    "autobackup off": "backup:AutobackupSwitched",
    "autobackup status": "backup:AutobackupStatus",
    "autobackup run": "backup:AutobackupEnded",
    "check node": "checks:ChecksDone",
    "doctor": "checks:ChecksDone",
    "check": "checks:ChecksDone",
    "config show": "config:ConfigShown",
    "config path": "config:ConfigPath",
    "config set": "config:ConfigChanged",
    "config unset": "config:ConfigChanged",
    "config get": "config:ConfigValue",
    "config import": "config:ConfigImported",
    "profiles list": "config:ProfilesListed",
    "profiles use": "config:ProfileWritten",
    "profiles add": "config:ProfileWritten",
    "profiles copy": "config:ProfileWritten",
    "profiles remove": "config:ProfileRemoved",
    "create": "create:WorkspaceCreated",
    "create ready": "create:ReadyToReceive",
    "backup": "backup:BackupTaken",
    "save node": "backup:NodeSaved",
    "restore": "restore:Restored",
    "snapshots list": "snapshots:SnapshotsListed",
    "snapshots list all": "snapshots:SnapshotsOfAll",
    "snapshots show": "snapshots:SnapshotShown",
    "snapshots cat": "snapshots:FileShown",
    "snapshots history": "snapshots:PathHistory",
    "snapshots diff": "snapshots:SnapshotsDiffed",
    "snapshots diff workspace": "snapshots:SnapshotsDiffed",
    "snapshots verify": "snapshots:SnapshotsVerified",
    "snapshots prune": "snapshots:SnapshotsPruned",
    "snapshots keep": "snapshots:SnapshotsMarked",
    "snapshots unkeep": "snapshots:SnapshotsMarked",
    "snapshots export": "transfer:SnapshotExported",
    "snapshots send": "transfer:SnapshotSent",
    "snapshots offer": "transfer:SnapshotsOffered",
    "snapshots lacking": "transfer:SnapshotsLacking",
    "snapshots give": "transfer:ArchiveGiven",
    "snapshots take": "transfer:ArchiveTaken",
    "snapshots adopt": "transfer:SnapshotAdopted",
    "snapshots mirror": "transfer:SnapshotsMirrored",
    "mirror keep": "transfer:MirrorKept",
    "snapshots fetch": "snapshots:SnapshotsFetched",
    "snapshots import from-mirror": "snapshots:SnapshotsFetched",
    "snapshots copy": "transfer:SnapshotsCopied",
    "snapshots newer": "transfer:NewerFound",
    "snapshots import": "transfer:SnapshotImported",
}


def result_of(op: str) -> type[Result]:
    """The class of its result.

    To be called before another machine is asked: what is imported stays when the package is replaced meanwhile.
    """
    module, _, name = RESULTS_BY_OP[op].partition(":")
    kind: type[Result] = getattr(import_module(f"{__package__}.{module}"), name)
    return kind


def all_results() -> dict[str, type[Result]]:
    """The class of every operation; imports all families."""
    return {op: result_of(op) for op in RESULTS_BY_OP}
