"""Completion as people meet it: a real shell in a terminal, and the Tab key."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
default_profile = "uni"
[profiles.uni]
login = "unreachable.invalid"
[profiles.long-runs]
login = "unreachable.invalid"
"""
REMEMBERED = """
{"nodes": ["node-1", "gpu-a", "$(touch ran)", "x`touch ran`"], "partitions": ["debug", "short"],
 "snapshots": ["20261115T093000Z-3f2a9c", "20261116T101500Z-77aa01"], "jobs": ["4107", "4211"]}
"""
_DEADLINE_S = 60.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two profiles, what earlier commands left behind, and the program on its PATH."""
    for path, text in {
        ".config/scratchflow/config.toml": CONFIG,
        ".local/state/scratchflow/profiles/uni.json": REMEMBERED,
        "bin/scratchflow": f'#!/bin/sh\nexec "{sys.executable}" -m scratchflow "$@"\n',
    }.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "bin/scratchflow").chmod(0o755)
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": f"{home}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
        # Not /dev/null: the shell of root would put a file in its place.
        "HISTFILE": f"{home}/history",
    }


class Terminal:
    """Keys in, screen out."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.screen = ""

    def press(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def wait_for(self, seen: Callable[[str], bool]) -> str:
        """What came since the last wait, as soon as that is on it."""
        until = time.monotonic() + _DEADLINE_S
        while not seen(self.screen):
            left_s = until - time.monotonic()
            assert left_s > 0, f"not on the screen: {self.screen!r}"
            if select.select([self._descriptor], [], [], left_s)[0]:
                self.screen += os.read(self._descriptor, 1 << 16).decode(errors="replace")
        shown, self.screen = self.screen, ""
        return shown


@contextmanager
def terminal(home: Path, *argv: str) -> Iterator[Terminal]:
    child, descriptor = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execvpe(argv[0], list(argv), environment(home))  # noqa: S606 - a shell is what is tried
    try:
        yield Terminal(descriptor)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(descriptor)


def install(home: Path, shell: str) -> None:
    """As the README says: typed once in that shell, which is found out by itself."""
    typed = "scratchflow --install-completion; :"
    argv = [shell, "-c", typed]
    done = subprocess.run(argv, env=environment(home), capture_output=True, text=True, check=False)
    assert f"{shell} completion installed" in done.stdout, done


# What is typed, and what one Tab makes of it.
UNIQUE = [
    ("scratchflow sta", "scratchflow status "),
    ("scratchflow up --profile lon", "scratchflow up --profile long-runs "),
    ("scratchflow -p lon", "scratchflow -p long-runs "),
    ("scratchflow profiles use un", "scratchflow profiles use uni "),
    ("scratchflow hop --node gpu", "scratchflow hop --node gpu-a "),
    ("scratchflow up --partition sh", "scratchflow up --partition short "),
    ("scratchflow setup --site mi", "scratchflow setup --site mila "),
    ("scratchflow restore 20261116", "scratchflow restore 20261116T101500Z-77aa01 "),
    ("scratchflow restore 77a", "scratchflow restore 77aa01 "),
    ("scratchflow snapshots verify la", "scratchflow snapshots verify latest "),
    ("scratchflow jobs rerun 42", "scratchflow jobs rerun 4211 "),
    ("scratchflow cancel 4211 41", "scratchflow cancel 4211 4107 "),
    ("scratchflow config set slurm.part", "scratchflow config set slurm.partition "),
    ("scratchflow config unset default", "scratchflow config unset default_profile "),
    ("scratchflow allocate --keep", "scratchflow allocate --keep-waiting "),
]


def plain(screen: str) -> str:
    """Without what moves the cursor, and with what was typed over taken back."""
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x07\r]", "", screen)
    return re.sub(r"[^\x08]\x08", "", shown)


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_tab_completes_values_in_a_new_shell(home: Path, name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here")
    install(home, name)
    with terminal(home, name, "-i") as shell:
        shell.press("PS1='rea''dy> '; echo ha''llo\n")
        shell.wait_for(lambda screen: "hallo" in screen and plain(screen).endswith("ready> "))
        for typed, completed in UNIQUE:
            shell.press(f"{typed}\t")
            shell.wait_for(lambda screen, completed=completed: completed in plain(screen))  # type: ignore[misc]
            shell.press("\x15\n")  # the line away, and a fresh prompt
            shell.wait_for(lambda screen: "\n" in screen and plain(screen).endswith("ready> "))
    assert not (home / "ran").exists()


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
def test_fish_completes_values(home: Path) -> None:
    install(home, "fish")
    # fish's own question, which Tab asks too: the candidates for a line, each with its description.
    ask = "; ".join(f"complete --do-complete '{typed}'; echo -- " for typed, _ in UNIQUE)
    done = subprocess.run(
        ["fish", "-c", ask],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    for offered, (_, completed) in zip(done.stdout.split("--\n"), UNIQUE, strict=False):
        words = [line.partition("\t")[0] for line in offered.splitlines()]
        assert completed.split()[-1] in words, done
    assert not (home / "ran").exists()


def test_names_that_would_run_something_are_not_offered(home: Path) -> None:
    env = environment(home) | {
        "_SCRATCHFLOW_COMPLETE": "complete_bash",
        "COMP_WORDS": "scratchflow hop --node ",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(["scratchflow"], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["node-1", "gpu-a"]


@pytest.mark.parametrize("broken", ["[", 'default_profile = "nosuch"\n'])
def test_a_broken_file_offers_nothing_and_says_nothing(home: Path, broken: str) -> None:
    (home / ".config/scratchflow/config.toml").write_text(broken)
    env = environment(home) | {
        "_SCRATCHFLOW_COMPLETE": "complete_bash",
        "COMP_WORDS": "scratchflow hop --node ",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(["scratchflow"], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")
