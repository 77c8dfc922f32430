"""A bundle that was made once is kept privately; what is wrong with the cache stops nobody."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from scratchflow.agent.delivery import bundle
from scratchflow.agent.delivery.bundle import make_bundle
from scratchflow.agent.delivery.cache import BundleCache
from tests.unit.agent.delivery.this_machine import send_only_the_least, this_target


@pytest.mark.slow
def test_a_bundle_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send_only_the_least(monkeypatch)
    cache = BundleCache(tmp_path / "bundles")
    first = make_bundle(this_target(), cache)
    monkeypatch.setattr(bundle, "assemble", lambda _: pytest.fail("made again"))
    assert make_bundle(this_target(), cache) == first
    (kept,) = (tmp_path / "bundles").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


@pytest.mark.slow
def test_a_damaged_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send_only_the_least(monkeypatch)
    cache = BundleCache(tmp_path)
    first = make_bundle(this_target(), cache)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert make_bundle(this_target(), cache) == first


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = BundleCache(tmp_path / "file/bundles")
    cache.put("key", b"x")
    assert cache.get("key") is None


def test_the_cache_keeps_the_newest(tmp_path: Path) -> None:
    cache = BundleCache(tmp_path)
    for number in range(12):
        cache.put(f"key{number}", b"x")
        os.utime(next(tmp_path.glob(f"key{number}.*")), (number, number))
    assert cache.get("key11") == b"x"
    assert cache.get("key0") is None
