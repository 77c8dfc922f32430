"""One file of a snapshot, without a node."""

from __future__ import annotations

import pytest

from scratchflow.login.jobs.snapshot_file import read_in_snapshot, require_directory
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.snapshots import PathMissing
from scratchflow.store.catalogue import read_catalogue
from tests.unit.conftest import Desk


def test_it_is_read_as_it_was_saved_also_from_an_incremental_one(desk: Desk) -> None:
    desk.backup()
    desk.write("work/more")
    desk.backup()
    newest = read_catalogue(desk.place).snapshots[-1]
    assert read_in_snapshot(desk.place, newest, "src/main.py") == b"print()"


@pytest.mark.parametrize("path", ["missing", "src/missing", "README/x", "broken"])
def test_what_is_not_there_is_missing(desk: Desk, path: str) -> None:
    (desk.work / "broken").symlink_to("src/nowhere")
    desk.backup()
    newest = read_catalogue(desk.place).snapshots[-1]
    with pytest.raises(PathMissing):
        read_in_snapshot(desk.place, newest, path)


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("link", "src/main.py", "link"),
        ("scripts", "./src", "scripts/main.py"),
        ("src/up", "../link-to-src/main.py", "src/up"),
        ("around", "../work/src/main.py", "around"),
    ],
)
def test_a_link_is_followed_inside_the_workspace(
    desk: Desk, link: str, target: str, path: str
) -> None:
    (desk.work / "link-to-src").symlink_to("src")
    (desk.work / link).symlink_to(target)
    desk.backup()
    newest = read_catalogue(desk.place).snapshots[-1]
    assert read_in_snapshot(desk.place, newest, path) == b"print()"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/etc/passwd", "leads out of the workspace"),
        ("../other", "leads out of the workspace"),
        ("../../../../../etc/passwd", "leads out of the workspace"),
        ("link", "leads back to itself"),
        ("src", "is a directory"),
    ],
)
def test_a_link_to_anything_else_is_refused_with_the_reason(
    desk: Desk, target: str, said: str
) -> None:
    (desk.work / "link").symlink_to(target)
    desk.backup()
    newest = read_catalogue(desk.place).snapshots[-1]
    with pytest.raises(UsageInvalid, match=said):
        read_in_snapshot(desk.place, newest, "link")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("missing", "is not in the workspace"),
        ("src/missing", "is not in the workspace"),
        ("README", "is no directory"),
        ("to-file", "is no directory"),
        ("around", "leads back to itself"),
    ],
)
def test_a_directory_that_no_command_could_start_in_is_refused(
    desk: Desk, path: str, said: str
) -> None:
    (desk.work / "to-file").symlink_to("src/main.py")
    (desk.work / "around").symlink_to("around")
    desk.backup()
    newest = read_catalogue(desk.place).snapshots[-1]
    with pytest.raises(UsageInvalid, match=said):
        require_directory(desk.place, newest, path)


@pytest.mark.parametrize("path", ["src", "empty", "to-src", "to-shared", "to-shared/deep"])
def test_one_that_is_there_or_that_only_the_node_knows_is_taken(desk: Desk, path: str) -> None:
    (desk.work / "empty").mkdir()
    (desk.work / "to-src").symlink_to("src")
    (desk.work / "to-shared").symlink_to("/fsx/data")
    desk.backup()
    newest = read_catalogue(desk.place).snapshots[-1]
    require_directory(desk.place, newest, path)
