"""A snapshot: one committed, immutable backup of the workspace, as its manifest tells it."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Literal

import msgspec

MANIFEST_SCHEMA = 1

SnapshotKind = Literal["full", "incremental"]

_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}", re.ASCII)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`<id>.json`. Its rename into place commits the snapshot; unknown keys are passed over."""

    schema: int
    id: str
    time: str
    kind: SnapshotKind
    parent: str | None
    needs: list[str]
    workspace: str
    also: list[str]
    node: str
    job_id: int | None
    host: str
    tool_version: str
    files: int
    dirs: int
    links: int
    bytes: int
    archive_bytes: int
    archive_sha256: str
    warnings: int
    verified: bool
    message: str = ""
    exclude: list[str] = []
    duration_s: float = 0.0


def snapshot_id(now: datetime, token: str) -> str:
    """The id for a snapshot begun at `now`: sorts by time; six random hex digits keep it unique."""
    return f"{now.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}-{token}"


def is_snapshot_id(text: str) -> bool:
    """Whether the text is an id, and so safe as a file name."""
    return _ID.fullmatch(text) is not None
