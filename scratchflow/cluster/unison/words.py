"""What unison's text interface prints, piece by piece as it comes: changes, questions, ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

Direction = Literal["to_other", "to_first", "conflict", "error"]

_ARROWS: dict[bytes, Direction] = {
    b"---->": "to_other",
    b"====>": "to_other",
    b"<----": "to_first",
    b"<====": "to_first",
    b"--?->": "to_other",
    b"==?=>": "to_other",
    b"<-?--": "to_first",
    b"<=?==": "to_first",
    b"<-?->": "conflict",
    b"<=?=>": "conflict",
    b"<-M->": "conflict",
    b"<=M=>": "conflict",
    b"error": "error",
}
# A directory goes without what could not be read in it.
_PARTIAL = frozenset((b"--?->", b"==?=>", b"<-?--", b"<=?=="))
_CHANGE = re.compile(
    rb"(.{8}) (" + b"|".join(map(re.escape, _ARROWS)) + rb") (.{8})   (.+?)(?:  (\[[^\]]*\] )?)?"
)
_PROCEED = b"Proceed with propagating updates? [] "
_CONTINUE = b"Press return to continue.[<spc>] "
_LEFT = re.compile(rb"  (skipped|failed): (.+)")
_FAILED = re.compile(rb"Failed \[(.+)\]: (.+)")
_PERCENT = re.compile(rb" *(\d+)%  .*")
_ANY_QUESTION = re.compile(rb"\[[^\]]*\] ?\Z")
_FATAL = b"Fatal error: "
_EQUAL = b"Nothing to do"
_END = (b"Synchronization ", _EQUAL)
_PLAN_BEGINS = b"Reconciling changes"
_PLAN_ENDS = (b"No updates to propagate", b"Propagating updates", *_END)
# What may follow on a reason, and is no part of it.
_NO_REASON_LINE = re.compile(
    rb"\[(BGN|END|ERROR|CONFLICT)\] .*|(Failed|Shortcut|Saving|Unison)\b.*"
)
_INNER = re.compile(rb"\[root [12]\]: (.*)")
_DETAIL = re.compile(rb"\S+ +: (?:absent|(.+?) +modified on \S+ at +\S+ +size +(.+))")
# The file that a reason is about, as unison words it.
_ABOUT = re.compile(
    r"path (.+) has unknown file type|Error in digesting (.+): \2: |.*\[\w+\((.+)\)\]\Z"
)
# What begins several lines about what it knows of the last sync, and what can be done.
_ARCHIVES = (b"archives are not identical", b"Archive mismatch", b"inconsistent state")
_LOCKED = "the archives are locked"
_LAST_LINES = 40
_NO_REASON = "unison does not say why"

NO_FILE = "unknown file type"
"""In the reason for a pipe, a socket or a device: these never sync."""

UNSEEN = "fast update detection"
"""In the reason for a file that is another than its size and time had said: reading it in full helps."""

# As the C library words it: unison passes it on.
_NO_ROOM = ("No space left on device", "Disk quota exceeded")
# Begins what is said about the other root.
_THERE = "Server: "

UNKNOWN_LINE = "unison plans something that scratchflow does not understand"

TO_OTHER, TO_FIRST, NEWER, SKIP = b">\n", b"<\n", b"]\n", b"/\n"
GO_ON, YES, QUIT = b"\n", b"y\n", b"q\n"
# Through the plan once more, item by item; at an item: all that follow, with details, and go ahead.
ONCE_MORE, LIST, GO_AHEAD = b"n\n", b"l\n", b"g\n"


class Change(msgspec.Struct, frozen=True):
    """One line of the plan. `first` and `other` say what happened there: `deleted`, `new file`; empty for nothing."""

    path: bytes
    direction: Direction
    first: str
    other: str
    is_partial: bool = False
    """Whether something in this directory could not be read, and stays behind."""

    @property
    def has_equal_contents(self) -> bool:
        """Whether both sides have the same contents, and only permissions or times differ."""
        return self.first == self.other == "props"

    @property
    def source(self) -> str:
        """What happened on the side that wins."""
        return self.other if self.direction == "to_first" else self.first

    @property
    def deletes(self) -> bool:
        """Whether the side that loses has a path less afterwards."""
        return self.direction in {"to_other", "to_first"} and self.source == "deleted"

    @property
    def replaces(self) -> bool:
        """Whether a file or a link may take the place of a directory.

        Without `new` unison knows nothing of the path from before: then both sides have to say what they have.
        """
        if self.direction not in {"to_other", "to_first"}:
            return False
        if self.source in {"file", "link"}:
            return bool(self.first and self.other)
        return self.source in {"new file", "new link"}


class Question(msgspec.Struct, frozen=True):
    """Unison waits for an answer."""

    about: Literal["remark", "conflict", "plan", "item"]
    change: Change | None = None


class Reader:
    """Reads the text, and keeps what will be asked for at the end."""

    def __init__(self) -> None:
        self._begun = b""
        self.changes: dict[bytes, Change] = {}
        self.skipped: dict[bytes, str] = {}
        self.failed: dict[bytes, str] = {}
        self.errors: dict[bytes, str] = {}
        """What the plan says it cannot sync, and why."""
        self.inner: list[tuple[bytes, str]] = []
        """What stays behind of directories that go, and why; known once the details were listed."""
        self.unknown: list[bytes] = []
        """Lines of the plan that are nothing we know."""
        self.is_equal = False
        self.is_complete = False
        """Whether it came to its end: the same exit codes stand for wrong options."""
        self.done = 0
        self.percent = 0
        self._reasons: dict[bytes, str] = {}
        self._lines: list[bytes] = []
        self._plan: Literal["before", "heading", "lines", "over"] = "before"
        self._is_listing = False
        self._listed = b""
        self._details: dict[bytes, list[tuple[bytes | None, ...]]] = {}
        self._open: tuple[dict[bytes, str], bytes] | None = None
        self._left: tuple[dict[bytes, str], bytes] | None = None

    def take(self, piece: bytes) -> Iterator[Question]:
        """The questions that are open now: at most one, when all of the text has come."""
        self._begun += piece
        *lines, self._begun = re.split(rb"[\n\r]", self._begun)
        for line in lines:
            self._read(line)
        if question := self._question():
            self._begun = b""
            yield question

    def unknown_question(self) -> str:
        """What unison waits for an answer to, when it is nothing that we know; empty when it does not wait."""
        return _text(self._begun.strip()) if _ANY_QUESTION.search(self._begun) else ""

    @property
    def last_words(self) -> str:
        """Why it gave up, or the last that it said."""
        lines = [*self._lines, self._begun]
        for position, line in enumerate(lines):
            if _FATAL in line:  # what was typed for a question before it is not echoed as a line
                kept = [line.partition(_FATAL)[2], *lines[position + 1 :]]
                return _text(b" ".join(b" ".join(kept).split()))
        said = [line.strip() for line in lines if line.strip()]
        for position, line in enumerate(said):
            if any(words in line for words in _ARCHIVES):
                return _text(b" ".join(said[position:]))
        return _text(said[-1]) if said else "it said nothing"

    @property
    def is_locked(self) -> bool:
        """Whether it gave up because of the locks of another unison, which may have been cut off."""
        return _LOCKED in self.last_words

    @property
    def gave_up_full(self) -> Literal["first", "other"] | None:
        """The side whose home was full when it gave up; None when it did not, or for another reason."""
        if not has_no_room(self.last_words):
            return None
        return "other" if self.last_words.startswith(_THERE) else "first"

    @property
    def full(self) -> set[Direction]:
        """The directions in which something could not be brought for want of room."""
        failed = (path for path, why in self.failed.items() if has_no_room(why))
        return {self.changes[path].direction for path in failed if path in self.changes}

    @property
    def conflicts(self) -> list[bytes]:
        """The paths that changed on both sides, as far as nobody decided about them."""
        return [path for path, change in self.changes.items() if change.direction == "conflict"]

    @property
    def has_partial(self) -> bool:
        """Whether a directory of the plan goes without something that is in it."""
        return any(change.is_partial for change in self.changes.values())

    def expect_list(self) -> None:
        """What comes until the next question are details, not the plan."""
        self._is_listing, self._listed = True, b""
        self.inner, self._details = [], {}

    def differs_in_time_alone(self, path: bytes) -> bool:
        """Whether the details that were listed are the same for both sides, but for the time."""
        sides = self._details.get(path, [])
        return len(sides) == 2 and sides[0] == sides[1] != (None, None)

    def _question(self) -> Question | None:
        if self._begun == _CONTINUE:
            return Question("remark")
        if self._begun == _PROCEED:
            self._plan = "over"
            return Question("plan")
        found = _CHANGE.fullmatch(self._begun)
        if not found or not found[5]:
            return None
        self._is_listing = False
        if self._plan == "over":
            return Question("item")
        return Question("conflict", self._change(found))

    def _read(self, line: bytes) -> None:
        if line.strip():
            self._lines = [*self._lines, line][-_LAST_LINES:]
        if self._is_listing:
            self._read_detail(line)
            return
        if self._plan != "over":
            self._read_plan(line)
        if self._plan == "over":
            self._read_end(line)

    def _read_plan(self, line: bytes) -> None:
        if line.startswith(_PLAN_ENDS):
            self._plan = "over"
        elif line == _PLAN_BEGINS:
            self._plan = "heading"
        elif found := _CHANGE.fullmatch(line):
            change = self._change(found)
            is_error = change.direction == "error"
            self._open = (self.errors, change.path) if is_error else None
        elif self._plan == "heading" and line.strip():
            self._plan = "lines"
        elif self._plan == "lines" and line.strip() and not self._continue_reason(line):
            self.unknown.append(line)

    def _read_end(self, line: bytes) -> None:
        """What is said while changes are made, and the summary."""
        if percent := _PERCENT.fullmatch(line):
            self.percent = int(percent[1])
        elif line.startswith(_END):
            self.is_complete = True
            self.is_equal = line.startswith(_EQUAL)
        elif line.startswith(b"[END] "):
            self.done += 1
        elif failed := _FAILED.fullmatch(line):
            self._reasons[failed[1]] = _text(failed[2])
            self._open = (self._reasons, failed[1])
            return
        elif left := _LEFT.fullmatch(line):
            self._leave(self.failed if left[1] == b"failed" else self.skipped, left[2])
        elif line.strip() and not _NO_REASON_LINE.fullmatch(line):
            if not self._continue_reason(line):
                self._go_on(line)
            return
        self._open = None

    def _continue_reason(self, line: bytes) -> bool:
        if self._open is None:
            return False
        reasons, path = self._open
        reasons[path] = f"{reasons.get(path, '')} {_text(line.strip())}".strip()
        return True

    def _read_detail(self, line: bytes) -> None:
        """A change, two lines about its sides, and the reason of each file that stays behind."""
        if found := _CHANGE.fullmatch(line.removeprefix(b"  ")):
            self._listed = found[4]
        elif reason := _INNER.fullmatch(line):
            self.inner.append((self._listed, _text(reason[1])))
        elif side := _DETAIL.fullmatch(line):
            self._details.setdefault(self._listed, []).append(side.groups())
        elif line.strip() and self.inner:
            path, said = self.inner[-1]
            if path == self._listed:
                self.inner[-1] = (path, f"{said} {_text(line.strip())}")

    def _change(self, found: re.Match[bytes]) -> Change:
        first, other = (_text(found[group].strip()) for group in (1, 3))
        arrow = found[2]
        change = Change(found[4], _ARROWS[arrow], first, other, arrow in _PARTIAL)
        self.changes[change.path] = change
        return change

    def _leave(self, reasons: dict[bytes, str], text: bytes) -> None:
        """`p/x (reason)`; a path may hold brackets too, so one of the plan's is looked for."""
        places = [place for place in _places(text, b" (") if text[:place] in self.changes]
        path, reason = (text[: places[0]], text[places[0] + 2 :]) if places else (text, b"")
        reasons[path] = _text(reason.removesuffix(b")")) or self._reasons.get(path, _NO_REASON)
        self._left = (reasons, path) if reason and not reason.endswith(b")") else None

    def _go_on(self, line: bytes) -> None:
        """A reason of several lines."""
        if self._left and line.strip():
            reasons, path = self._left
            reasons[path] += f" {_text(line.strip().removesuffix(b')'))}"
            self._left = None if line.endswith(b")") else self._left


def has_no_room(reason: str) -> bool:
    """Whether a disk or a quota is full."""
    return any(words in reason for words in _NO_ROOM)


def inner_path(directory: bytes, reason: str) -> bytes:
    """The file beneath the directory that the reason is about; the directory, when it does not say."""
    if found := _ABOUT.match(reason):
        name: str = next(filter(None, found.groups()))
        whole = name.encode("utf-8", "surrogateescape")
        place = whole.find(b"/" + directory + b"/")
        if place >= 0:
            return whole[place + 1 :]
    return directory


def _places(text: bytes, part: bytes) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
