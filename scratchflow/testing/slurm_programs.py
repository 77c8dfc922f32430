"""The fake Slurm as programs on a PATH, for tests that run the real scratchflow without a cluster.

Its nodes have no sshd: a request can be refused, wait or be withdrawn, but no node is ever ready.
"""

from __future__ import annotations

import fcntl
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from scratchflow.testing.slurm import FakeJob, FakeNode, FakeSlurm

PROGRAMS = ("salloc", "squeue", "scontrol", "scancel", "sacct", "srun")
_LOOK_S = 0.05


class _State(msgspec.Struct):
    """What slurmctld would keep between two commands."""

    user: str
    up: bool
    jobs: dict[int, FakeJob]
    nodes: dict[str, FakeNode]
    last_id: int
    asked: list[list[str]]


class SlurmPrograms:
    """A directory for the PATH, and the state behind its programs."""

    def __init__(self, directory: Path, user: str) -> None:
        self.directory = directory
        self._state = directory / "state.json"
        fresh = FakeSlurm(user=user)
        self._write(fresh)
        for name in PROGRAMS:
            program = directory / name
            program.write_text(
                f"#!{sys.executable}\n"
                "import pathlib\n"
                "from scratchflow.testing.slurm_programs import answer\n"
                f"answer(pathlib.Path({str(directory)!r}), {name!r})\n"
            )
            program.chmod(0o755)

    @contextmanager
    def slurm(self) -> Iterator[FakeSlurm]:
        """slurmctld, to look at and to change; one at a time."""
        with changed(self._state) as fake:
            yield fake

    def _write(self, fake: FakeSlurm) -> None:
        self._state.write_bytes(_encoded(fake))


@contextmanager
def changed(path: Path) -> Iterator[FakeSlurm]:
    """The state in the file; what is changed in the block is written back."""
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        state = msgspec.json.decode(file.read(), type=_State)
        fake = FakeSlurm(**msgspec.structs.asdict(state))
        fake.fake_clock.seconds = time.time()
        yield fake
        file.seek(0)
        file.write(_encoded(fake))
        file.truncate()


def _encoded(fake: FakeSlurm) -> bytes:
    kept = {name: getattr(fake, name) for name in _State.__struct_fields__}
    return msgspec.json.encode(_State(**kept))


def answer(directory: Path, program: str) -> None:
    """What the program does when it is run."""
    state = directory / "state.json"
    argv = [program, *sys.argv[1:]]
    if program == "salloc":
        sys.exit(_salloc(state, argv))
    with changed(state) as fake:
        done = fake(argv, 0.0)
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    sys.exit(done.returncode)


def _salloc(state: Path, argv: list[str]) -> int:
    """Waits for the grant, as the real one does with `--no-shell`."""
    with changed(state) as fake:
        fake.asked.append(argv)
        number, said = fake.submit(argv)
    sys.stderr.write(said)
    sys.stderr.flush()
    while number:
        with changed(state) as fake:
            now = fake.jobs[number].state
        if now == "RUNNING":
            return 0
        if now != "PENDING":
            break
        time.sleep(_LOOK_S)
    return 1
