"""`kill -9` at random times of `snapshots copy`: each store stays whole, and the next run finishes it."""

from __future__ import annotations

import os
import random
from pathlib import Path

from tests.crash.node.test_backup_killed_at_random import Program, duration_s

TIMES = 10


def test_a_copy_that_is_killed_ten_times_arrives_whole(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for number in range(3):
        (program.work / f"file {number}").write_bytes(os.urandom(20 << 20))
        program.run("backup")
    there = tmp_path / "there"
    with (tmp_path / "config.toml").open("a") as file:
        file.write(
            f'[profiles.there]\nscheduler = "none"\nscratch = "{there}/scratch"\nstore = "{there}/store"\n'
        )
    copy = ("--profile", "test", "snapshots", "copy", "--all", "--to", "there")
    took_s = duration_s(program, *copy, "--dry-run")
    chance = random.Random(7)  # noqa: S311 - moments, not secrets
    kills = 0
    for _ in range(TIMES):
        kills += program.killed(took_s + chance.uniform(0.0, 0.25), *copy)
        program.run("snapshots", "verify", "--profile", "test")
        if list((there / "store").rglob("*.json")):
            program.run("snapshots", "verify", "--profile", "there")
    assert kills
    program.run(*copy)
    program.run("snapshots", "verify", "--profile", "there")
    archives = sorted(path.name for path in (tmp_path / "store").rglob("*.tar.lz4"))
    assert archives == sorted(path.name for path in (there / "store").rglob("*.tar.lz4"))
    for name in archives:
        (ours,) = (tmp_path / "store").rglob(name)
        (theirs,) = (there / "store").rglob(name)
        assert ours.read_bytes() == theirs.read_bytes()
    again = program.run(*copy, "--json")
    assert '"sent_bytes":0' in again.replace(" ", "")
