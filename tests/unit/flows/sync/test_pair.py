"""One pair of homes: what is written while unison runs is read once more, never called equal."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from scratchflow.flows.sync.conversation import Person
from scratchflow.flows.sync.pair import RESTLESS
from scratchflow.model.events import Warned
from scratchflow.model.requests import SyncCount
from scratchflow.model.results.sync import FilesCounted
from scratchflow.reach.sync.relay import Relay
from tests.unit.flows.sync.conftest import TwoHomes, written

pytestmark = pytest.mark.slow  # each starts unison several times


@pytest.mark.parametrize("name", [b"p/one", b"p/new/one", b"p/\xff/one"])
def test_what_is_written_again_within_the_second_with_the_same_size_goes_to_the_other_side(
    equal: TwoHomes, name: bytes
) -> None:
    equal.looks_again = True
    file = os.path.join(os.fsencode(equal.uni), name)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    Path(os.fsdecode(file)).write_bytes(b"11")
    before = os.stat(file)
    pair = equal.pair()
    real = pair.count_first

    def count(request: SyncCount) -> FilesCounted:
        """Called once unison has brought it over."""
        if request.written and Path(os.fsdecode(file)).read_bytes() == b"11":
            Path(os.fsdecode(file)).write_bytes(b"21")
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        return real(request)

    done = equal.sync(count_first=count)
    assert Path(os.fsdecode(os.path.join(os.fsencode(equal.aws), name))).read_bytes() == b"21"
    assert done.to_profile == 2
    assert equal.sync().equal


def test_what_was_written_long_before_is_read_once(equal: TwoHomes) -> None:
    equal.looks_again = True
    written(equal.uni, {"p/new": "x"})
    os.utime(equal.uni / "p/new", (1, 1))
    equal.sync(relay=(counted := Counted(equal.pair().relay)))
    assert counted.runs == 1


def test_what_is_not_synced_is_told_once_however_often_unison_looks(equal: TwoHomes) -> None:
    equal.looks_again = True
    written(equal.uni, {"p/u/good": "x"})
    os.mkfifo(equal.uni / "p/u/fifo")
    equal.sync(relay=(counted := Counted(equal.pair().relay)))
    assert counted.runs > 1
    warned = [event.path for event in equal.events if isinstance(event, Warned)]
    assert warned == ["p/u/fifo"]


class Counted:
    """A relay that counts how often unison was run."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self.runs = 0

    def run(self, *words: object) -> int:
        self.runs += 1
        return self._relay.run(*words)  # type: ignore[arg-type]  # passed on


class Restless:
    """Writes the file again, with the same size and within the same second, each time after it was synced."""

    def __init__(self, homes: TwoHomes, times: int) -> None:
        self._homes, self._left = homes, times
        self._real = homes.pair().count_first
        self.file = homes.uni / "p/race"

    def __call__(self, request: SyncCount) -> FilesCounted:
        if request.written and self._left:
            self._left -= 1
            before = self.file.stat()
            self.file.write_text(f"1{self._left}")
            os.utime(self.file, ns=(before.st_atime_ns, before.st_mtime_ns))
            now = time.time()
            os.utime(self.file, (now, now))
        return self._real(request)


def test_what_is_written_all_the_time_is_never_called_equal_and_the_next_sync_reads_it(
    equal: TwoHomes,
) -> None:
    equal.looks_again = True
    written(equal.uni, {"p/race": "19", "p/calm": "x"})
    done = equal.sync(count_first=Restless(equal, times=3))
    assert [(one.path, one.reason) for one in done.failed] == [("p/race", RESTLESS)]
    assert not done.equal
    assert equal.noted == ["p/race"]
    # The last write may have the time of the one before: what unison alone would call equal.
    seen = (equal.aws / "p/race").stat()
    os.utime(equal.uni / "p/race", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    equal.looks_again = False
    equal.sync()
    assert (equal.aws / "p/race").read_text() == (equal.uni / "p/race").read_text() == "10"
    assert equal.noted == []
    assert equal.sync().equal


def test_what_is_noted_of_folders_that_are_not_synced_any_more_is_left_alone(
    equal: TwoHomes,
) -> None:
    written(equal.uni, {"other/secret": "x"})
    equal.noted = ["other", "other/secret", "."]
    assert equal.sync().equal
    assert not (equal.aws / "other").exists()
    assert equal.noted == []


def test_what_is_noted_of_other_paths_waits_for_a_sync_of_these(equal: TwoHomes) -> None:
    equal.noted = ["p/d0", "p/d1/f1"]
    equal.sync(rules=equal.rules(paths=["p/d1"]))
    assert equal.noted == ["p/d0"]
    equal.sync()
    assert equal.noted == []


def test_a_file_that_unison_took_for_unchanged_is_read_in_full_at_once(equal: TwoHomes) -> None:
    """Its size and time are those that unison knows; it looks closer only when it is to bring it over."""
    written(equal.uni, {"p/one": "old"})
    equal.sync()
    file = equal.uni / "p/one"
    before = file.stat()
    file.write_text("new")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    file.chmod(0o700)
    written(equal.aws, {"p/one": "theirs"})
    done = equal.sync(Person(decide=lambda *_: "first"))
    assert done.failed == []
    assert (equal.aws / "p/one").read_text() == "new"
