"""Which snapshot to restore while the newest one is damaged, as far as is known without reading an archive."""

from __future__ import annotations

from collections.abc import Mapping

from scratchflow.model.ages import age_at
from scratchflow.model.snapshot import Manifest
from scratchflow.store.catalogue import Catalogue, taken_at
from scratchflow.store.checks.verified import Verification, problems_noted


def newest_whole(
    catalogue: Catalogue, known: Mapping[str, Verification], *, before: str = ""
) -> Manifest | None:
    """The newest snapshot that is neither known to be damaged nor in doubt; None when there is none.

    `before`: only of those that are older than this one.
    """
    older = tuple(one for one in catalogue.snapshots if not before or one.id < before)
    noted = problems_noted(catalogue.snapshots, known)
    return Catalogue(older, damaged={**noted, **catalogue.damaged}).latest_whole


def brings_back(whole: Manifest, now_s: float, which: str = "the newest whole one") -> str:
    """The command that restores it, as a sentence."""
    ago = age_at(taken_at(whole).timestamp(), now_s)
    return f"`scratchflow restore {whole.id}` brings back {which} ({ago})"
