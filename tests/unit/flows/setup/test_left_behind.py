"""What `setup --remove` leaves is named with the command that removes it, and that removes nothing else."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.left_behind import Seen, left_behind
from scratchflow.model.results import NodesShown, SnapshotsShown, StatusShown
from tests.unit.cli.test_nodes import row
from tests.unit.flows.told import ToldCluster, seen

PROFILE = 'login = "aws"\nstore = "/fsx/ada\'s store/"\nscratch = "/scratch/ada/"\nworkspace = "w"'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))
    return tmp_path / "my cache" / "scratchflow"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return ToldCluster(tmp_path, {}, profile=PROFILE).settings


def status(count: int) -> StatusShown:
    return msgspec.structs.replace(seen(), snapshots=SnapshotsShown(count=count))


def test_what_nobody_could_ask_about_is_named_without_a_number(settings: Settings) -> None:
    profile, snapshots = left_behind(settings, Seen())
    assert str(settings.path) in profile.what
    assert "profiles remove p" in profile.how
    assert snapshots.what.startswith("the snapshots in ")


def test_no_snapshots_and_no_copies_are_not_named(settings: Settings) -> None:
    nodes = NodesShown(nodes=[row("n1")])
    (profile,) = left_behind(settings, Seen(status(0), nodes))
    assert "profile" in profile.what


def test_snapshots_are_counted_and_only_the_workspaces_are_removed(settings: Settings) -> None:
    _, snapshots = left_behind(settings, Seen(status(1), None))
    assert snapshots.what.startswith("1 snapshot in /fsx/ada's store/w on `aws`")
    assert "gone for good" in snapshots.how


def test_the_command_removes_that_path_on_the_far_shell_also_with_a_space(
    settings: Settings,
) -> None:
    _, snapshots = left_behind(settings, Seen())
    ssh, login, far = shlex.split(snapshots.how.split("`")[1])
    assert (ssh, login) == ("ssh", "aws")
    assert shlex.split(far) == ["rm", "-r", "/fsx/ada's store/w"]


def test_the_variables_of_a_store_are_the_far_shells(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}, profile='login = "aws"\nstore = "/fsx/$USER/s"').settings
    _, snapshots = left_behind(settings, Seen())
    far = shlex.split(snapshots.how.split("`")[1])[-1]
    assert "$USER" in far
    assert "'" not in far


@pytest.mark.parametrize(
    ("store", "path"),
    [
        ("/fsx/my data", "/fsx/my data/work"),
        ("~/my data", "/home/ada/my data/work"),
        ("/fsx/$USER/my data", "/fsx/ada/my data/work"),
        ('/fsx/a "b" (c) * d\\', '/fsx/a "b" (c) * d\\/work'),
    ],
)
def test_a_real_shell_over_there_gets_the_one_path(tmp_path: Path, store: str, path: str) -> None:
    """`rm -r /fsx/my data/work` would remove `/fsx/my`."""
    settings = ToldCluster(tmp_path, {}, profile=f"login = 'aws'\nstore = '{store}'").settings
    _, snapshots = left_behind(settings, Seen())
    far = shlex.split(snapshots.how.split("`")[1])[-1].removeprefix("rm -r ")
    argv = ["sh", "-c", f"printf '<%s>' {far}"]
    environment = {"HOME": "/home/ada", "USER": "ada", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"<{path}>"


def test_copies_are_named_by_their_nodes(settings: Settings) -> None:
    nodes = NodesShown(nodes=[row("n1", warm="s"), row("n2"), row("n3", warm="s")])
    *_, copies = left_behind(settings, Seen(status(2), nodes))
    assert copies.what.endswith("n1, n3")
    assert "`rm -r /scratch/ada/w`" in copies.how


def test_the_cache_is_named_when_there_is_one(settings: Settings, cache: Path) -> None:
    cache.mkdir(parents=True)
    last = left_behind(settings, Seen())[-1]
    assert shlex.split(last.how.strip("`")) == ["rm", "-r", str(cache)]


def test_without_a_cluster_nothing_of_one_is_named(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}, profile='scheduler = "none"').settings
    assert [left.what for left in left_behind(settings, Seen()) if "snapshot" in left.what] == []
