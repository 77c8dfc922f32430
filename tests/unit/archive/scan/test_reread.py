"""Files that have to be read to know them: with and without helpers, and whatever happens to either."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from scratchflow.archive.files.digest import digest_of_bytes
from scratchflow.archive.scan import reread as looking
from scratchflow.archive.scan.reread import Looker
from tests.unit.archive.conftest import Bench


@pytest.fixture
def content(bench: Bench) -> dict[bytes, bytes]:
    """Files in several directories, by path."""
    files: dict[bytes, bytes] = {}
    for number in range(60):
        path = bench.work / f"d{number % 7}" / f"f{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(number * 100))
        files[os.fsencode(path.relative_to(bench.scratch))] = path.read_bytes()
    return files


def _looked(bench: Bench) -> dict[bytes, bytes]:
    scanned = bench.scan()
    looker = Looker(scanned, 7)
    looker.look_at(list(scanned.regular_files()))
    return {scanned.path(entry): digest for entry, digest in looker.found.digests.items()}


@pytest.mark.parametrize("cores", [1, 4])
def test_every_file_is_read_with_and_without_helpers(
    bench: Bench, content: dict[bytes, bytes], monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(looking, "usable_cores", lambda: cores)
    monkeypatch.setattr(looking, "_SHARE_BYTES", 1)
    assert _looked(bench) == {path: digest_of_bytes(data, 7) for path, data in content.items()}


def test_the_shares_of_killed_helpers_are_read_by_the_asker(
    bench: Bench, content: dict[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "usable_cores", lambda: 4)
    monkeypatch.setattr(looking, "_SHARE_BYTES", 1)
    asker, read = os.getpid(), looking._Reading._read

    def die_as_a_helper(*arguments: object) -> object:
        if os.getpid() != asker:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(*arguments)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(looking._Reading, "_read", die_as_a_helper)
    assert _looked(bench).keys() == content.keys()


def test_a_file_that_is_not_what_was_scanned_has_no_digest(
    bench: Bench, content: dict[bytes, bytes]
) -> None:
    scanned = bench.scan()
    gone, replaced, *rest = sorted(path for path in content if content[path])
    (bench.scratch / os.fsdecode(gone)).unlink()
    new = bench.work / "new"
    new.write_bytes(content[replaced])
    new.rename(bench.scratch / os.fsdecode(replaced))
    looker = Looker(scanned, 7)
    looker.look_at(list(scanned.regular_files()))
    found = {scanned.path(entry) for entry in looker.found.digests}
    assert found.isdisjoint({gone, replaced})
    assert found >= set(rest)


def test_no_file_is_read_twice(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.work / "f").write_bytes(b"x")
    scanned = bench.scan()
    looker = Looker(scanned, 7)
    files = list(scanned.regular_files())
    looker.look_at(files)
    monkeypatch.setattr(looking._Reading, "do", lambda *_: pytest.fail("read again"))
    looker.look_at(files)
    assert len(looker.found.digests) == 1


def test_a_file_swapped_for_a_link_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    (bench.work / "f").write_bytes(b"x")
    scanned = bench.scan()
    (tmp_path / "outside").write_bytes(b"x")
    (bench.work / "f").unlink()
    (bench.work / "f").symlink_to(tmp_path / "outside")
    looker = Looker(scanned, 7)
    looker.look_at(list(scanned.regular_files()))
    assert not looker.found.digests
