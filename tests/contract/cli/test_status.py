"""`status` and `status --watch` on a terminal of 80 columns: no broken word, and seconds that count down."""

from __future__ import annotations

import getpass
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.cli.test_tables import on_screen
from tests.contract.people import PROGRAM, ROOT, Person
from tests.terminal import CTRL_C, Terminal

SQUEUE = """#!{python}
import os, sys, time
sys.path.insert(0, {root!r})
from scratchflow.cluster.slurm.request import job_name
from scratchflow.testing.slurm import FakeJob, FakeSlurm
with open({log!r}, "a") as log:
    print("asked", file=log)
slurm = FakeSlurm(user={user!r})
slurm.jobs[41] = FakeJob(
    41, job_name("demo", "0123abcd"), {user!r}, "RUNNING", nodes="node-2", minutes=60, start={start}
)
done = slurm([os.path.basename(sys.argv[0]), *sys.argv[1:]], 1)
sys.stdout.buffer.write(done.stdout)
sys.stderr.buffer.write(done.stderr)
sys.exit(done.returncode)
"""


@pytest.fixture
def short_home() -> Iterator[Path]:
    """So short that the workspace's path is no longer than a row."""
    directory = Path(tempfile.mkdtemp(prefix="p-"))
    yield directory
    shutil.rmtree(directory)


def test_no_word_of_status_is_broken_and_it_ends_with_the_next_step(
    short_home: Path,
) -> None:
    person = Person(short_home)
    person.work.rmdir()
    rows = on_screen(person, "status")
    assert " ".join(rows).endswith("`scratchflow up --local` works on this machine alone")
    person.data("create")
    words = set(" ".join(person.says("status").split()).split(" "))
    rows = on_screen(person, "status")
    assert set(" ".join(" ".join(rows).split()).split(" ")) == words
    assert rows[-2:] == [
        "Next: `scratchflow autobackup on` saves the workspace every 30 min;",
        "      `scratchflow snapshots diff` shows what is not saved yet",
    ]


class TestWatch:
    """`status --watch` of a job of one hour that ends in ten minutes, as the fake Slurm tells it."""

    @pytest.fixture
    def person(self, tmp_path: Path) -> Person:
        person = Person(tmp_path)
        programs = tmp_path / "bin"
        programs.mkdir()
        values = {"root": str(ROOT), "user": getpass.getuser(), "start": int(time.time()) - 3000}
        values["log"] = str(tmp_path / "asked")
        for name in ("squeue", "scontrol", "sacct", "srun"):
            (programs / name).write_text(SQUEUE.format(python=sys.executable, **values))
            (programs / name).chmod(0o755)
        person.environment["PATH"] = f"{programs}:{person.environment['PATH']}"
        config = tmp_path / ".config/scratchflow/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            'default_profile = "demo"\n[profiles.demo]\nlogin = "local"\n'
            f'scratch = "{tmp_path}/scratch"\nstore = "{tmp_path}/store"\n'
        )
        return person

    def test_seconds_and_the_warning_count_down_and_ctrl_c_leaves_without_a_word(
        self, person: Person, tmp_path: Path
    ) -> None:
        def asked() -> int:
            return len((tmp_path / "asked").read_text().splitlines())

        argv = [*PROGRAM, "status", "--watch"]
        with Terminal(argv, person.environment, cwd=ROOT) as terminal:
            terminal.wait_for("time left")
            once = asked()
            seen = {_time_left(terminal.rows)}
            while len(seen) < 8:
                terminal.wait_for_more()
                # What arrives may be half of a new picture: the row may be missing for a moment, or its end.
                left = _time_left(terminal.rows)
                seen |= {left} if left else set()
                # Seconds pass without a look at the cluster for each.
                assert asked() < 8 * once
            assert terminal.text.count("time left") == 1
            assert terminal.rows[0].startswith("! the allocation ends in 9 min")
            assert "warning:" not in terminal.text
            terminal.press(CTRL_C)
            assert terminal.end() == 0
            assert "error" not in terminal.text
            assert "node-2, job 41, until " in terminal.text
            assert all(len(row) <= 80 for row in terminal.all_rows)


def _time_left(rows: list[str]) -> str:
    """The time in the row that tells it; nothing while that is not drawn whole."""
    found = (re.fullmatch(r"time left +\S* *([0-9:]+) of \S+", row) for row in rows)
    return next((match[1] for match in found if match), "")
