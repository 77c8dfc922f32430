"""The directory of a server's socket: closed to others, short, and gone afterwards."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from scratchflow.node.serving.private_directory import private_directory

_HOLD = """
import sys, time
from scratchflow.node.serving.private_directory import private_directory
with private_directory(sys.argv[1]) as made:
    print(made, flush=True)
    time.sleep(1000)
"""


def test_only_its_user_may_enter_it_and_it_goes_at_the_end(tmp_path: Path) -> None:
    with private_directory(str(tmp_path)) as made:
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
        (made / "s").touch()
    assert list(tmp_path.iterdir()) == []


def test_a_socket_in_it_has_a_path_that_fits() -> None:
    with private_directory() as made:
        kernel = made / "r" / f"kernel-{'0' * 36}-ipc-5"
        assert len(os.fsencode(kernel)) < 104


def test_what_a_killed_one_left_goes_with_the_next_and_a_living_one_stays(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _HOLD, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        with private_directory(str(tmp_path)):
            assert held.is_dir()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert held.is_dir()
    with private_directory(str(tmp_path)):
        assert not held.exists()


def test_a_directory_that_is_not_locked_yet_is_left_alone(tmp_path: Path) -> None:
    new = Path(tempfile.mkdtemp(prefix=f"scratchflow-{os.getuid()}-", dir=tmp_path))
    with private_directory(str(tmp_path)):
        assert new.is_dir()
    os.utime(new, (0, 0))
    with private_directory(str(tmp_path)):
        assert not new.exists()
