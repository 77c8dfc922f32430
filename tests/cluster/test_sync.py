"""Two clusters, one laptop between them: folders of the two homes are kept equal, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.minicluster import Minicluster, retry_until
from tests.cluster.two_clusters import TwoClusters

FILES = 2000
ALICE = 20001


class TwoHomes(TwoClusters):
    """The homes of alice on both, with the folder `p` to be kept equal."""

    def __init__(self, home: Path, first: Minicluster, second: Minicluster) -> None:
        super().__init__(home, first, second)
        self.uni = first.shared("/home/alice")
        self.aws = second.shared("/home/alice")
        with self.config.open("a") as file:
            file.write('\n[sync]\nprofiles = ["uni", "aws"]\nfolders = ["p"]\n')

    @property
    def config(self) -> Path:
        return self.laptop.home / "CONFIG" / "scratchflow" / "config.toml"

    def sync(self, *words: str) -> dict[str, Any]:
        return self.laptop.outcome("sync", *words)

    def pair(self, *words: str, exit_code: int = 0) -> dict[str, Any]:
        done = self.sync(*words)
        assert done["exit_code"] == exit_code, done
        found: dict[str, Any] = done["data"]["pairs"][0]
        return found

    def write(self, home: Path, name: str, content: str) -> None:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        for one in (path, *path.parents):
            if one == home:
                break
            os.chown(one, ALICE, ALICE)

    def equal(self) -> bool:
        argv = ["diff", "-r", str(self.uni / "p"), str(self.aws / "p")]
        return subprocess.run(argv, check=False, capture_output=True).returncode == 0


@pytest.fixture
def clusters(tmp_path: Path, minicluster: Minicluster, second: Minicluster) -> Iterator[TwoHomes]:
    both = TwoHomes(tmp_path, minicluster, second)
    yield both
    second.run("up")
    for home in (both.uni, both.aws):
        for name in ("p", ".unison", ".local/share/scratchflow/sync"):
            shutil.rmtree(home / name, ignore_errors=True)


def count(directory: Path) -> int:
    return sum(path.is_file() for path in directory.rglob("*"))


@pytest.mark.slow
def test_two_thousand_files_through_a_conflict_a_rename_and_a_big_deletion(
    clusters: TwoHomes,
) -> None:
    """One long day, because the homes are large and each step begins where the one before ended."""
    uni, aws = clusters.uni, clusters.aws
    for number in range(FILES):
        clusters.write(uni, f"p/d{number % 40}/f{number}", f"{number}\n" * 50)
    assert clusters.sync("--test")["exit_code"] == 0
    assert clusters.pair()["to_profile"] == 1
    assert count(aws / "p") == FILES
    assert clusters.equal()

    # A conflict, a deletion on one side, a rename on the other.
    clusters.write(uni, "p/d0/f0", "of uni, which is longer\n")
    clusters.write(aws, "p/d0/f0", "of aws\n")
    (uni / "p/d1/f1").unlink()
    (aws / "p/d2/f2").rename(aws / "p/d2/renamed")
    done = clusters.pair(exit_code=41)
    assert done["conflicts"] == ["p/d0/f0"]
    assert (uni / "p/d0/f0").read_text() == "of uni, which is longer\n"
    assert (aws / "p/d0/f0").read_text() == "of aws\n"
    assert not (aws / "p/d1/f1").exists()
    assert (aws / ".unison/backup/p/d1/f1").exists()
    assert (uni / "p/d2/renamed").exists()
    assert clusters.pair("--prefer", "aws")["conflicts"] == []
    assert (uni / "p/d0/f0").read_text() == "of aws\n"
    assert (uni / ".unison/backup/p/d0/f0").read_text() == "of uni, which is longer\n"
    assert clusters.equal()

    # Many files are gone on one side: nobody is there to be asked.
    for number in range(10):
        shutil.rmtree(aws / f"p/d{number}")
    refused = clusters.sync()
    assert (refused["code"], refused["exit_code"]) == ("sync.many_deletions", 36)
    assert count(uni / "p") == FILES - 1
    assert len(clusters.sync("--dry-run")["data"]["pairs"][0]["plan"]) == 10
    assert clusters.pair("--allow-deletions")["deleted"] == 10
    assert clusters.equal()
    assert count(uni / ".unison/backup/p") >= FILES // 4 - 1

    # Another host of the pool answers: what is known of the last sync stays known.
    config = clusters.config.read_text()
    clusters.config.write_text(config.replace("aws1-login", "aws2-login"))
    clusters.second.exec("login", "hostname", "login-two")
    (uni / "p/d20/f20").unlink()
    assert clusters.pair()["deleted"] == 1
    assert not (aws / "p/d20/f20").exists()
    assert clusters.equal()


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["second", "first"])
def test_a_link_that_is_cut_in_the_middle_loses_nothing(clusters: TwoHomes, lost: str) -> None:
    content = {f"p/big{number}": os.urandom(1 << 20).hex() for number in range(40)}
    for name, text in content.items():
        clusters.write(clusters.uni, name, text)
    for number in range(FILES // 10):
        clusters.write(clusters.aws, f"p/small/{number}", f"{number}\n")
    cluster = getattr(clusters, lost)
    with clusters.laptop.begin("sync", "--json") as syncing:
        retry_until(
            lambda: any((clusters.aws / "p").glob(".unison.*")) or count(clusters.aws / "p") > 201,
            "files arrive",
        )
        cluster.run("link", "login", "down")
        stdout, _ = syncing.communicate()
    assert syncing.returncode == 14, stdout
    cluster.run("link", "login", "up")
    assert clusters.pair()["conflicts"] == []
    assert clusters.equal()
    for name, text in content.items():
        assert (clusters.aws / name).read_text() == text
    assert count(clusters.aws / "p") == len(content) + FILES // 10
