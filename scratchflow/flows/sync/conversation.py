"""One run of unison between two homes: what it asks is answered, and what it says becomes the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

import msgspec

from scratchflow.cluster.unison.command import (
    IGNORE_LOCKS,
    Homes,
    Rules,
    client_words,
    server_words,
)
from scratchflow.cluster.unison.words import (
    GO_AHEAD,
    GO_ON,
    LIST,
    NEWER,
    NO_FILE,
    ONCE_MORE,
    QUIT,
    SKIP,
    TO_FIRST,
    TO_OTHER,
    UNKNOWN_LINE,
    UNSEEN,
    YES,
    Change,
    Direction,
    Question,
    Reader,
    inner_path,
)
from scratchflow.flows.sync.deletions import Count, files_going, is_many
from scratchflow.flows.sync.just_written import in_few_words
from scratchflow.model.errors.sync import (
    FULL_HOME,
    LOST_HOME,
    SyncHomeFull,
    SyncManyDeletions,
    UnisonFailed,
)
from scratchflow.model.events import Emit, Item, Log, Progress, Warned, path_fields
from scratchflow.model.results.sync import (
    Conflict,
    FilesCounted,
    PathProblem,
    PlannedChange,
    SyncedPair,
)
from scratchflow.model.text import printable
from scratchflow.reach.sync.relay import Relay

SKIPPED = "sync.skipped"
"""A file that unison does not sync, like a socket."""
FAILED = "sync.failed_path"
"""A file that could not be synced, for a reason of its own."""
UNREADABLE = "files.unreadable"
PARTLY = "something in it could not be read"
_DONE, _SOME_LEFT, _SOME_FAILED = 0, 1, 2

# In unison's plan: nothing, or a word for what is there when it knows nothing from before.
_HAPPENED = {
    "": "unchanged",
    "props": "other permissions",
    "file": "a file",
    "link": "a link",
    "dir": "a directory",
}

Winner = Literal["first", "other", "neither"]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """The two homes, how each is asked, and what is to happen."""

    first: str
    other: str
    homes: Homes
    other_program: str
    rules: Rules
    relay: Relay
    count_first: Count
    count_other: Count
    dry_run: bool = False
    allow_deletions: bool = False
    # What was still being written at the end of the last sync, and how the same is noted of this one.
    noted: Sequence[str] = ()
    note: Callable[[Sequence[str]], None]


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Whoever can be asked; None where nobody is."""

    decide: Callable[[Change, str, str], Winner] | None = None
    allow: Callable[[str, int, int], bool] | None = None


class Ran(msgspec.Struct, frozen=True):
    """What one unison made equal, and what it left alone since it had taken it for unchanged."""

    moved: Sequence[bytes]
    unseen: Sequence[str]


def run_unison(pair: Pair, person: Person, emit: Emit) -> tuple[SyncedPair, Ran]:
    """Runs unison once, and says what came of it and what it looked at.

    A cut leaves unison's own locks behind. The far ends hold ours while it runs, in both homes, so nobody else has them.
    """
    words = client_words(pair.homes, pair.rules)
    talk = _Talk(pair, person, emit)
    code = _run(pair, words, talk)
    if talk.is_locked:
        emit(Log(level="info", message="an earlier sync was cut; its locks are removed"))
        talk = _Talk(pair, person, emit)
        code = _run(pair, [*words, IGNORE_LOCKS], talk)
    synced = talk.outcome(code)
    moved = [one.path for one in talk.moved if one.direction in {"to_first", "to_other"}]
    return synced, Ran(moved, in_few_words(talk.unseen))


def _run(pair: Pair, words: Sequence[str], talk: _Talk) -> int:
    server = partial(server_words, pair.other_program)
    return pair.relay.run(words, server, talk.answer)


