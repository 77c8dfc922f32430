"""Which snapshot is proposed while another one is damaged: the newest that nothing bad is known of."""

from __future__ import annotations

from scratchflow.model.snapshot import NEWEST_FORMAT, Manifest
from scratchflow.store.catalogue import Catalogue, taken_at
from scratchflow.store.checks.verified import Verification
from scratchflow.store.checks.whole import brings_back, newest_whole
from scratchflow.testing.store import make_id, make_manifest

A, B, C = make_id(0), make_id(1), make_id(2)


def found(snapshot: str, reads: int = NEWEST_FORMAT) -> dict[str, Verification]:
    time = "2026-11-15T12:00:00Z"
    return {snapshot: Verification(snapshot=snapshot, time=time, problem="bad", reads=reads)}


def id_of(manifest: Manifest | None) -> str | None:
    return manifest.id if manifest else None


def test_what_is_damaged_by_size_by_reading_or_perhaps_is_passed_over() -> None:
    listed = (make_manifest(A), make_manifest(B), make_manifest(C))
    assert id_of(newest_whole(Catalogue(listed), {})) == C
    assert id_of(newest_whole(Catalogue(listed, damaged={C: "cut"}), {})) == B
    assert id_of(newest_whole(Catalogue(listed, damaged={C: "cut"}), found(B))) == A
    assert id_of(newest_whole(Catalogue(listed, damaged={C: "cut"}), found(B, reads=0))) == A
    assert newest_whole(Catalogue(listed, damaged=dict.fromkeys((A, B, C), "cut")), {}) is None


def test_what_needs_a_damaged_archive_is_passed_over() -> None:
    listed = (make_manifest(A), make_manifest(B), make_manifest(C, needs=[B]))
    assert id_of(newest_whole(Catalogue(listed), found(B))) == A


def test_only_older_ones_count_where_that_is_asked_for() -> None:
    listed = (make_manifest(A), make_manifest(B), make_manifest(C))
    assert id_of(newest_whole(Catalogue(listed), {}, before=B)) == A
    assert newest_whole(Catalogue(listed), {}, before=A) is None


def test_in_place_of_a_damaged_restored_one_its_source_is_taken_also_a_fork() -> None:
    listed = (
        make_manifest(A),
        make_manifest(B, beside=True, purpose="safety"),
        make_manifest(C, purpose="restored", parent=B),
    )
    assert id_of(newest_whole(Catalogue(listed, damaged={C: "cut"}), {})) == B
    assert id_of(newest_whole(Catalogue(listed, damaged={C: "cut", B: "cut"}), {})) == A
    assert id_of(newest_whole(Catalogue(listed, damaged={C: "cut"}), {}, before=C)) == A


def test_the_sentence_has_the_command_and_the_age() -> None:
    one = make_manifest(A)
    now_s = taken_at(one).timestamp() + 3 * 3600
    words = f"`scratchflow restore {A}` brings back the newest whole one (3 h ago)"
    assert brings_back(one, now_s) == words
