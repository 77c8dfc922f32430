"""`snapshots cat`: the content of one file of a snapshot, to whoever asks, piece by piece.

Needs the store alone, as `snapshots send` does.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from scratchflow.archive.files.digest import StreamDigest
from scratchflow.archive.read.archives import Archives
from scratchflow.archive.read.file_content import damaged_content, with_holes
from scratchflow.archive.read.spans import SpanReader
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR, SYMLINK
from scratchflow.model.errors.snapshots import ContentTooLarge, PathIsDirectory, PathLeadsOut
from scratchflow.model.events import Data
from scratchflow.model.requests import Cat
from scratchflow.model.results.snapshots import FileShown
from scratchflow.model.units import format_size
from scratchflow.node.contents.paths import (
    follow,
    mode_word,
    names_of,
    require_one,
    time_word,
)
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.source import RestoreOptions, Source, find_source
from scratchflow.node.restore.steps import chosen_part
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.fresh import forget_old_listing
from scratchflow.store.directory import find_place


def send_content(context: NodeContext, notify: Notifier, asked: Cat) -> FileShown:
    """Sends it as `Data` events, holes as zeros.

    Its digest is compared after the last piece: SnapshotDamaged then, and what was sent is not what was saved.
    """
    place = find_place(context.store, context.workspace.name)
    forget_old_listing(place)
    options = RestoreOptions(
        snapshot=asked.snapshot,
        paths=(asked.path,),
        to=Path("/"),  # the workspace has no part in it
        zone=asked.zone,
    )
    with find_source(context, notify, options, place, read_catalogue(place), None) as source:
        index = source.index
        entry = _file(context, source, options)
        if asked.most_bytes and index.size[entry] > asked.most_bytes:
            size, most = format_size(index.size[entry]), format_size(asked.most_bytes)
            raise ContentTooLarge(path=asked.path, size=size, most=most)
        source.require_readable([entry])
        for piece in _content(index, entry, source):
            notify.emit(Data(content=bytes(piece)))
        return FileShown(
            snapshot=source.id,
            size=index.size[entry],
            mode=mode_word(index.mode[entry]),
            mtime=time_word(index.mtime_ns[entry]),
        )


def _file(context: NodeContext, source: Source, options: RestoreOptions) -> int:
    """The file that is meant, through symlinks; each of its names leads to the first."""
    index, (path,) = source.index, options.paths
    scratch = os.fsencode(context.workspace.scratch)
    for name in names_of(path, context.workspace):
        entry = follow(index, name, scratch)
        if entry is not None:
            return _regular(index, path, entry)
    select = chosen_part(context, source, options)
    found = require_one(index, path, select.matched if select else [])
    entry = follow(index, index.path(found), scratch)
    return _regular(index, path, found if entry is None else entry)


def _regular(index: Index, path: str, entry: int) -> int:
    kind = index.mode[entry] & KIND_MASK
    if kind == REGULAR:
        return index.hardlinks.get(entry, entry)
    # `/` alone is no path that `restore` takes: it is what an empty variable leaves.
    typed = shlex.quote(path) if path.strip("/") else "."
    asked = {"path": path, "snapshot": index.id, "typed": typed}
    if kind == SYMLINK:
        raise PathLeadsOut(target=os.fsdecode(index.target(entry)), **asked)
    raise PathIsDirectory(**asked)


def _content(index: Index, entry: int, source: Source) -> Iterator[memoryview]:
    digest = StreamDigest(seed=index.seed)
    with Archives(index, source.open_archive) as archives:
        stored = SpanReader(archives, list(archives.spans_of(entry))).in_order()
        for piece in with_holes(stored, index.sparse.get(entry), index.size[entry]):
            digest.update(piece)
            yield piece
    if digest.digest() != index.digest_of(entry):
        raise damaged_content(index, entry)
