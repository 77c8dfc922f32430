"""When each snapshot was last verified, and what was found: `<store>/<workspace>/verified/<id>.json`.

A manifest never changes after its commit, so this lies beside it. Each file is replaced as a whole and
needs no lock: of two that verify at once the later one's finding stays. A file of a snapshot that is
gone means nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec

from scratchflow.archive.malformed import NewerFormat
from scratchflow.disk.durable import is_there, replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import PerhapsDamaged, SnapshotDamaged
from scratchflow.model.snapshot import NEWEST_FORMAT, Manifest, is_snapshot_id
from scratchflow.model.times import epoch, iso_time
from scratchflow.store.catalogue import Catalogue
from scratchflow.store.directory import (
    FILE_MODE,
    VERIFIED_NAME,
    StoreDirectory,
    make_private_directory,
)
from scratchflow.store.failures import store_errors

_SUFFIX = ".json"
_LIMIT_BYTES = 65536
_NO_DAMAGE = (OSError, NewerFormat)


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """One snapshot was read back as a whole; `problem` is empty when it was sound.

    `is_own`: its own archive is damaged, and not only one that it needs.
    `archive`: the one that damage was met in; empty when that was not noted.
    `reads`: the latest format of archives that the scratchflow which read it knows; 0 when it did not say.
    """

    snapshot: str
    time: str
    problem: str = ""
    is_own: bool = False
    reads: int = 0
    archive: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether the damage was found by a scratchflow that knows fewer formats than this one, and may be none."""
        return bool(self.problem) and self.reads < NEWEST_FORMAT


def record_verified(place: StoreDirectory, found: Iterable[Verification]) -> None:
    """Notes what was found; a verification that cannot be noted was made all the same."""
    directory = place.directory / VERIFIED_NAME
    with suppress(ScratchflowError), store_errors(directory):
        for one in found:
            if not is_snapshot_id(one.snapshot):
                raise ValueError(f"not a snapshot id: {one.snapshot!r}")
            make_private_directory(directory)
            noted = msgspec.structs.replace(one, reads=NEWEST_FORMAT)
            content = msgspec.json.encode(noted) + b"\n"
            replace_file(directory / f"{one.snapshot}{_SUFFIX}", content, mode=FILE_MODE)


@contextmanager
def noting_damage(place: StoreDirectory, snapshot: str) -> Iterator[None]:
    """Notes damage that whoever reads this snapshot meets, as `snapshots verify` does; where nothing can be noted, not.

    When the archive of another snapshot is the damaged one, that is noted as well. A store that gives no answer is not
    a damaged one, nor is an archive of a newer scratchflow.
    """
    try:
        yield
    except SnapshotDamaged as error:
        is_met_here = (error.code, error.fields.get("snapshot")) == (SnapshotDamaged.code, snapshot)
        if is_met_here and not isinstance(error.__cause__ or error.__context__, _NO_DAMAGE):
            record_verified(place, _met(place, snapshot, error))
        raise


def _met(place: StoreDirectory, snapshot: str, error: SnapshotDamaged) -> Iterator[Verification]:
    now, archive = iso_time(time.time()) or "", error.fields.get("archive", "")
    archive = archive if is_snapshot_id(archive) else ""
    known = _certain(read_verified(place))

    def found_at(one: str) -> str:
        """Damage that was known is no reason to doubt what was found sound since."""
        return known[one].time if one in known and known[one].problem else now

    yield Verification(
        snapshot=snapshot,
        time=found_at(snapshot),
        problem=str(error),
        is_own=archive == snapshot,
        archive=archive,
    )
    # Of an archive without a manifest, only what others need is left: it cannot be called damaged by itself.
    if archive not in {"", snapshot} and is_there(place.manifest(archive)):
        yield Verification(
            snapshot=archive,
            time=found_at(archive),
            problem=error.fields["reason"],
            is_own=True,
            archive=archive,
        )


