"""Records of servers: readable for their owner alone, and each start knows its own."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest

from scratchflow.workspace.servers import (
    ServerRecord,
    claim_server,
    forget_server,
    forget_servers_of,
    is_server_name,
    mark_ended,
    name_for,
    read_server,
    read_servers,
    write_server,
)

RECORD = ServerRecord(name="tb", kind="tensorboard", words=("runs",), start="one", job_id=7)


def test_what_is_written_is_read_and_nobody_else_may(tmp_path: Path) -> None:
    assert read_servers(tmp_path, "p") == []
    write_server(tmp_path, "p", RECORD)
    assert read_servers(tmp_path, "p") == [RECORD]
    assert read_servers(tmp_path, "other") == []
    (file,) = tmp_path.rglob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_of_two_that_claim_a_name_one_gets_it(tmp_path: Path) -> None:
    other = msgspec.structs.replace(RECORD, start="two")
    assert claim_server(tmp_path, "p", RECORD)
    assert not claim_server(tmp_path, "p", other)
    assert read_server(tmp_path, "p", "tb") == RECORD


def test_an_end_is_told_of_its_own_start_only(tmp_path: Path) -> None:
    write_server(tmp_path, "p", RECORD)
    mark_ended(tmp_path, "p", "tb", "two", "exit code 1")
    assert read_server(tmp_path, "p", "tb") == RECORD
    mark_ended(tmp_path, "p", "tb", "one", "exit code 1")
    found = read_server(tmp_path, "p", "tb")
    assert found is not None
    assert found.ended == "exit code 1"


def test_a_record_of_another_start_is_not_removed(tmp_path: Path) -> None:
    write_server(tmp_path, "p", RECORD)
    forget_server(tmp_path, msgspec.structs.replace(RECORD, start="two"), "p")
    assert read_servers(tmp_path, "p") == [RECORD]
    forget_servers_of(tmp_path, "p", [8])
    assert read_servers(tmp_path, "p") == [RECORD]
    forget_servers_of(tmp_path, "p", [7])
    assert read_servers(tmp_path, "p") == []


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"name":"other","kind":"command","words":[],"start":"a"}']
)
def test_a_damaged_record_is_passed_over(tmp_path: Path, text: bytes) -> None:
    write_server(tmp_path, "p", RECORD)
    (file,) = tmp_path.rglob("tb.json")
    file.write_bytes(text)
    assert read_servers(tmp_path, "p") == []


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b", "x" * 41, "é"])
def test_a_name_cannot_leave_its_directory(tmp_path: Path, name: str) -> None:
    assert not is_server_name(name)
    assert read_server(tmp_path, "p", name) is None


@pytest.mark.parametrize(
    ("word", "name"),
    [("/usr/bin/python3", "python3"), ("./run me.sh", "runme.sh"), ("…", "server")],
)
def test_a_name_is_made_of_the_program(word: str, name: str) -> None:
    assert name_for(word) == name


def test_keys_that_are_not_known_are_passed_over_and_jupyter_has_a_page_of_its_own() -> None:
    text = b'{"name":"j","kind":"jupyter","words":[],"start":"a","later":1}'
    record = msgspec.json.decode(text, type=ServerRecord)
    assert record.page == "/lab"
    assert msgspec.structs.replace(record, kind="command").page == "/"
