"""Turns the callbacks of the archive code into events."""

from __future__ import annotations

import msgspec

from scratchflow.model.events import Emit, Item, Log, Progress, Warned, path_fields
from scratchflow.model.text import printable


class Notifier(msgspec.Struct):
    """Turns progress and warnings into events, and counts the warnings."""

    emit: Emit
    wants_items: bool = False
    warnings: int = 0
    unreadable: list[bytes] = msgspec.field(default_factory=list)
    # Of those, which were said: several steps of one command may look at the same file.
    _said: set[bytes] = msgspec.field(default_factory=set)

    def remark(self, message: str) -> None:
        """Logs one line."""
        self.emit(Log(level="info", message=printable(message)))

    def phase(self, name: str) -> None:
        """Reports that a phase begins, whose size is not known yet."""
        self.emit(Progress(phase=name))

    def progress(
        self, phase: str, files_done: int, files_total: int, bytes_done: int, bytes_total: int
    ) -> None:
        """Reports progress within a phase."""
        self.emit(
            Progress(
                phase=phase,
                files_done=files_done,
                files_total=files_total,
                bytes_done=bytes_done,
                bytes_total=bytes_total,
            )
        )

    def warn(self, code: str, path: bytes, message: str) -> None:
        """Reports a warning; that a path may not be read only once."""
        if code == "files.unreadable":
            self.unreadable.append(path)
            if path in self._said:
                return
            self._said.add(path)
        self.warnings += 1
        self.emit(
            Warned(code=code, message=printable(message), **(path_fields(path) if path else {}))
        )

    def item(self, action: str, path: bytes) -> None:
        """Reports one path, with `--verbose`."""
        self.emit(Item(action=action, **path_fields(path)))
