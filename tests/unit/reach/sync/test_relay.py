"""The relay between two far ends, with small programs in the place of unison."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.sync import SyncBusy
from scratchflow.reach.sync import relay as relay_module
from scratchflow.reach.sync.frames import SILENT_S
from scratchflow.reach.sync.one_at_a_time import alone_in
from scratchflow.reach.sync.relay import Relay, Side

# Sends a megabyte to the other and reads it back; says how much came, and ends as unison does: with all its pipes.
ASKS = 'head -c 1000000 /dev/zero | "$2" aws -server | { head -c 1000000 | wc -c; kill $$; }'


START = ["-m", "scratchflow", "sync-end"]
# A far end that does not wait for a minute and a half.
_MAIN = """
from scratchflow.reach.sync import far_end, one_at_a_time
one_at_a_time._WAIT_S = 0
far_end.main()
"""
IMPATIENT = ["-c", _MAIN]


def _side(name: str, home: Path, before: Sequence[str], start: Sequence[str]) -> Side:
    argv = ["env", "-u", "UNISON", f"HOME={home}", sys.executable, *start]
    return Side(profile=name, host=f"login-{name}", argv=[*before, *argv], variables={})


def _run(relay: Relay, script: str, server: list[str]) -> tuple[int, bytes]:
    said: list[bytes] = []

    def answer(piece: bytes) -> bytes:
        said.append(piece)
        return b""

    code = relay.run(["sh", "-c", script, "sh"], lambda _: server, answer)
    return code, b"".join(said)


def _relay(
    directory: Path,
    before: Sequence[str] = (),
    other: Sequence[str] = (),
    start: Sequence[str] = START,
) -> Relay:
    for name in ("uni", "aws"):
        (directory / name).mkdir(exist_ok=True)
    first = _side("uni", directory / "uni", (), start)
    return Relay(first, _side("aws", directory / "aws", before, other or start), os.environ)


def test_bytes_go_both_ways_at_once(tmp_path: Path) -> None:
    assert _run(_relay(tmp_path), ASKS, ["cat"]) == (-15, b"1000000\n")


def test_what_a_login_shell_says_first_is_passed_over(tmp_path: Path) -> None:
    relay = _relay(tmp_path, ["sh", "-c", 'echo Welcome to aws; exec "$@"', "sh"])
    assert _run(relay, ASKS, ["cat"]) == (-15, b"1000000\n")


def test_a_host_that_lets_nobody_in_is_named_with_its_words(tmp_path: Path) -> None:
    relay = _relay(tmp_path, ["sh", "-c", "echo Permission denied >&2; exit 255", "sh"])
    with pytest.raises(ConnectionLost, match="`login-aws`: Permission denied"):
        _run(relay, '"$2" aws -server </dev/null; exit 3', ["cat"])


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["uni", "aws"])
def test_a_host_that_vanishes_is_noticed_by_its_silence(
    tmp_path: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SILENT_S <= 40  # as long as for tunnels; ssh's own limit is 60 s
    monkeypatch.setattr(relay_module, "SILENT_S", 0.5)
    monkeypatch.setattr(relay_module, "_FAREWELL_S", 0.1)
    # The one that does not vanish says that it is there.
    says = "import scratchflow.reach.sync.far_end as f; f.ALIVE_EVERY_S = 0.1; f.main()"
    relay = _relay(tmp_path, start=["-c", says])
    vanish = "kill -STOP $PPID; sleep 9"
    script = vanish if lost == "uni" else '"$2" aws -server </dev/null; exit 3'
    with pytest.raises(ConnectionLost) as caught:
        _run(relay, script, ["sh", "-c", vanish])
    said = f"no connection to `login-{lost}`: nothing was heard from it for 0.5 s"
    assert str(caught.value) == said


@pytest.mark.slow
def test_a_unison_that_does_not_read_for_long_makes_the_other_end_count_nobody_as_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_module, "ALIVE_EVERY_S", 0.1)
    monkeypatch.setattr(relay_module, "_FAREWELL_S", 0.5)
    impatient = (
        "import scratchflow.reach.sync.far_end as f; f.SILENT_S = f._FAREWELL_S = 0.5; f.main()"
    )
    relay = _relay(tmp_path, start=["-c", impatient])
    reads_late = '"$2" aws -server | { sleep 2; head -c 9000000 | wc -c; kill $$; }'
    sends = ["sh", "-c", "head -c 9000000 /dev/zero; exec cat"]
    assert _run(relay, reads_late, sends) == (-15, b"9000000\n")


def test_a_home_that_another_sync_works_with_is_left_alone(
    tmp_path: Path,
) -> None:
    relay = _relay(tmp_path, other=IMPATIENT)
    with (
        alone_in(tmp_path / "aws/.local/share/scratchflow/sync", lambda: None),
        pytest.raises(SyncBusy, match="the home of `aws`"),
    ):
        _run(relay, '"$2" aws -server </dev/null; exit 3', ["cat"])


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_open_and_no_thread_goes_on(tmp_path: Path, fails: bool) -> None:
    """A thread that wrote on would write into whatever file has the descriptor next."""
    relay = _relay(tmp_path)
    open_before, threads_before = sorted(os.listdir("/proc/self/fd")), set(threading.enumerate())

    def answer(_piece: bytes) -> bytes:
        if fails:
            raise RuntimeError("a bug of ours")
        return b""

    with pytest.raises(RuntimeError) if fails else nullcontext():
        relay.run(["sh", "-c", ASKS, "sh"], lambda _: ["cat"], answer)
    assert sorted(os.listdir("/proc/self/fd")) == open_before
    # One that an earlier test left may have ended by now.
    assert set(threading.enumerate()) <= threads_before
