"""Which snapshot to restore while the newest one is damaged, as far as is known without reading an archive."""

from __future__ import annotations

from collections.abc import Mapping

from scratchflow.model.ages import age_at
from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import Catalogue, taken_at
from scratchflow.store.checks.verified import Verification, problems_noted, seen_by_size


def newest_whole(
    catalogue: Catalogue, known: Mapping[str, Verification], *, before: str = ""
) -> Manifest | None:
    """The newest snapshot that is neither known to be damaged nor in doubt; None when there is none.

    In place of a damaged one that a restore made the newest, the one that it was made from: it has the same state,
    whenever it was taken. `before`: only of those that are older than this one.
    """
    older = tuple(one for one in catalogue.snapshots if not before or one.id < before)
    noted = problems_noted(catalogue.snapshots, known)
    rest = Catalogue(older, damaged={**noted, **seen_by_size(catalogue, known)})
    whole = {one.id: one for one in older if one.id not in rest.damaged}
    for one in reversed(rest.main_line):
        if one.id in whole:
            return one
        if one.purpose == "restored" and one.parent in whole:
            return whole[one.parent]
    return rest.latest_whole


def brings_back(whole: Manifest, now_s: float, which: str = "the newest whole one") -> str:
    """The command that restores it, as a sentence."""
    ago = age_at(taken_at(whole).timestamp(), now_s)
    return f"`scratchflow restore {whole.id}` brings back {which} ({ago})"
