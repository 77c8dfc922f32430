"""Runs on the login host as alice: restores snapshots of her store into a directory, each beneath its own id."""

import json
import os
import sys
from pathlib import Path

from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.errors import ScratchflowError
from scratchflow.node.context import Here, here_with
from scratchflow.node.progress import Teller
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreWish


def here(store: str, target: Path) -> Here:
    """A machine without a workspace that sees the same store."""
    config = target / "config.toml"
    config.write_text(
        f'[profiles.back]\nscheduler = "none"\nscratch = "{target}/none"\nstore = "{store}"\n'
    )
    environment = {"USER": "alice", "HOME": os.environ["HOME"]}
    return here_with(load_settings(Asked(config=str(config)), environment), environment)


def main(store: str, target: Path, snapshots: list[str]) -> int:
    """Prints why a snapshot did not come back, by id."""
    target.mkdir(exist_ok=True)
    machine = here(store, target)
    failed: dict[str, str] = {}
    for snapshot in snapshots:
        try:
            wish = RestoreWish(snapshot, to=target / snapshot)
            restore(machine, Teller(lambda _: None), wish)
        except ScratchflowError as error:
            failed[snapshot] = f"{error.code}: {error}"
    json.dump(failed, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
