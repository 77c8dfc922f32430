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
    b"<-?->": "conflict",
    b"<=?=>": "conflict",
    b"<-M->": "conflict",
    b"<=M=>": "conflict",
    b"error": "error",
}
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
_END = (b"Synchronization ", b"Nothing to do")
_LOCKED = "the archives are locked"
_LAST_LINES = 12
_NO_REASON = "unison does not say why"

NO_FILE = "unknown file type"
"""In the reason for a pipe, a socket or a device: these never sync."""

TO_OTHER, TO_FIRST, SKIP = b">\n", b"<\n", b"/\n"
GO_ON, YES, QUIT = b"\n", b"y\n", b"q\n"


class Change(msgspec.Struct, frozen=True):
    """One line of the plan. `first` and `other` say what happened there: `deleted`, `new file`; empty for nothing."""

    path: bytes
    direction: Direction
    first: str
    other: str

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

    about: Literal["remark", "conflict", "plan"]
    change: Change | None = None


class Reader:
    """Reads the text, and keeps what will be asked for at the end."""

    def __init__(self) -> None:
        self._begun = b""
        self.changes: dict[bytes, Change] = {}
        self.skipped: dict[bytes, str] = {}
        self.failed: dict[bytes, str] = {}
        self.is_complete = False
        """Whether it came to its end: the same exit codes stand for wrong options."""
        self.done = 0
        self.percent = 0
        self._reasons: dict[bytes, str] = {}
        self._lines: list[bytes] = []
        self._is_planned = False
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
            if line.startswith(_FATAL):
                kept = [line.removeprefix(_FATAL), *lines[position + 1 :]]
                return _text(b" ".join(b" ".join(kept).split()))
        said = [line.strip() for line in lines if line.strip()]
        return _text(said[-1]) if said else "it said nothing"

    @property
    def is_locked(self) -> bool:
        """Whether it gave up because of the locks of another unison, which may have been cut off."""
        return _LOCKED in self.last_words

    @property
    def conflicts(self) -> list[bytes]:
        """The paths that changed on both sides, as far as nobody decided about them."""
        return [path for path, change in self.changes.items() if change.direction == "conflict"]

    def _question(self) -> Question | None:
        if self._begun == _CONTINUE:
            return Question("remark")
        if self._begun == _PROCEED:
            self._is_planned = True
            return Question("plan")
        found = _CHANGE.fullmatch(self._begun)
        if found and found[5] and not self._is_planned:
            return Question("conflict", self._change(found))
        return None

    def _read(self, line: bytes) -> None:
        if line.strip():
            self._lines = [*self._lines, line][-_LAST_LINES:]
        if percent := _PERCENT.fullmatch(line):
            self.percent = int(percent[1])
        elif line.startswith(_END):
            self.is_complete = True
        elif line.startswith(b"[END] "):
            self.done += 1
        elif failed := _FAILED.fullmatch(line):
            self._reasons[failed[1]] = _text(failed[2])
        elif left := _LEFT.fullmatch(line):
            self._leave(self.failed if left[1] == b"failed" else self.skipped, left[2])
        elif not self._is_planned and (found := _CHANGE.fullmatch(line)):
            self._change(found)
        else:
            self._go_on(line)

    def _change(self, found: re.Match[bytes]) -> Change:
        first, other = (_text(found[group].strip()) for group in (1, 3))
        change = Change(found[4], _ARROWS[found[2]], first, other)
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


def _places(text: bytes, part: bytes) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
