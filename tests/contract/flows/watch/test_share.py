"""Several `status --watch` of one user, as real processes: one of them asks Slurm."""

from __future__ import annotations

import getpass
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.contract.cli.test_status import SQUEUE
from tests.contract.people import PROGRAM, ROOT, Person

SOON_S = 60.0


def retry_until(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.05)


class Window:
    """One watch with the command line of the extension."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process, self._output = process, output

    @property
    def pid(self) -> int:
        return self.process.pid

    def pictures(self) -> list[dict[str, Any]]:
        whole = self._output.read_bytes().split(b"\n")[:-1]
        lines = [json.loads(line) for line in whole]
        return [line["data"] for line in lines if line["type"] == "status"]

    def wait_for_picture(self, count: int = 1) -> None:
        retry_until(lambda: len(self.pictures()) >= count, self._output.read_text())

    def kill(self, signum: int = signal.SIGKILL) -> None:
        self.process.send_signal(signum)
        self.process.wait(SOON_S)


class Desk:
    """A person with windows; the fake Slurm notes the process that asks."""

    def __init__(self, home: Path, open_until: ExitStack) -> None:
        self.person = Person(home)
        self.cache = home / ".cache/scratchflow/watch"
        self._home, self._open_until = home, open_until
        self._asked = home / "asked"
        programs = home / "bin"
        programs.mkdir()
        values = {"root": str(ROOT), "user": getpass.getuser(), "start": int(time.time()) - 3000}
        script = SQUEUE.replace('"asked"', "os.getppid()")
        for name in ("squeue", "scontrol", "sacct", "srun"):
            file = programs / name
            file.write_text(script.format(python=sys.executable, log=str(self._asked), **values))
            file.chmod(0o755)
        self.person.environment["PATH"] = f"{programs}:{self.person.environment['PATH']}"
        self.config("config")

    def config(self, name: str) -> Path:
        path = self._home / f".config/scratchflow/{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        place = f'login = "local"\nscratch = "{self._home}/scratch"\nstore = "{self._home}/store"\n'
        path.write_text(f'default_profile = "demo"\n[profiles.demo]\n{place}[profiles.b]\n{place}')
        return path

    def open(self, *arguments: str) -> Window:
        output = self._home / f"window-{time.monotonic_ns()}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*PROGRAM, "status", "--watch", *arguments, "--json"],
                env=self.person.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
            )
        self._open_until.callback(process.wait)
        self._open_until.callback(process.kill)
        self._open_until.callback(process.send_signal, signal.SIGCONT)
        return Window(process, output)

    def askers(self) -> set[int]:
        return {int(line) for line in self._asked.read_text().split()}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with ExitStack() as open_until:
        yield Desk(tmp_path, open_until)


def test_of_three_windows_one_asks_and_all_show_the_same(desk: Desk) -> None:
    windows = [desk.open() for _ in range(3)]
    for window in windows:
        window.wait_for_picture()
    assert len(desk.askers()) == 1
    assert {window.pictures()[0]["allocation"]["job_id"] for window in windows} == {41}
    modes = {oct(path.stat().st_mode & 0o777) for path in desk.cache.rglob("*") if path.is_file()}
    assert modes == {"0o600"}


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_the_one_that_asks_ends_another_asks(desk: Desk, signum: int) -> None:
    first, second, third = (desk.open() for _ in range(3))
    windows = {window.pid: window for window in (first, second, third)}
    for window in windows.values():
        window.wait_for_picture()
    (asker,) = desk.askers()
    windows.pop(asker).kill(signum)
    retry_until(lambda: len(desk.askers()) == 2, "nobody asks")
    for window in windows.values():
        window.wait_for_picture(2)
    assert len(desk.askers()) == 2
    assert desk.askers() - {asker} <= set(windows)


def test_other_profiles_and_configurations_are_asked_for_themselves(desk: Desk) -> None:
    other = desk.config("other")
    windows = [desk.open(), desk.open("-p", "b"), desk.open("--config", str(other))]
    for window in windows:
        window.wait_for_picture()
    assert desk.askers() == {window.pid for window in windows}
    assert [window.pictures()[0]["profile"] for window in windows] == ["demo", "b", "demo"]


def test_with_a_directory_that_cannot_be_written_each_asks_for_itself(desk: Desk) -> None:
    desk.cache.parent.mkdir(parents=True)
    desk.cache.parent.chmod(0o500)
    try:
        windows = [desk.open(), desk.open()]
        for window in windows:
            window.wait_for_picture()
    finally:
        desk.cache.parent.chmod(0o700)
    assert desk.askers() == {window.pid for window in windows}


def test_while_the_one_that_asks_is_stopped_a_new_window_shows_nothing_old(desk: Desk) -> None:
    first = desk.open()
    first.wait_for_picture()
    first.process.send_signal(signal.SIGSTOP)
    os.waitpid(first.pid, os.WUNTRACED)
    (answer,) = desk.cache.rglob("*.json")
    content = json.loads(answer.read_bytes())
    answer.write_text(json.dumps(content | {"at_s": content["at_s"] - 3600}))
    second = desk.open()
    second.wait_for_picture()
    assert second.pid in desk.askers()
    first.process.send_signal(signal.SIGCONT)
    retry_until(lambda: str(second.pid) in answer.read_text(), "it does not write")
