"""The product as one user has it: a workspace, a store, settings and a clock that can be changed."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec

from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.snapshot import Manifest
from scratchflow.node.context import Here, here_with
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import Place, find_place

EPOCH = datetime(2026, 11, 15, 9, 30, tzinfo=timezone.utc)


class Desk:
    """Where the flows are called from."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # Stores may lie on another file system than the workspaces.
        stores = os.environ.get("SCRATCHFLOW_ORACLE_STORES")
        self.store = Path(stores) / directory.name if stores else directory / "store"
        self.scratch = directory / "scratch"
        self.work = self.scratch / "work"
        self.work.mkdir(parents=True)
        self.exclude: list[str] = []
        self.also: list[str] = []
        self.keep = {"keep_last": 10, "keep_hourly": 24, "keep_daily": 7, "keep_weekly": 4}
        self.clock = EPOCH
        self._plain = self._here()

    def _here(self) -> Here:
        config = self.directory / "config.toml"
        config.write_text(
            '[profiles.test]\nscheduler = "none"\n'
            f'scratch = "{self.scratch}"\nstore = "{self.store}"\n'
        )
        environment = {"USER": "u", "HOME": str(self.directory)}
        return here_with(load_settings(Asked(config=str(config)), environment), environment)

    @property
    def here(self) -> Here:
        """With the settings of this moment; each call is a second later."""
        replace = msgspec.structs.replace
        plain = self._plain
        options = replace(plain.profile.backup, exclude=self.exclude, also=self.also, **self.keep)
        profile = replace(plain.profile, backup=options)
        return replace(
            plain,
            settings=replace(plain.settings, profile=profile),
            workspace=replace(plain.workspace, also=tuple(self.also)),
            now=self.now,
        )

    def now(self) -> datetime:
        """The clock that the product sees."""
        self.clock += timedelta(seconds=1)
        return self.clock

    @property
    def place(self) -> Place:
        return find_place(self.here.store, "work")

    def listed(self) -> list[Manifest]:
        """The snapshots, oldest first."""
        return list(read_catalogue(self.place).snapshots)

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.listed()]
