"""Runs on the login host as alice: restores snapshots of her store into a directory, each beneath its own id."""

import json
import os
import sys
from pathlib import Path

from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.node.context import NodeContext, node_context
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreOptions


def context(store: str, target: Path) -> NodeContext:
    """A machine without a workspace that sees the same store."""
    config = target / "config.toml"
    config.write_text(
        f'[profiles.back]\nscheduler = "none"\nscratch = "{target}/none"\nstore = "{store}"\n'
    )
    environment = {"USER": "alice", "HOME": os.environ["HOME"]}
    return node_context(load_settings(Asked(config=str(config)), environment), environment)


def main(store: str, target: Path, snapshots: list[str]) -> int:
    """Prints why a snapshot did not come back, by id."""
    target.mkdir(exist_ok=True)
    machine = context(store, target)
    failed: dict[str, str] = {}
    for snapshot in snapshots:
        try:
            options = RestoreOptions(snapshot, to=target / snapshot)
            restore(machine, Notifier(lambda _: None), options)
        except ScratchflowError as error:
            failed[snapshot] = f"{error.code}: {error}"
    json.dump(failed, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
