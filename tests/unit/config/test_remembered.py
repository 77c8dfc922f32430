"""What is remembered of a profile: harmless names only, and nothing at all that a command would miss."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.remembered import Remembered, forget, recall, remember


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is kept."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "scratchflow" / "profiles"


def test_each_value_is_kept_beside_the_others_until_it_is_forgotten() -> None:
    remember("uni", nodes=("node-1", "node-2"))
    remember("uni", slurm={"gpus": 2})
    remember("lab", nodes=("n",))
    assert recall("uni") == Remembered(nodes=("node-1", "node-2"), slurm={"gpus": 2})
    forget("uni")
    assert recall("uni") == Remembered()
    assert recall("lab").nodes == ("n",)
    forget("uni")


def test_names_that_a_shell_would_run_are_neither_kept_nor_handed_out(state: Path) -> None:
    bad = ("$(reboot)", "`x`", "a b", "a\nb", "-rf", "", "é", "x" * 300)
    remember("uni", nodes=(*bad, "node-1"), partitions=bad, snapshots=bad)
    assert recall("uni") == Remembered(nodes=("node-1",))
    (state / "uni.json").write_text('{"nodes": ["$(reboot)", "node-2"]}')
    assert recall("uni") == Remembered(nodes=("node-2",))


def test_the_newest_of_very_many_are_kept_each_once() -> None:
    ids = tuple(f"id-{number}" for number in range(3000))
    remember("uni", snapshots=(*ids, *ids))
    assert recall("uni").snapshots == ids[-2000:]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"nodes": 1}',
        b'{"nodes": ["\xff"]}',
        b"\0" * 100,
        b'{"slurm":' + b'{"a":' * 50_000,
    ],
    ids=["empty", "cut", "list", "number", "not UTF-8", "zeros", "deep"],
)
def test_a_spoilt_file_is_nothing_known_and_is_replaced(state: Path, content: bytes) -> None:
    state.mkdir(parents=True)
    (state / "uni.json").write_bytes(content)
    assert recall("uni") == Remembered()
    remember("uni", nodes=("node-1",))
    assert recall("uni").nodes == ("node-1",)


def test_a_place_that_cannot_be_written_costs_the_memory_only(state: Path) -> None:
    state.parent.mkdir()
    state.write_text("a file where the directory should be")
    remember("uni", nodes=("node-1",))
    forget("uni")
    assert recall("uni") == Remembered()


def test_it_is_for_the_user_alone_and_leaves_no_half_file(state: Path) -> None:
    remember("uni", nodes=("node-1",))
    remember("uni", nodes=("node-2",))
    (file,) = state.iterdir()
    assert file.name == "uni.json"
    assert file.stat().st_mode & 0o077 == 0
    (state / "lab.json").mkdir()
    remember("lab", nodes=("node-1",))  # cannot replace a directory
    assert sorted(path.name for path in state.iterdir()) == ["lab.json", "uni.json"]