class _Talk:
    def __init__(self, pair: Pair, person: Person, emit: Emit) -> None:
        self._pair, self._person, self._emit = pair, person, emit
        self._reader = Reader()
        self._has_quit = False
        self._refused: SyncManyDeletions | None = None
        self._planned = 0
        self._decided = QUIT
        self._has_looked = False
        self._has_compared = False

    def answer(self, piece: bytes) -> bytes | None:
        """What is typed for unison, once this piece has been printed."""
        if not piece and (asked := self._reader.unknown_question()):
            self._emit(Log(level="info", message=f"unison asks what nobody can answer: {asked}"))
            return None
        typed = b"".join(self._reply(question) for question in self._reader.take(piece))
        self._show_progress()
        return typed

    def outcome(self, code: int) -> SyncedPair:
        """The result; UnisonFailed when it gave up, SyncManyDeletions when nobody agreed to those."""
        reader, pair = self._reader, self._pair
        if self._refused:
            raise self._refused
        if not self._has_quit and not self._is_done(code):
            raise self._failure()
        conflicts = reader.conflicts
        left = self._left_behind()
        for path in conflicts:
            self._emit(Item(action="conflict", **path_fields(path)))
        self._warn(left)
        moved = self.moved
        return SyncedPair(
            profile=pair.other,
            to_first=sum(change.direction == "to_first" for change in moved),
            to_profile=sum(change.direction == "to_other" for change in moved),
            deleted=sum(change.deletes for change in moved),
            conflicts=[_shown(path) for path in conflicts],
            same_contents=[
                _shown(path) for path in conflicts if reader.changes[path].has_equal_contents
            ],
            conflict_details=[_detail(reader.changes[path]) for path in conflicts],
            skipped=_problems(left),
            failed=_problems(reader.failed.items()),
            full_homes=self._full_homes(),
            equal=reader.is_equal and not left,
            plan=self._plan() if pair.dry_run else [],
        )

    def _failure(self) -> UnisonFailed | SyncHomeFull:
        """Why unison gave up."""
        words, pair = self._reader.last_words, self._pair
        if side := self._reader.gave_up_full:
            full = pair.first if side == "first" else pair.other
            return SyncHomeFull(profile=full, reason=words)
        return UnisonFailed(first=pair.first, other=pair.other, words=words)

    def _full_homes(self) -> list[str]:
        """The profiles whose homes have no room for what should go there; each is told with what to do."""
        sides = {"to_first": self._pair.first, "to_other": self._pair.other}
        full = [name for towards, name in sides.items() if towards in self._reader.full]
        for name in full:
            message = f"the home of profile `{printable(name)}` is full; {FULL_HOME}"
            self._emit(Warned(code=SyncHomeFull.code, message=message))
        return full

    @property
    def moved(self) -> list[Change]:
        """What was brought to a side, or would be."""
        reader = self._reader
        return [one for one in reader.changes.values() if one.path not in reader.failed]

    @property
    def unseen(self) -> list[bytes]:
        """What unison found to be another file than its size and time had said."""
        return sorted(path for path, why in self._reader.failed.items() if UNSEEN in why)

    def _left_behind(self) -> list[tuple[bytes, str]]:
        """What was not synced and is no conflict, with unison's reasons."""
        reader = self._reader
        named = {**reader.errors, **reader.skipped}  # a plan that is not carried out says no more
        conflicts = {*reader.conflicts}
        left = [(path, why) for path, why in named.items() if path not in conflicts]
        left += [(inner_path(path, why), why) for path, why in reader.inner]
        explained = {path for path, _ in reader.inner}
        partial = (change.path for change in reader.changes.values() if change.is_partial)
        left += [(path, PARTLY) for path in partial if path not in explained]
        left += [(line.strip(), UNKNOWN_LINE) for line in reader.unknown]
        is_silent = not (left or reader.changes or reader.failed or reader.is_equal)
        if is_silent and reader.is_complete:
            left.append((b".", reader.last_words))
        return left

    def _warn(self, left: Sequence[tuple[bytes, str]]) -> None:
        failed = self._reader.failed
        others = [(path, why) for path, why in left if path not in failed]
        for path, why in [*others, *failed.items()]:
            kind = FAILED if path in failed else SKIPPED if NO_FILE in why else UNREADABLE
            self._emit(Warned(code=kind, message=f"not synced: {why}", **path_fields(path)))

    @property
    def is_locked(self) -> bool:
        """Whether unison met locks that nobody holds any more."""
        return self._reader.is_locked

    def _is_done(self, code: int) -> bool:
        return code == _DONE or (code in {_SOME_LEFT, _SOME_FAILED} and self._reader.is_complete)

    def _plan(self) -> list[PlannedChange]:
        changes = self._reader.changes.values()
        moving = (change for change in changes if change.direction in {"to_first", "to_other"})
        return [
            PlannedChange(path=_shown(change.path), action=_action(change, self._pair))
            for change in moving
        ]

    def _reply(self, question: Question) -> bytes:
        if question.about == "remark":
            return GO_ON
        if question.about == "conflict" and question.change:
            return self._decide(question.change)
        if question.about == "item":
            return self._look_or_go()
        decided = self._confirm_plan()
        if self._reader.has_partial:
            self._decided = GO_AHEAD if decided == YES else decided
            return ONCE_MORE
        return decided

    def _look_or_go(self) -> bytes:
        """Unison names what stays behind of a directory in the details alone; then it goes on as decided."""
        if self._has_looked:
            return self._decided
        self._has_looked = True
        self._reader.expect_list()
        return LIST

    def _decide(self, change: Change) -> bytes:
        if change.has_equal_contents:
            if not self._has_compared:
                self._has_compared = True
                self._reader.expect_list()
                return LIST
            if self._reader.differs_in_time_alone(change.path):
                return NEWER
        if self._person.decide is None or self._pair.dry_run:
            return SKIP
        winner = self._person.decide(change, self._pair.first, self._pair.other)
        return {"first": TO_OTHER, "other": TO_FIRST, "neither": SKIP}[winner]

    def _confirm_plan(self) -> bytes:
        changes = list(self._reader.changes.values())
        moving = [change for change in changes if change.direction in {"to_first", "to_other"}]
        for change in moving:
            self._emit(Item(action=_action(change, self._pair), **path_fields(change.path)))
        if self._pair.dry_run:
            self._has_quit = True
            self._tell_deletions(changes)
            return QUIT
        if not self._pair.allow_deletions:
            self._refused = self._too_many_deletions(changes)
        if self._refused:
            return QUIT
        self._planned = len(moving)
        return YES

    def _too_many_deletions(self, changes: Sequence[Change]) -> SyncManyDeletions | None:
        """The error when one side would lose many files, and nobody agrees."""
        allow = self._person.allow
        for name, found in self._many_going(changes):
            if allow is None or not allow(name, found.going, found.total):
                return SyncManyDeletions(profile=name, files=found.going, total=found.total)
        return None

    def _tell_deletions(self, changes: Sequence[Change]) -> None:
        """What `sync` would ask about, or refuse."""
        for name, found in () if self._pair.allow_deletions else self._many_going(changes):
            message = f"`{printable(name)}` would lose {found.going} of {found.total} files: `sync` deletes so many only after a yes, or with `--allow-deletions`; {LOST_HOME}"
            self._emit(Warned(code=SyncManyDeletions.code, message=message))

    def _many_going(self, changes: Sequence[Change]) -> Iterator[tuple[str, FilesCounted]]:
        """The sides that would lose many files."""
        pair, folders = self._pair, self._pair.rules.folders
        sides: tuple[tuple[Direction, str, Count], ...] = (
            ("to_first", pair.first, pair.count_first),
            ("to_other", pair.other, pair.count_other),
        )
        for towards, name, count in sides:
            found = files_going(changes, towards, folders, count)
            if found and is_many(found):
                yield name, found

    def _show_progress(self) -> None:
        if self._planned:
            done = self._reader.done
            self._emit(Progress(phase="sync", files_done=done, files_total=self._planned))


def _action(change: Change, pair: Pair) -> str:
    """`deleted, to aws`; the words of `--verbose` and `--json`."""
    towards = pair.first if change.direction == "to_first" else pair.other
    return f"{change.source}, to {towards}"


def _detail(change: Change) -> Conflict:
    shown = _shown(change.path)
    return Conflict(
        path=shown,
        first=_HAPPENED.get(change.first, change.first),
        other=_HAPPENED.get(change.other, change.other),
        same_contents=change.has_equal_contents,
        has_plain_name=os.fsencode(shown) == change.path,
    )


def _problems(found: Iterable[tuple[bytes, str]]) -> list[PathProblem]:
    return [PathProblem(path=_shown(path), reason=printable(why)) for path, why in found]


def _shown(path: bytes) -> str:
    return printable(path.decode("utf-8", "surrogateescape"))