def read_verified(place: StoreDirectory) -> dict[str, Verification]:
    """The last verification of each snapshot, by its id; what cannot be read counts as none."""
    directory = place.directory / VERIFIED_NAME
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return {}
    stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    found = (_read(place, stem) for stem in stems if is_snapshot_id(stem))
    return {one.snapshot: one for one in found if one is not None}


def known_damaged(place: StoreDirectory, snapshots: Iterable[Manifest]) -> frozenset[str]:
    """Those of these snapshots that are known to be damaged, or in doubt: none of them may stand for a whole one."""
    return frozenset(problems_noted(snapshots, read_verified(place)))


def doubted(place: StoreDirectory, snapshots: Iterable[Manifest]) -> frozenset[str]:
    """Those of which only an earlier scratchflow says that they, or what they need, are damaged."""
    known, listed = read_verified(place), list(snapshots)
    return frozenset(
        problems_noted(listed, known).keys() - problems_noted(listed, _certain(known)).keys()
    )


def known_problems(catalogue: Catalogue, known: Mapping[str, Verification]) -> dict[str, str]:
    """What is wrong with snapshots, by id: archives that are not there as they were written, and what was found
    when they were read last.

    A snapshot that reads from a damaged one's archive is damaged too, unless it was found to be
    sound at the same time or later. Those in doubt are not among them.
    """
    certain = _certain(known)
    return {**problems_noted(catalogue.snapshots, certain), **seen_by_size(catalogue, certain)}


def seen_by_size(catalogue: Catalogue, known: Mapping[str, Verification]) -> dict[str, str]:
    """What archives of another size, or missing ones, say of snapshots, by id; but for what was read of them since they were noted as damaged."""
    noted = {one.snapshot for one in known.values() if one.problem}
    settled = {one for one, archives in catalogue.cut_elsewhere.items() if archives <= noted}
    return {one: why for one, why in catalogue.damaged.items() if one not in settled}


def require_whole(place: StoreDirectory, catalogue: Catalogue, manifest: Manifest) -> None:
    """SnapshotDamaged for one whose archives are not all there, unless all that it reads of them was found to be whole."""
    if manifest.id not in catalogue.cut_elsewhere:
        catalogue.require_whole(manifest)
    elif manifest.id in known_problems(catalogue, read_verified(place)):
        raise PerhapsDamaged(snapshot=manifest.id, reason=catalogue.damaged[manifest.id])


def _found_bad(catalogue: Catalogue, known: Mapping[str, Verification]) -> frozenset[str]:
    """The snapshots that themselves were read and found damaged, or whose archives are not there as they were written.

    The others that `known_problems` names read from a damaged archive, perhaps only from parts of it that are whole.
    """
    read = (one.snapshot for one in _certain(known).values() if one.problem)
    return frozenset([*read, *catalogue.own_damage])


class Problems(msgspec.Struct, frozen=True):
    """What is wrong with snapshots, by id: with those that are damaged, and with those that may be.

    The latter read from a damaged archive, perhaps only from parts of it that are whole: `verify` says whether.
    """

    damaged: dict[str, str]
    perhaps: dict[str, str]


def problems_apart(catalogue: Catalogue, known: Mapping[str, Verification]) -> Problems:
    """What `known_problems` says, by how sure that is."""
    bad = _found_bad(catalogue, known)
    every = known_problems(catalogue, known)
    return Problems(
        {one: why for one, why in every.items() if one in bad},
        {one: why for one, why in every.items() if one not in bad},
    )


def _certain(known: Mapping[str, Verification]) -> dict[str, Verification]:
    return {snapshot: one for snapshot, one in known.items() if not one.is_doubtful}


def problems_noted(
    snapshots: Iterable[Manifest], known: Mapping[str, Verification]
) -> dict[str, str]:
    """What was found of each that is damaged, or in doubt, or reads from the archive of such a one, by id."""
    listed = list(snapshots)
    damaged = {one: known[one] for one in _with_damaged_archives(listed, known)}
    problems = {one.id: _problem(one, known.get(one.id), damaged) for one in listed}
    return {snapshot: problem for snapshot, problem in problems.items() if problem}


