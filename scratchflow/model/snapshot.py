"""A snapshot: one committed, immutable backup of the workspace, as its manifest tells it."""

import re
from datetime import datetime, timezone
from typing import Literal

import msgspec

from scratchflow.model.decoding import decoded

MANIFEST_SCHEMA = 2
# The latest format of archives that this version reads. It stands here because loading what reads archives takes time.
NEWEST_FORMAT = 5

SnapshotKind = Literal["full", "incremental"]
# Who wanted it: a person (`asked`), the auto-backup (`auto`), the end of an allocation (`final`), or
# scratchflow itself: before a restore (`safety`), after one (`restored`), for `create` and `import`.
Purpose = Literal["asked", "auto", "final", "safety", "restored", "created", "imported"]

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
    archive_digest: str
    warnings: int
    verified: bool
    message: str = ""
    exclude: list[str] = []
    purpose: Purpose = "asked"
    # How many paths could not be read, so that no snapshot holds them as they were.
    unsaved: int = 0
    unsaved_paths: list[str] = []  # the first of them
    # Taken unattended though most of its parent's files were gone; a mark keeps the parent.
    shrunk: bool = False
    # A fork: a copy that is not the newest work, like that of another node of the job. It is never `latest`.
    beside: bool = False
    duration_s: float = 0.0


class _Earlier(Manifest, frozen=True, kw_only=True):
    """As it was with schema 1: archives had a SHA-256."""

    archive_digest: str = msgspec.field(name="archive_sha256")


class _Versioned(msgspec.Struct):
    schema: int


class NewerManifest(ValueError):
    """It is of a later version than this one, and nothing is wrong with it."""


def manifest_in(body: bytes) -> Manifest:
    """The manifest that this JSON is, also one of an earlier version; DecodeError when it is none, NewerManifest when it is of a later one."""
    schema = decoded(body, _Versioned).schema
    if schema > MANIFEST_SCHEMA:
        raise NewerManifest(
            f"it was made by a newer scratchflow (schema {schema}); update this one"
        )
    if schema == MANIFEST_SCHEMA:
        return decoded(body, Manifest)
    earlier = msgspec.structs.asdict(decoded(body, _Earlier))
    digest = f"sha256:{earlier['archive_digest']}"
    return Manifest(**{**earlier, "schema": MANIFEST_SCHEMA, "archive_digest": digest})


# The manifest's last key: a digest of every byte before it, so that damage to the manifest itself
# shows, in whatever key, also in one that only a newer scratchflow knows.
_CHECKSUM = b',\n  "checksum": "'
_BODY_END = b"\n}"
_FILE_END = b'"\n}\n'


def encode_manifest(manifest: Manifest) -> bytes:
    """The manifest as the file's content."""
    return seal_manifest(msgspec.json.encode(manifest))


def seal_manifest(body: bytes) -> bytes:
    """A manifest's JSON, made readable, with its checksum as the last key."""
    readable = msgspec.json.format(body, indent=2)
    return readable.removesuffix(_BODY_END) + _CHECKSUM + _digest(readable) + _FILE_END


def checked_manifest(content: bytes) -> bytes:
    """The JSON of a manifest's file, after its checksum was compared; ValueError when it differs."""
    head, _, tail = content.rpartition(_CHECKSUM)
    body = head + _BODY_END
    if tail != _digest(body) + _FILE_END:
        raise ValueError("its manifest is damaged: the checksum does not match")
    return body


def _digest(body: bytes) -> bytes:
    import hashlib  # loads OpenSSL, 4 ms, which most commands do not need

    return hashlib.sha256(body).hexdigest().encode()


def snapshot_id(now: datetime, token: str) -> str:
    """The id for a snapshot begun at `now`: sorts by time; six random hex digits keep it unique."""
    return f"{now.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}-{token}"


def is_snapshot_id(text: str) -> bool:
    """Whether the text is an id, and so safe as a file name."""
    return _ID.fullmatch(text) is not None
