"""A profile of its own for each test, its workspace and store in a temporary directory."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.events import Event, Warned
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.results.restore import Restored
from scratchflow.node.backup import backup
from scratchflow.node.context import NodeContext, node_context
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreOptions
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import StoreDirectory, find_place


@dataclass
class Desk:
    """The flows as a test calls them, and everything they said."""

    context: NodeContext
    events: list[Event] = field(default_factory=list)

    @property
    def work(self) -> Path:
        return self.context.workspace.path

    @property
    def scratch(self) -> Path:
        return self.context.workspace.scratch

    @property
    def place(self) -> StoreDirectory:
        return find_place(self.context.store, self.context.workspace.name)

    @property
    def notify(self) -> Notifier:
        return Notifier(self.events.append)

    @property
    def warnings(self) -> list[str]:
        return [event.code for event in self.events if isinstance(event, Warned)]

    @property
    def ids(self) -> list[str]:
        return [one.id for one in read_catalogue(self.place).snapshots]

    def write(self, path: str, content: str | bytes = "x") -> Path:
        file = self.scratch / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    def backup(self, **options: object) -> BackupTaken:
        return backup(self.context, self.notify, SnapshotOptions(**options))  # type: ignore[arg-type]  # by name

    def restore(self, snapshot: str = "latest", **options: object) -> Restored:
        return restore(self.context, self.notify, RestoreOptions(snapshot, **options))  # type: ignore[arg-type]  # by name

    def content(self, top: Path | None = None) -> dict[str, bytes]:
        """Every file beneath, by its path."""
        top = top or self.work
        return {
            str(path.relative_to(top)): path.read_bytes()
            for path in sorted(top.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }


def unpack_plainly(archive: Path, target: Path) -> None:
    """The way out that needs no scratchflow."""
    _pipe(["lz4", "-dc", str(archive)], ["tar", "-xf", "-", "-C", str(target)])


def pack_plainly(top: Path, name: str, archive: Path) -> None:
    """A `.tar.lz4` as people made them before."""
    with archive.open("wb") as out:
        _pipe(["tar", "-C", str(top), "-cf", "-", name], ["lz4", "-q"], out)


def _pipe(first: list[str], second: list[str], out: IO[bytes] | None = None) -> None:
    with subprocess.Popen(first, stdout=subprocess.PIPE) as source:
        subprocess.run(second, stdin=source.stdout, stdout=out, check=True)
    assert source.returncode == 0


def make_desk(directory: Path, more: str = "") -> Desk:
    config = directory / "config.toml"
    config.write_text(
        "[profiles.test]\n"
        'scheduler = "none"\n'
        f'scratch = "{directory}/scratch"\n'
        f'store = "{directory}/store"\n{more}'
    )
    environment = {"USER": "u", "HOME": "/h"}
    desk = Desk(node_context(load_settings(Asked(config=str(config)), environment), environment))
    desk.work.mkdir(parents=True)
    return desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with three files in the workspace."""
    desk = make_desk(tmp_path)
    desk.write("work/README", "hello")
    desk.write("work/src/main.py", "print()")
    desk.write("work/data/big.bin", random.Random(1).randbytes(1_000_000))  # noqa: S311 - data
    return desk
