"""Gives files their further names; where the system refuses a hard link, the name gets a file of its own."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from scratchflow.archive.progress import no_progress
from scratchflow.archive.read.archives import Archives
from scratchflow.archive.restore.file_restorer import FileRestorer
from scratchflow.archive.restore.placer import Placer, Placing

Link = tuple[int, int]  # the entry of a further name, and that of the file


def place_links(links: Iterable[Link], placer: Placer) -> list[Link]:
    """Makes these links; returns those that the system refused."""
    return [(entry, first) for entry, first in links if not placer.hardlink(entry, first)]


def write_refused(refused: list[Link], placer: Placer, archives: Archives, placing: Placing) -> int:
    """Writes what refused links should have led to; returns how many bytes that took.

    All further names of a file share one new file, unless links to that are refused as well.
    """
    size = 0
    while refused:
        stand_ins: dict[int, int] = {}
        for entry, first in refused:
            stand_ins.setdefault(first, entry)
        restorer = FileRestorer(archives, placing, threads=1, progress=no_progress)
        restorer.restore(array("I", stand_ins.values()))
        size += restorer.bytes
        others = [(entry, stand_ins[first]) for entry, first in refused]
        refused = place_links((link for link in others if link[0] != link[1]), placer)
    return size
