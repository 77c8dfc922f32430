"""The oracle: any sequence of changes and commands, after which nothing is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from types import ModuleType

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from scratchflow.archive.files import chunker
from scratchflow.archive.tree import chunks
from scratchflow.archive.write import windows
from scratchflow.disk.trees import remove_tree
from scratchflow.model.errors.restore import RestoreIncomplete
from scratchflow.store.retention import compact as compacting
from tests.oracle.changes import HABITS, NAMES, SIZES, Change, Tree
from tests.oracle.mounting import can_mount
from tests.oracle.system_calls import SYSTEM_CALLS, SystemCall
from tests.oracle.world import COUNTS, World

NUMBER = st.integers(0, 40)
FILL = st.integers(65, 70)
SIZE = st.sampled_from(SIZES)
# The larger ones of these files are stored in chunks, and archives are rewritten for a few bytes. The real
# program has its own sizes.
_SMALL_CHUNKS = {
    (chunks, "MIN_CHUNKED_BYTES"): 64 << 10,
    (chunker, "MIN_CHUNK_BYTES"): 2 << 10,
    (chunker, "CHUNK_BYTES"): 2 << 10,
    (chunker, "MAX_CHUNK_BYTES"): 8 << 10,
    (windows, "WINDOW_BYTES"): 40 << 10,
    (compacting, "MIN_FREED_BYTES"): 1,
}
CHANGE = st.builds(
    Change,
    do=st.sampled_from(HABITS),
    one=NUMBER,
    other=NUMBER,
    name=st.sampled_from(NAMES),
    fill=FILL,
    size=SIZE,
)
PATTERNS = st.lists(st.sampled_from(["*.o", "skip", "a", "b/"]), max_size=2, unique=True)
CALL = st.sampled_from(SYSTEM_CALLS)
JUMPS = st.sampled_from([60, 3600, 86_400, 40 * 86_400, -3600, -3 * 86_400])


class Oracle(RuleBasedStateMachine):
    """A person at work, and a product that promises to lose nothing."""

    by_program = False

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="oracle-"))
        self.chunk_sizes = {place: getattr(*place) for place in _SMALL_CHUNKS}
        _set_sizes(_SMALL_CHUNKS)
        self.world = World(self.directory, by_program=self.by_program)
        self.tree = Tree(self.world.scratch)

    def teardown(self) -> None:
        try:
            self.world.close()
        finally:
            _set_sizes(self.chunk_sizes)
            self.tree.close()
            self.world.outside.clear()
            _open_all(self.directory)
            remove_tree(self.directory)

    def _snapshot(self, number: int) -> str | None:
        COUNTS["steps"] += 1
        ids = self.world.ids
        return ids[number % len(ids)] if ids else None

    # -- changes

    @initialize(first=st.integers(0, 9), size=SIZE)
    def begin(self, first: int, size: int) -> None:
        """Some files to begin with, all of one size and one mtime."""
        self.changes([Change("unpack", first, 0, b"a", 65, size)])

    @rule(changes=st.lists(CHANGE, min_size=1, max_size=6))
    def changes(self, changes: list[Change]) -> None:
        for change in changes:
            COUNTS["steps"] += 1
            self.tree.apply(change)

    @rule(change=CHANGE)
    def change(self, change: Change) -> None:
        self.changes([change])

    @rule(change=CHANGE)
    def change_and_back_up(self, change: Change) -> None:
        self.changes([change])
        self.backup(False, "")

    # -- settings, clocks and accidents

    @rule(patterns=PATTERNS)
    def exclude(self, patterns: list[str]) -> None:
        COUNTS["steps"] += 1
        self.world.exclude = patterns

    @rule(patterns=PATTERNS)
    def ignore(self, patterns: list[str]) -> None:
        COUNTS["steps"] += 1
        self.tree.ignore("\n".join(patterns).encode())

    @rule(also=st.booleans(), there=st.booleans())
    def also(self, also: bool, there: bool) -> None:
        """A root that comes and goes, in the settings and on disk."""
        COUNTS["steps"] += 1
        self.world.also = ["env"] if also else []
        env = self.world.scratch / "env"
        if there:
            env.mkdir(exist_ok=True)
        else:
            shutil.rmtree(env, ignore_errors=True)

    @rule(last=st.integers(1, 4), hourly=st.integers(0, 2), daily=st.integers(0, 2))
    def keep(self, last: int, hourly: int, daily: int) -> None:
        COUNTS["steps"] += 1
        self.world.keep = {
            "keep_last": last, "keep_hourly": hourly, "keep_daily": daily, "keep_weekly": 0,
        }  # fmt: skip

    @rule(seconds=JUMPS)
    def jump(self, seconds: int) -> None:
        COUNTS["steps"] += 1
        self.world.clock.jump(seconds)

    @rule()
    def lose_notes(self) -> None:
        COUNTS["steps"] += 1
        self.world.lose_notes()

    @precondition(lambda _: can_mount())
    @rule(which=NUMBER)
    def mount(self, which: int) -> None:
        """A home, or one file of it, over something in the workspace."""
        COUNTS["steps"] += 1
        self.tree.close()  # what is written into an open mapping would change behind the mount
        with contextlib.suppress(OSError):
            COUNTS["mounts"] += self.world.outside.mount(self.tree.inside(which))

    @precondition(lambda _: can_mount())
    @rule(which=NUMBER)
    def unmount(self, which: int) -> None:
        COUNTS["steps"] += 1
        self.world.outside.unmount(which)

    # -- commands

    @rule(full=st.booleans(), message=st.sampled_from(["", "", "submitted"]))
    def backup(self, full: bool, message: str) -> None:
        COUNTS["steps"] += 1
        taken = self.world.backup(full=full, message=message)
        assert taken.snapshot
        if taken.kind != "unchanged":
            self.world.restore_to(taken.snapshot)

    @rule()
    def settle(self) -> None:
        """Files that were written just now are read again anyway; what is older must be known rightly."""
        COUNTS["steps"] += 1
        time.sleep(0.06)  # the one thing here that is about time: how old a file's stamps are
        self.world.backup()

    @rule(number=NUMBER, replace=st.booleans())
    def restore(self, number: int, replace: bool) -> None:
        snapshot = self._snapshot(number)
        if snapshot:
            self.world.restore(snapshot, replace=replace)
            self._go_on()

    @rule()
    def restore_latest(self) -> None:
        if self._snapshot(0):
            self.world.restore()
            self._go_on()

    @rule(number=NUMBER, which=NUMBER)
    def restore_path(self, number: int, which: int) -> None:
        snapshot = self._snapshot(number)
        if snapshot:
            paths = sorted(self.world.expected[snapshot].nodes)
            self.world.restore_path(snapshot, paths[which % len(paths)])

    @rule(number=NUMBER)
    def restore_to(self, number: int) -> None:
        snapshot = self._snapshot(number)
        if snapshot:
            self.world.restore_to(snapshot)

    @rule(number=NUMBER, back=st.sampled_from(["import", "restore"]))
    def export(self, number: int, back: str) -> None:
        snapshot = self._snapshot(number)
        if not snapshot:
            return
        file = self.world.export(snapshot)
        if back == "import":
            self.world.import_file(file, snapshot)
        else:
            self.world.restore_file(file, snapshot)
        os.unlink(file)

    @rule()
    def prune(self) -> None:
        if self._snapshot(0):
            self.world.prune()

    @rule()
    def verify(self) -> None:
        if self._snapshot(0):
            self.world.verify()

    @rule(changes=st.lists(CHANGE, min_size=4, max_size=7))
    def many_backups_of_which_one_stays(self, changes: list[Change]) -> None:
        """Each takes from those before, and archives go that no later one needs any more."""
        self.keep(1, 0, 0)
        for change in changes:
            self.changes([change])
            self.world.backup()
        self.world.prune()
        self.verify()

    @rule(number=NUMBER, at=st.integers(0, 1 << 20))
    def damage(self, number: int, at: int) -> None:
        snapshot = self._snapshot(number)
        if snapshot:
            self.world.damage(self.world.place.archive(snapshot), at)

    @rule()
    def two_backups(self) -> None:
        COUNTS["steps"] += 1
        self.world.two_backups()

    @rule(
        command=st.sampled_from(["backup", "full", "prune"]),
        at_call=st.integers(1, 150),
        call=CALL,
    )
    def kill(self, command: str, at_call: int, call: SystemCall) -> None:
        COUNTS["steps"] += 1
        self.world.killed(command, at_call, call=call)

    @precondition(lambda self: bool(self.world.ids))
    @rule(
        command=st.sampled_from(["restore", "replace"]),
        at_call=st.integers(1, 250),
        number=NUMBER,
        call=CALL,
    )
    def kill_restore(self, command: str, at_call: int, number: int, call: SystemCall) -> None:
        snapshot = self._snapshot(number)
        assert snapshot
        self.world.killed(command, at_call, snapshot, call)

    def _go_on(self) -> None:
        """Whatever the restore did, the next backup works or says what does."""
        try:
            self.world.backup()
        except RestoreIncomplete:
            self.world.usable()


class ProgramOracle(Oracle):
    """The same with the real program, which is killed at its system calls."""

    by_program = True

    @rule(change=CHANGE)
    def change_large_and_back_up(self, change: Change) -> None:
        """With the program's own sizes, so that there is one such file, and copies of it."""
        self.changes([change._replace(do="change_large")])
        COUNTS["large files changed"] += 1
        self.backup(False, "")


def _set_sizes(sizes: dict[tuple[ModuleType, str], int]) -> None:
    for (module, name), value in sizes.items():
        setattr(module, name, value)


def _open_all(top: Path) -> None:
    """So that everything can be removed."""
    for directory, names, _ in os.walk(top):
        for name in names:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
