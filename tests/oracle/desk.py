"""The product as one user has it: a workspace, a store, settings and a clock that can be changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec

from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.snapshot import Manifest
from scratchflow.node.context import NodeContext, node_context
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory, find_place
from tests.oracle.clocks import SteppingClock, WallClock


class Desk:
    """Where the commands are given."""

    def __init__(self, directory: Path, clock: SteppingClock | WallClock) -> None:
        self.directory = directory
        # Stores may lie on another file system than the workspaces.
        stores = os.environ.get("SCRATCHFLOW_ORACLE_STORES")
        self.store = Path(stores) / directory.name if stores else directory / "store"
        self.scratch = directory / "scratch"
        self.work = self.scratch / "work"
        self.work.mkdir(parents=True)
        self.config = directory / "config.toml"
        self.exclude: list[str] = []
        self.also: list[str] = []
        self.keep = {"keep_last": 10, "keep_hourly": 24, "keep_daily": 7, "keep_weekly": 4}
        self.clock = clock
        self.write_config()
        self._plain = self._context()

    @property
    def environment(self) -> dict[str, str]:
        return {"USER": "u", "HOME": str(self.directory)}

    def write_config(self) -> None:
        """The settings of this moment, as the program reads them."""
        lines = [
            "[profiles.test]",
            'scheduler = "none"',
            f'scratch = "{self.scratch}"',
            f'store = "{self.store}"',
            "[profiles.test.backup]",
            f"exclude = {json.dumps(self.exclude)}",
            f"also = {json.dumps(self.also)}",
            *(f"{key} = {count}" for key, count in self.keep.items()),
        ]
        self.config.write_text("\n".join(lines) + "\n")

    def _context(self) -> NodeContext:
        settings = load_settings(Asked(config=str(self.config)), self.environment)
        return node_context(settings, self.environment)

    @property
    def context(self) -> NodeContext:
        """With the settings of this moment."""
        replace = msgspec.structs.replace
        plain = self._plain
        options = replace(plain.profile.backup, exclude=self.exclude, also=self.also, **self.keep)
        profile = replace(plain.profile, backup=options)
        return replace(
            plain,
            settings=replace(plain.settings, profile=profile),
            workspace=replace(plain.workspace, also=tuple(self.also)),
            now=self.clock.look,
        )

    @property
    def place(self) -> StoreDirectory:
        return find_place(self.context.store, "work")

    def listed(self) -> list[Manifest]:
        """The snapshots, oldest first."""
        return list(read_catalogue(self.place).snapshots)

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.listed()]
