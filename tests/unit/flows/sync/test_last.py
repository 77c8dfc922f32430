"""What the last sync left is known afterwards on this machine, and never more than that."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.flows.sync.last import keep_last, last_pairs
from scratchflow.model.results.sync import Conflict, LastPair, PathProblem, SyncedPair

CONFIG = "/home/a/config.toml"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is kept."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "scratchflow" / "sync.json"


def _conflict(path: str) -> Conflict:
    return Conflict(path=path, first="changed", other="deleted")


def _pair(*conflicts: str, **more: object) -> SyncedPair:
    details = [_conflict(path) for path in conflicts]
    return SyncedPair(profile="aws", conflicts=list(conflicts), conflict_details=details, **more)  # type: ignore[arg-type]  # by name


def _known(now_s: float = 100) -> LastPair:
    (pair,) = last_pairs(CONFIG, "uni", ["aws"], now_s)
    return pair


def test_a_sync_is_known_with_its_time_and_its_conflicts() -> None:
    keep_last(CONFIG, "uni", _pair("p/a", to_profile=3, deleted=1), now_s=40)
    assert _known() == LastPair(
        profile="aws",
        condition="conflicts",
        synced_time="1970-01-01T00:00:40Z",
        synced_age_s=60,
        to_profile=3,
        deleted=1,
        looked_time="1970-01-01T00:00:40Z",
        looked_age_s=60,
        conflicts=[_conflict("p/a")],
        conflict_count=1,
    )


def test_a_dry_run_tells_the_conflicts_but_is_no_sync() -> None:
    keep_last(CONFIG, "uni", _pair(to_profile=3), now_s=40)
    keep_last(CONFIG, "uni", _pair("p/a", to_profile=9), dry_run=True, now_s=70)
    known = _known()
    assert (known.synced_age_s, known.looked_age_s, known.to_profile) == (60, 30, 3)
    assert [one.path for one in known.conflicts] == ["p/a"]


def test_what_was_decided_alone_is_gone_and_the_rest_stays() -> None:
    left = [PathProblem(path="p/x", reason="no")]
    keep_last(CONFIG, "uni", _pair("p/a", "p/d/b", "p/d/c", skipped=left), now_s=40)
    keep_last(CONFIG, "uni", _pair("p/d/c"), paths=["p/d"], now_s=70)
    known = _known()
    assert [one.path for one in known.conflicts] == ["p/a", "p/d/c"]
    assert (known.conflict_count, known.synced_age_s, known.left) == (2, 60, left)
    keep_last(CONFIG, "uni", _pair(), paths=["p/a", "p/d/c"], now_s=80)
    assert _known().condition == "incomplete"
    keep_last(CONFIG, "uni", _pair(), now_s=90)
    assert _known().condition == "clean"


def test_what_paths_alone_brought_is_added_to_the_sync_before() -> None:
    keep_last(CONFIG, "uni", _pair(to_profile=3), now_s=40)
    keep_last(CONFIG, "uni", _pair(to_profile=1, to_first=2), paths=["p/d"], now_s=70)
    known = _known()
    assert (known.synced_age_s, known.to_profile, known.to_first) == (60, 4, 2)


def test_of_very_many_conflicts_the_first_are_kept_and_all_counted() -> None:
    keep_last(CONFIG, "uni", _pair(*(f"p/{number}" for number in range(3000))))
    known = _known()
    assert (len(known.conflicts), known.conflict_count) == (1000, 3000)
    keep_last(CONFIG, "uni", _pair(), paths=["p/7"])
    known = _known()
    assert (len(known.conflicts), known.conflict_count) == (999, 2999)


def test_another_configuration_and_another_pair_are_not_known() -> None:
    keep_last(CONFIG, "uni", _pair("p/a"))
    never = LastPair(profile="aws")
    assert last_pairs("/other.toml", "uni", ["aws"]) == [never]
    assert last_pairs(CONFIG, "mila", ["aws"]) == [never]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pairs": {"uni aws": {"conflicts": 3}}}'])
def test_a_file_that_is_not_ours_costs_the_memory_only(state: Path, text: str) -> None:
    state.parent.mkdir()
    state.write_text(text)
    assert _known().condition == "never"
    keep_last(CONFIG, "uni", _pair("p/a"))
    assert _known().condition == "conflicts"


def test_a_place_that_cannot_be_written_is_no_error(state: Path) -> None:
    state.parent.write_text("")
    keep_last(CONFIG, "uni", _pair("p/a"))
    assert _known().condition == "never"
