"""What the manifest of a new snapshot says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from scratchflow import __version__
from scratchflow.archive.tree.tree import Counts
from scratchflow.model.snapshot import MANIFEST_SCHEMA, Manifest
from scratchflow.model.times import iso_time
from scratchflow.node.context import NodeContext
from scratchflow.store.catalogue import time_to_tell

if TYPE_CHECKING:
    from scratchflow.archive.write.written import Written
from scratchflow.node.snapshot.options import SnapshotOptions


def new_manifest(
    context: NodeContext,
    parent: str | None,
    written: Written,
    options: SnapshotOptions,
    snapshot: str,
) -> Manifest:
    plain = plain_manifest(context, snapshot, written.counts, written.archive_bytes, written.digest)
    return msgspec.structs.replace(
        plain,
        kind="full" if written.full else "incremental",
        parent=parent,
        needs=written.needs,
        also=[
            root
            for root in options.roots or context.workspace.roots
            if root != context.workspace.name
        ],
        message=options.message,
        purpose=options.purpose,
        exclude=list(context.profile.backup.exclude),
    )


def plain_manifest(
    context: NodeContext, snapshot: str, counts: Counts, archive_bytes: int, digest: str
) -> Manifest:
    """The manifest of a full snapshot taken here, with nothing special about it."""
    return Manifest(
        schema=MANIFEST_SCHEMA,
        id=snapshot,
        time=iso_time(time_to_tell(snapshot, context.now()).timestamp()) or "",
        kind="full",
        parent=None,
        needs=[],
        workspace=context.workspace.name,
        also=[],
        node=context.node,
        job_id=context.job_id,
        host=os.uname().nodename,
        tool_version=__version__,
        files=counts.files,
        dirs=counts.dirs,
        links=counts.links,
        bytes=counts.bytes,
        archive_bytes=archive_bytes,
        archive_digest=digest,
        warnings=0,
        verified=False,
    )
