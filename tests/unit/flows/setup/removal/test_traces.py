"""What is left in an account is found by a plain shell over there, and nothing else is taken for ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.flows.setup.removal.traces import (
    ClosedPlace,
    Traces,
    WorkspaceTrace,
    look_for_traces,
)
from scratchflow.store.directory import KEPT_NAME, VERIFIED_NAME
from tests.process_transport import ProcessTransport

OURS = ".local/share/scratchflow"
ID = "20261115T195140Z-57064{}"


class Account:
    """A home on the cluster."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.transport = ProcessTransport(
            {"HOME": str(home), "USER": "ada", "PATH": "/usr/bin:/bin"}
        )

    def snapshots(self, place: str, count: int, *nodes: str) -> None:
        directory = self.home / place
        (directory / "nodes").mkdir(parents=True)
        (directory / "store.json").touch()
        for number in range(count):
            (directory / f"{ID.format(number)}.json").touch()
            (directory / f"{ID.format(number)}.tar.lz4").touch()
        for node in nodes:
            (directory / f"nodes/{node}.json").touch()

    def note(self, path: str) -> None:
        (self.home / OURS / "stores").mkdir(parents=True, exist_ok=True)
        number = len(list((self.home / OURS / "stores").iterdir()))
        text = f'{{"path":"{path}","id":"x"}}\n'
        (self.home / OURS / f"stores/{number}.json").write_text(text)

    def look(self, *stores: str) -> Traces:
        return look_for_traces(self.transport, stores or ("~/scratchflow",))


@pytest.fixture
def account(tmp_path: Path) -> Account:
    (tmp_path / "home of ada").mkdir()
    return Account(tmp_path / "home of ada")


def test_an_account_without_us_has_nothing(account: Account) -> None:
    assert account.look() == Traces()


def test_agents_and_other_things_of_ours_are_told(account: Account) -> None:
    (account.home / OURS / "agent/1.0-abc").mkdir(parents=True)
    (account.home / OURS / "agent/current").symlink_to("nowhere")
    (account.home / OURS / "store").mkdir()
    found = account.look()
    assert [agent.rstrip("/").rpartition("/")[2] for agent in found.agents] == ["1.0-abc"]
    assert found.entries == ("agent", "store")
    assert not found.has_state
    (account.home / ".local/state/scratchflow").mkdir(parents=True)
    assert account.look().has_state


def test_every_workspace_of_a_store_is_counted_with_its_nodes(account: Account) -> None:
    account.snapshots("scratchflow/work", 2, "node-1", "node-2")
    account.snapshots("scratchflow/p2", 1)
    account.snapshots("scratchflow/empty", 0)
    (account.home / "scratchflow/mine").mkdir()
    assert account.look().workspaces == (
        WorkspaceTrace("~/scratchflow", "empty", 0),
        WorkspaceTrace("~/scratchflow", "p2", 1),
        WorkspaceTrace("~/scratchflow", "work", 2, ("node-1", "node-2")),
    )


@pytest.mark.parametrize(
    ("store", "place"),
    [
        ("~/my store", "my store"),
        ("$HOME/my store", "my store"),
        ("${HOME}/my store/", "my store"),
        ("~/$USER/s", "ada/s"),
        ("~/of-${USER}-and-$USER", "of-ada-and-ada"),
        ("~/a 'b' \"c\" `d` * \\", "a 'b' \"c\" `d` * \\"),
    ],
)
def test_a_store_is_found_as_a_profile_writes_it(account: Account, store: str, place: str) -> None:
    account.snapshots(f"{place}/work", 1)
    assert account.look(store).workspaces == (WorkspaceTrace(store, "work", 1),)


def test_stores_of_the_accounts_notes_are_looked_into_and_none_told_twice(
    account: Account,
) -> None:
    account.snapshots("scratchflow/work", 1)
    account.snapshots("it's another/work", 2)
    account.note(f"{account.home}/scratchflow/work")
    account.note(f"{account.home}/it's another/work")
    account.note("/gone/work")
    account.note("/fsx/$(touch pwned)/work")
    assert account.look().workspaces == (
        WorkspaceTrace(f"{account.home}/it's another", "work", 2),
        WorkspaceTrace("~/scratchflow", "work", 1),
    )
    assert not list(account.home.rglob("pwned"))


