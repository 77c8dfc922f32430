"""Which files are read again, and by which paths unison is given them."""

from __future__ import annotations

from scratchflow.flows.sync.just_written import just_written
from scratchflow.model.requests import SyncCount
from scratchflow.model.results.sync import FilesCounted


def _seeing(*numbers: int, age_s: float = 1.0) -> object:
    return lambda _: FilesCounted(0, 0, list(numbers), age_s if numbers else None)


def _found(paths: list[bytes], *counts: object) -> tuple[list[str], float] | None:
    found = just_written(paths, counts, 3.0)  # type: ignore[arg-type]  # callables
    return (list(found.paths), found.age_s) if found else None


def test_both_sides_are_asked_and_the_youngest_counts() -> None:
    paths = [b"p/a", b"p/b", b"p/c"]
    assert _found(paths, _seeing(0), _seeing(2, age_s=0.5)) == (["p/a", "p/c"], 0.5)
    assert _found(paths, _seeing(), _seeing()) is None


def test_a_name_that_is_no_text_is_found_through_the_directory_above() -> None:
    assert _found([b"p/\xff/a"], _seeing(0)) == (["p"], 1.0)
    assert _found([b"\xff"], _seeing(0)) == (["."], 1.0)


def test_many_paths_are_given_as_the_directories_that_hold_them() -> None:
    paths = [f"p/d{number}/{'x' * 60}".encode() for number in range(3000)]
    assert _found(paths, _all)[0] == [f"p/d{number}" for number in sorted(range(3000), key=str)]  # type: ignore[index]  # found
    top = [f"{number:05}{'x' * 60}".encode() for number in range(3000)]
    assert len(_found(top, _all)[0]) == 3000  # type: ignore[index]  # found


def _all(request: SyncCount) -> FilesCounted:
    return FilesCounted(0, 0, list(range(len(request.written))), 1.0)
