"""What tests of the store need: a clock that stands still, locks, manifests, and small snapshots."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec

from scratchflow.archive.format.container import FOOTER_BYTES, pack_footer, unpack_footer
from scratchflow.archive.format.whole_digest import SHA256, WholeDigest
from scratchflow.model.ages import taken_s
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.snapshot import (
    MANIFEST_SCHEMA,
    Manifest,
    checked_manifest,
    seal_manifest,
    snapshot_id,
)
from scratchflow.model.times import iso_time
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.lock.lock import Clock, LockTiming, StoreLock
from scratchflow.store.lock.owner import Process, this_process

EPOCH = datetime(2026, 11, 15, 9, 30, tzinfo=timezone.utc)


class FakeClock:
    """Time that passes only when told to, or when somebody sleeps. Its wall clock may also jump."""

    def __init__(self, start: float) -> None:
        self.elapsed = 0.0
        self._wall_at_start = start
        self.on_sleep: Callable[[], None] = lambda: None

    @property
    def seconds(self) -> float:
        """What the wall clock shows."""
        return self._wall_at_start + self.elapsed

    def pass_by(self, seconds: float) -> None:
        """Lets time pass."""
        self.elapsed += seconds

    def step_wall_clock(self, seconds: float) -> None:
        """Sets the wall clock forward or back; no time passes."""
        self._wall_at_start += seconds

    def sleep(self, seconds: float) -> None:
        """Sleeps without waiting; `on_sleep` is what others do meanwhile."""
        self.elapsed += seconds
        self.on_sleep()

    @property
    def clock(self) -> Clock:
        """As the store wants it: stamps of files are this clock's too."""
        return Clock(
            now=lambda: self.seconds,
            monotonic=lambda: self.elapsed,
            sleep=self.sleep,
            touch=lambda file: os.utime(file, (self.seconds, self.seconds)),
        )


def make_id(minutes: float = 0, token: str = "abcdef") -> str:  # noqa: S107 - part of an id
    """An id of that many minutes after a fixed time."""
    return snapshot_id(EPOCH + timedelta(minutes=minutes), token)


def make_manifest(snapshot: str, **changes: Any) -> Manifest:
    """A manifest with nothing special about it."""
    plain = Manifest(
        schema=MANIFEST_SCHEMA,
        id=snapshot,
        time=iso_time(taken_s(snapshot)) or "",
        kind="full",
        parent=None,
        needs=[],
        workspace="work",
        also=[],
        node="n1",
        job_id=7,
        host="n1",
        tool_version="0",
        files=3,
        dirs=1,
        links=0,
        bytes=300,
        archive_bytes=0,
        archive_digest="",
        warnings=0,
        verified=True,
    )
    return msgspec.structs.replace(plain, **changes)


def make_lock(
    place: StoreDirectory,
    *,
    process: Process | None = None,
    clock: Clock = Clock(),  # noqa: B008 - frozen
    timing: LockTiming = LockTiming(),  # noqa: B008 - frozen
    doing: str = "backup",
    job_id: int | None = None,
) -> StoreLock:
    """A lock with a token of its own, not yet acquired."""
    token = secrets.token_hex(16)
    process = process or this_process()
    return StoreLock(
        place, process, token=token, doing=doing, job_id=job_id, timing=timing, clock=clock
    )


def commit_bytes(
    lock: StoreLock,
    snapshot: str,
    content: bytes,
    **changes: Any,
) -> Manifest:
    """Commits a snapshot whose archive is these bytes, written in a few pieces."""
    step = max(1, len(content) // 3)
    with NewSnapshot(lock, snapshot) as new:
        for start in range(0, len(content), step):
            new.file.write(content[start : start + step])
        digest = WholeDigest().text(content)
        return new.commit(make_manifest(snapshot, archive_digest=digest, **changes))


def verify_archive(place: StoreDirectory, manifest: Manifest) -> None:
    """Raises unless the snapshot's own archive is there, byte for byte."""
    content = place.archive(manifest.id).read_bytes()
    if len(content) != manifest.archive_bytes:
        raise SnapshotDamaged(snapshot=manifest.id, reason="its archive has another size")
    if WholeDigest().text(content) != manifest.archive_digest:
        raise SnapshotDamaged(snapshot=manifest.id, reason="its archive has another digest")


def as_earlier(place: StoreDirectory, snapshot: str) -> None:
    """Makes a snapshot one as earlier versions wrote them: with a SHA-256 in its footer and in its manifest."""
    archive, manifest = place.archive(snapshot), place.manifest(snapshot)
    content = archive.read_bytes()
    before, footer = content[:-FOOTER_BYTES], unpack_footer(content[-FOOTER_BYTES:], len(content))
    digest = WholeDigest(SHA256).text(before)
    version = 3 if footer.is_remnant else 2
    footer = msgspec.structs.replace(footer, content_digest=digest, version=version)
    content = before + pack_footer(footer)
    archive.write_bytes(content)
    if manifest.exists():
        body = msgspec.json.decode(checked_manifest(manifest.read_bytes()))
        del body["archive_digest"]
        body.update(schema=1, archive_sha256=hashlib.sha256(content).hexdigest())
        manifest.write_bytes(seal_manifest(msgspec.json.encode(body)))
