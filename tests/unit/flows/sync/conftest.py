"""Two homes on this machine, with the real unison in each, as two login hosts have them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from scratchflow.cluster.unison.command import Homes, Rules
from scratchflow.flows.sync.conversation import Pair, Person
from scratchflow.flows.sync.pair import sync_pair
from scratchflow.login.homes import count_in
from scratchflow.model.events import Event
from scratchflow.model.requests import SyncCount
from scratchflow.model.results.sync import FilesCounted, SyncedPair
from scratchflow.reach.sync.relay import Relay, Side

MANY = {f"p/d{number % 10}/f{number}": f"{number}\n" for number in range(200)}


class TwoHomes:
    """`uni` is the first profile, `aws` the other."""

    def __init__(self, directory: Path) -> None:
        self.uni, self.aws = directory / "uni", directory / "aws"
        self.uni.mkdir()
        self.aws.mkdir()
        self.events: list[Event] = []
        self.carrier: list[str] = []
        """What the far end in `aws` is started with, like `ssh` elsewhere."""
        self.looks_again = False
        """Whether what was written just now is read again, which takes seconds."""
        self.noted: list[str] = []
        """What the next sync is to read in full."""

    def pair(self, **changes: object) -> Pair:
        rules = Rules(folders=["p"], leave_out=[".ssh", ".cache"], keep_versions=3)
        pair = Pair(
            first="uni",
            other="aws",
            homes=Homes(
                program="unison", home=str(self.uni), other="aws", other_home=str(self.aws)
            ),
            other_program="unison",
            rules=rules,
            relay=Relay(self._side("uni", []), self._side("aws", self.carrier), os.environ),
            count_first=self._counting(self.uni),
            count_other=self._counting(self.aws),
            noted=self.noted,
            note=self._note,
        )
        return msgspec.structs.replace(pair, **changes)

    def sync(self, person: Person | None = None, **changes: object) -> SyncedPair:
        return sync_pair(self.pair(**changes), person or Person(), self.events.append)

    def rules(self, **changes: object) -> Rules:
        return msgspec.structs.replace(self.pair().rules, **changes)

    def _counting(self, home: Path) -> Callable[[SyncCount], FilesCounted]:
        def count(request: SyncCount) -> FilesCounted:
            if request.written and not self.looks_again:
                request = msgspec.structs.replace(request, written=())
            return count_in(home, request)

        return count

    def _note(self, paths: Sequence[str]) -> None:
        self.noted = list(paths)

    def _side(self, name: str, carrier: Sequence[str]) -> Side:
        home = {"uni": self.uni, "aws": self.aws}[name]
        argv = [
            "env",
            "-u",
            "UNISON",
            f"HOME={home}",
            sys.executable,
            "-m",
            "scratchflow",
            "sync-end",
        ]
        variables = {"UNISONLOCALHOSTNAME": name}
        host = f"login-{name}"
        return Side(profile=name, host=host, argv=[*carrier, *argv], variables=variables)


@pytest.fixture
def homes(tmp_path: Path) -> TwoHomes:
    return TwoHomes(tmp_path)


@pytest.fixture
def equal(homes: TwoHomes) -> TwoHomes:
    written(homes.uni, MANY)
    homes.sync()
    return homes


def written(directory: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def content_of(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): path.read_text()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
