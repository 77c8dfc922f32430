"""Two profiles for tests of what goes from one to the other."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows.transfer.copy import copy_snapshots
from scratchflow.model.events import Event
from scratchflow.model.requests import Offer
from scratchflow.model.results.transfer import SnapshotsCopied
from scratchflow.node.history.verification import verify_snapshots
from tests.unit.conftest import Desk, make_desk


class Two:
    """Two profiles, each with a scratch and a store of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.here, self.there = (self._desk(name) for name in ("here", "there"))
        self.config = directory / "config.toml"
        self.write_config()

    def _desk(self, name: str) -> Desk:
        (self.directory / name).mkdir()
        return make_desk(self.directory / name)

    def write_config(self, there: str = "") -> None:
        self.config.write_text(
            "".join(
                f'[profiles.{name}]\nscheduler = "none"\nscratch = "{self.directory}/{name}/scratch"\n'
                f'store = "{self.directory}/{name}/store"\n{more}'
                for name, more in (("here", ""), ("there", there))
            )
        )

    def copy(
        self, *names: str, dry_run: bool = False, to: str = "there", profile: str = "here"
    ) -> SnapshotsCopied:
        self.events: list[Event] = []
        environment = {"USER": "u", "HOME": str(self.directory)}
        asked = Asked(config=str(self.config), profile=profile)
        who = Caller(asked=asked, environment=environment)
        request = Offer(snapshots=names)
        return copy_snapshots(who, request, to, self.events.append, dry_run=dry_run)

    def require_same(self, snapshot: str) -> None:
        """Both stores restore it alike, and the other one is whole."""
        ours, theirs = (self.directory / f"{snapshot}-{side}" for side in ("ours", "theirs"))
        self.here.restore(snapshot, to=ours)
        self.there.restore(snapshot, to=theirs)
        assert self.here.content(ours) == self.here.content(theirs)
        for one in (ours, theirs):
            shutil.rmtree(one)
        verified = verify_snapshots(self.there.context, self.there.notify, [])
        assert verified.bad == []


@pytest.fixture
def two(tmp_path: Path) -> Two:
    """Three snapshots: a full one and two that need it."""
    two = Two(tmp_path)
    for number in range(3):
        two.here.write(f"work/file {number}", os.urandom(700_000))
        two.here.write("work/changes", f"{number}")
        two.here.backup()
    return two


def rot(archive: Path, where: float = 0.5) -> None:
    """A byte of it changes, as on a failing disk."""
    content = bytearray(archive.read_bytes())
    content[int(len(content) * where)] ^= 1
    archive.chmod(0o600)
    archive.write_bytes(content)
