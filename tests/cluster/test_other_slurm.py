"""A cluster whose Slurm is another one than Debian's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.minicluster import Minicluster

VERSION = "#!/bin/sh\necho slurm 99.11.1\n"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's own daemons, as if somebody had installed them elsewhere, and a program that tells them apart."""
    place = tmp_path_factory.mktemp("other") / "slurm"
    for name in ("slurmctld", "slurmd", "srun", "sprio"):
        found = shutil.which(name, path="/usr/bin:/usr/sbin")
        assert found
        copy = place / ("sbin" if name.startswith("slurm") else "bin") / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(found).resolve(), copy)
    (place / "bin/sprio").write_text(VERSION)
    return place


@pytest.fixture(scope="module")
def minicluster(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minicluster]:
    settings = {"MC_SLURM_PREFIX": str(prefix), "MC_NODES": "1"}
    cluster = Minicluster(tmp_path_factory.mktemp("site") / "state", settings)
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


@pytest.mark.parametrize("host", ["login", "node-1"])
def test_its_programs_take_the_place_of_debians(minicluster: Minicluster, host: str) -> None:
    assert minicluster.exec(host, "sprio", "--version").stdout == "slurm 99.11.1\n"


def test_its_daemons_run_and_jobs_do_too(minicluster: Minicluster, prefix: Path) -> None:
    program = minicluster.exec("node-1", "sh", "-c", "stat -Lc %i /proc/$(pgrep -x slurmd)/exe")
    assert int(program.stdout) == (prefix / "sbin/slurmd").stat().st_ino
    assert minicluster.login("srun", "--nodes=1", "hostname").stdout == "node-1\n"


def test_a_prefix_without_programs_is_refused(tmp_path: Path) -> None:
    cluster = Minicluster(tmp_path / "state", {"MC_SLURM_PREFIX": str(tmp_path)})
    done = cluster.run("up", check=False)
    assert done.returncode != 0
    assert "MC_SLURM_PREFIX" in done.stderr
