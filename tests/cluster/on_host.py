"""Runs on a host of the cluster as alice: `python3 on_host.py STORE VERB [ARGUMENT]`. Prints lines of JSON.

The scratch is the host's own; the store is seen as this host sees it.
"""

import json
import os
import sys
import time
from pathlib import Path

from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.requests import Prune
from scratchflow.node.backup import backup
from scratchflow.node.context import NodeContext, node_context
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreOptions
from scratchflow.node.retention import prune_snapshots
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.directory import open_place
from scratchflow.store.lock.lock import LockTiming
from scratchflow.testing.store import make_lock

NOTIFY = Notifier(lambda _: None)
SCRATCH = Path("/scratch/alice/on-host")
FILE = SCRATCH / "work/file"
# As short as a file system allows that shows attributes a second late.
TIMING = LockTiming(heartbeat_s=0.5, stale_after_s=8, confirm_s=4, poll_s=0.1)
# What no rule keeps goes at the next backup.
RULES = "keep_last = 1\nkeep_hourly = 0\nkeep_daily = 0\nkeep_weekly = 0\n"


def machine(store: str) -> NodeContext:
    SCRATCH.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = SCRATCH / "config.toml"
    config.write_text(
        f'[profiles.here]\nscheduler = "none"\nscratch = "{SCRATCH}"\nstore = "{store}"\n'
        f"[profiles.here.backup]\n{RULES}"
    )
    environment = {"USER": "alice", "HOME": os.environ["HOME"]}
    return node_context(load_settings(Asked(config=str(config)), environment), environment)


def do_backup(here: NodeContext, content: str) -> object:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(content)
    return backup(here, NOTIFY, SnapshotOptions()).snapshot


def do_backups(here: NodeContext, count: str) -> object:
    """One after the other, each with a content of its own; the last one."""
    return [do_backup(here, f"{os.uname().nodename} {one}") for one in range(int(count))][-1]


def do_restore(here: NodeContext, snapshot: str) -> object:
    found = restore(here, NOTIFY, RestoreOptions(snapshot or "latest")).snapshot
    return [found, FILE.read_text()]


def do_list(here: NodeContext, _: str) -> object:
    return [one.id for one in list_snapshots(here, NOTIFY).snapshots]


def do_prunes(here: NodeContext, count: str) -> object:
    """Prunes and lists again and again, while others write."""
    for _ in range(int(count)):
        prune_snapshots(here, NOTIFY, Prune())
        list_snapshots(here, NOTIFY)
    return "done"


def do_verify(here: NodeContext, _: str) -> object:
    return [one.reason for one in verify_snapshots(here, NOTIFY, []).bad]


def do_hold(here: NodeContext, _: str) -> object:
    """Holds the lock until it is killed, and shows signs of life."""
    with make_lock(open_place(here.store, "work"), timing=TIMING).acquired():
        sys.stdout.write('"held"\n')
        sys.stdout.flush()
        time.sleep(3600)
    return "let go"


def do_take(here: NodeContext, wait_s: str) -> object:
    """Takes the lock, or says who has it."""
    lock = make_lock(open_place(here.store, "work"), timing=TIMING)
    with lock.acquired(wait_s=float(wait_s)):
        lock.assert_held()
    return "taken"


def main(store: str, verb: str, argument: str = "") -> int:
    try:
        said = globals()[f"do_{verb}"](machine(store), argument)
    except ScratchflowError as error:
        said = {"code": error.code, "message": str(error)}
    sys.stdout.write(json.dumps(said) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