def _problem(
    manifest: Manifest, own: Verification | None, damaged: Mapping[str, Verification]
) -> str:
    if own is not None and own.problem:
        return own.problem.removeprefix(f"snapshot `{manifest.id}` is damaged: ")
    for one in sorted(damaged.keys() & {*manifest.needs}):
        if own is None or damaged[one].time > own.time:
            return f"it needs the archive of snapshot {one}, which is damaged"
    return ""


def damaged_archives(place: StoreDirectory, snapshots: Iterable[Manifest]) -> frozenset[str]:
    """The archives that damage is known of.

    A snapshot's own is one of them when that was noted, or when none that it needs explains the damage.
    """
    listed = list(snapshots)
    damaged = set(_with_damaged_archives(listed, read_verified(place)))
    return frozenset(one.id for one in listed if one.id in damaged)


def _with_damaged_archives(
    snapshots: Iterable[Manifest], known: Mapping[str, Verification]
) -> Iterator[str]:
    """Also such as are not among the snapshots any more: others may need their archives yet."""
    needs = {one.id: one.needs for one in snapshots}
    bad = {one.snapshot: one for one in known.values() if one.problem}
    for snapshot, found in bad.items():
        is_elsewhere = found.archive or not bad.keys().isdisjoint(needs.get(snapshot, ()))
        if found.is_own or not is_elsewhere:
            yield snapshot


def known_damage(place: StoreDirectory, snapshots: Iterable[str]) -> Verification | None:
    """The last verification of the first of these snapshots that it found damaged; it may be in doubt."""
    found = (_read(place, one) for one in sorted(snapshots) if is_snapshot_id(one))
    return next((one for one in found if one is not None and one.problem), None)


def note_damaged_archives(place: StoreDirectory, problems: Mapping[str, str]) -> None:
    """Notes what is wrong with archives whose own snapshots go, while others need them: without a manifest no size says it.

    What was noted before stays as it is: others may have been found sound since.
    """
    now = iso_time(time.time()) or ""
    found = (
        Verification(snapshot=one, time=now, problem=why, is_own=True, archive=one)
        for one, why in problems.items()
        if known_damage(place, [one]) is None
    )
    record_verified(place, found)


def forget_verified(place: StoreDirectory, snapshots: Iterable[str]) -> None:
    """Removes the records of snapshots that are gone."""
    for snapshot in snapshots:
        with suppress(OSError):
            os.unlink(place.directory / VERIFIED_NAME / f"{snapshot}{_SUFFIX}")


def verified_at(
    manifest: Manifest, known: Mapping[str, Verification], now_s: float
) -> float | None:
    """When a snapshot was last read back; None for never, for a time that is yet to come, and when what was found is in doubt.

    A snapshot of ours is read back before its commit.
    """
    record = known.get(manifest.id)
    if record and record.is_doubtful:
        return None
    text = record.time if record else manifest.time if manifest.verified else None
    read_s = epoch(text)
    return None if read_s is None or read_s > now_s else read_s


def read_back_at(
    manifest: Manifest,
    snapshots: Iterable[Manifest],
    known: Mapping[str, Verification],
    now_s: float,
) -> float | None:
    """When everything that a snapshot needs was last read back and found whole; None when not known.

    Its commit read only its own archive: what it reads from others counts from their last time.
    """
    sound = {one.snapshot: one for one in known.values() if not one.problem}
    damaged = known.keys() - sound.keys()
    times = {one.id: verified_at(one, sound, now_s) for one in snapshots if one.id not in damaged}
    each = [times.get(one) for one in {manifest.id, *manifest.needs}]
    own = times.get(manifest.id) if manifest.id in sound else None
    found = [one for one in each if one is not None]
    together = min(found) if len(found) == len(each) else None
    return max((one for one in (own, together) if one is not None), default=None)


def _read(place: StoreDirectory, snapshot: str) -> Verification | None:
    file = place.directory / VERIFIED_NAME / f"{snapshot}{_SUFFIX}"
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            content = os.read(descriptor, _LIMIT_BYTES)
        finally:
            os.close(descriptor)
        found = decoded(content, Verification)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.snapshot == snapshot else None
