"""Warm-node records: robust to read, never a path that Slurm chose."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.store.directory import StoreDirectory, find_place, open_place
from scratchflow.store.nodes import NodeRecord, is_node_name, read_nodes, record_node
from scratchflow.testing.store import make_id


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def record(node: str, snapshot: str | None = None) -> NodeRecord:
    return NodeRecord(
        node=node,
        snapshot=snapshot or make_id(),
        workspace_path="/scratch/alice/work",
        job_id=42,
        time="2026-11-15T09:30:00Z",
    )


def test_the_last_record_of_a_node_counts(place: StoreDirectory) -> None:
    record_node(place, record("n2"))
    record_node(place, record("n1.cluster.example"))
    record_node(place, record("n2", make_id(30)))
    assert read_nodes(place) == [record("n1.cluster.example"), record("n2", make_id(30))]


def test_a_record_of_an_earlier_version_has_no_name_and_is_of_its_number(
    place: StoreDirectory,
) -> None:
    record_node(place, record("n1"))
    plain = msgspec.json.decode((place.nodes / "n1.json").read_bytes())
    del plain["job_name"]
    (place.nodes / "n1.json").write_bytes(msgspec.json.encode(plain))
    (found,) = read_nodes(place)
    assert found.is_of(42, "scratchflow:p:aaaa")
    assert not found.is_of(43, "scratchflow:p:aaaa")


@pytest.mark.parametrize("name", ["", "..", "../n1", "a/b", ".hidden", "a\n", "n" * 300, "-n", "ñ"])
def test_a_name_that_is_no_node_name_never_becomes_a_file(place: StoreDirectory, name: str) -> None:
    assert not is_node_name(name)
    with pytest.raises(ValueError, match="not a record"):
        record_node(place, record(name))
    assert not place.nodes.exists()


def test_what_cannot_be_read_is_passed_over(place: StoreDirectory) -> None:
    record_node(place, record("good"))
    bad = {
        "half.json": b'{"node": "half"',
        "other.json": msgspec.json.encode(record("another")),
        "odd.json": msgspec.json.encode(record("odd", "../../etc")),
        ".tmp-12-good.json": b"",
        "notes.txt": b"",
    }
    for name, content in bad.items():
        (place.nodes / name).write_bytes(content)
    (place.nodes / "dir.json").mkdir()
    assert read_nodes(place) == [record("good")]


def test_a_store_without_records_has_no_warm_nodes(tmp_path: Path) -> None:
    assert read_nodes(find_place(tmp_path / "nowhere", "work")) == []


def test_where_copies_were_before_is_kept_the_latest_first_and_not_for_ever() -> None:
    first = record("n1")
    paths: list[str] = []
    last = first
    for number in range(20):
        path = f"/scratch/alice/{number}/work"
        last = msgspec.structs.replace(last, workspace_path=path, earlier_paths=last.moved_to(path))
        paths.insert(0, path)
    assert last.earlier_paths == paths[1:9]
    assert last.moved_to(paths[3])[:4] == [paths[0], paths[1], paths[2], paths[4]]
    gone = msgspec.structs.replace(last, goes_with_job=True)
    assert gone.moved_to("/elsewhere/work") == last.earlier_paths
