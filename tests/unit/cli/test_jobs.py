"""What people read after a verb of `jobs`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.verbs import parse
from scratchflow.model.results.jobs import DebugReady

READY = DebugReady(
    job="j",
    task=1,
    directory="/scratch/debug/j-1/work/sub",
    command="python train.py",
    script="/scratch/debug/j-1/.scratchflow/debug.sh",
    bashrc="/scratch/debug/j-1/.scratchflow/debug.bashrc",
)


def test_after_the_shell_of_debug_the_whole_copy_is_named_for_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    call = parse(["jobs", "debug", "41_1"])
    (line,) = call.show(msgspec.structs.replace(READY, code=0))
    assert line.startswith("`/scratch/debug/j-1` stays as you left it; `rm -r` removes it")
    first, second = call.show(READY)
    assert "/scratch/debug/j-1/work/sub" in first
    assert READY.script in second