def test_notes_beside_the_snapshots_of_a_workspace_are_no_workspaces(account: Account) -> None:
    """The snapshots of `work/inner` lie in the directory of those of `work`, beside its notes."""
    account.snapshots("scratchflow/work", 1)
    account.snapshots("scratchflow/work/inner", 2)
    for notes in (KEPT_NAME, VERIFIED_NAME):
        (account.home / "scratchflow/work" / notes).mkdir()
        (account.home / f"scratchflow/work/{notes}/{ID.format(0)}.json").touch()
    account.note(f"{account.home}/scratchflow/work/inner")
    assert account.look().workspaces == (
        WorkspaceTrace(f"{account.home}/scratchflow/work", "inner", 2),
        WorkspaceTrace("~/scratchflow", "work", 1, within=("inner",)),
    )


def test_a_workspace_may_have_the_name_of_notes(account: Account) -> None:
    account.snapshots("scratchflow/kept", 1)
    account.snapshots("scratchflow/verified", 1)
    (account.home / "scratchflow/verified/store.json").unlink()
    assert [one.name for one in account.look().workspaces] == ["kept", "verified"]


@pytest.mark.parametrize("name", ["my work", "-rf", "it's; `id`", "é"])
def test_a_workspace_is_found_whatever_a_profile_calls_it(account: Account, name: str) -> None:
    account.snapshots(f"scratchflow/{name}", 1, "n1")
    assert account.look().workspaces == (WorkspaceTrace("~/scratchflow", name, 1, ("n1",)),)


@pytest.mark.parametrize("name", ["~root", "a\\b", "$(touch pwned)", "x\ny"])
def test_a_name_that_a_shell_might_read_otherwise_is_passed_over(
    account: Account, name: str
) -> None:
    account.snapshots(f"scratchflow/{name}", 1)
    found = account.look()
    assert (found.workspaces, found.stores_with_more) == ((), ("~/scratchflow",))
    assert not list(account.home.rglob("pwned"))


def test_what_unison_keeps_is_told_and_whether_sync_ran_it(account: Account) -> None:
    seen = []
    for make in (Path.mkdir, lambda place: (place / "scratchflow.prf").touch()):
        make(account.home / ".unison")
        found = account.look()
        seen.append((found.has_unison, found.ran_sync))
    assert seen == [(True, False), (True, True)]


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_store_with_something_else_in_it_is_told(account: Account, kind: str) -> None:
    account.snapshots("scratchflow/work", 1)
    assert account.look().stores_with_more == ()
    other = account.home / "scratchflow/mine"
    other.mkdir() if kind == "directory" else other.touch()
    assert account.look().stores_with_more == ("~/scratchflow",)


def test_a_workspace_or_store_that_cannot_be_read_is_told_once_with_the_reason(
    account: Account,
) -> None:
    account.snapshots("scratchflow/my work", 1, "n1")
    account.snapshots("scratchflow/other", 1)
    account.note(f"{account.home}/scratchflow/my work")
    for place, name in (("scratchflow/my work", "my work"), ("scratchflow", "")):
        (account.home / place).chmod(0)
        found = account.look()
        (account.home / place).chmod(0o700)
        assert found.closed == (ClosedPlace("~/scratchflow", name, "Permission denied"),)
        assert [one.name for one in found.workspaces] == ["other"] * bool(name)
    assert account.look().closed == ()


def test_records_of_submitted_jobs_are_counted_beside_the_snapshots(account: Account) -> None:
    account.snapshots("scratchflow/work", 2)
    for name in ("a", "b"):
        (account.home / "scratchflow/work/jobs" / name).mkdir(parents=True)
    (account.home / "scratchflow/work/jobs/over").touch()
    assert account.look().workspaces == (WorkspaceTrace("~/scratchflow", "work", 2, (), 2),)


def test_where_nodes_have_copies_and_had_them_before_is_told(account: Account) -> None:
    account.snapshots("scratchflow/work", 1, "broken")
    nodes = account.home / "scratchflow/work/nodes"
    (nodes / "n1.json").write_text(
        '{"node":"n1","workspace_path":"/s/b/work","earlier_paths":["/s/a/work","/s/$X/work","/s/a\\nb/work"]}\n'
    )
    (nodes / "n2.json").write_text(
        '{"node":"n2","workspace_path":"/s/job7/work","goes_with_job":true,"snapshot":"x"}'
    )
    (nodes / "n3.json").write_text('{"node":"$(id)","workspace_path":"/s/work"}')
    (found,) = account.look().workspaces
    assert found.copies == (("n1", "/s/b/work"), ("n1", "/s/a/work"))
