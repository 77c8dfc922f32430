"""JSON Lines on standard output: `hello` first, one `summary` or `error` last, no gap in `seq`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import msgspec

from scratchflow.model.errors.base import ScratchflowError, exit_code_for
from scratchflow.model.events import (
    PROTOCOL_VERSION,
    Event,
    Failure,
    Hello,
    Item,
    Log,
    Progress,
    Summary,
    Warned,
)
from scratchflow.model.results.base import Result

# The contract's ceiling: five progress lines a second.
PROGRESS_INTERVAL_S = 0.2
NO_VERB = "scratchflow"

Write = Callable[[bytes], None]


class JsonLines:
    """Writes each event as one line, whole or not at all."""

    def __init__(
        self,
        *,
        hello: Hello,
        write: Write,
        timestamp: Callable[[], str],
        monotonic: Callable[[], float],
        uninterrupted: Callable[[], AbstractContextManager[None]],
        verbose: bool,
    ) -> None:
        self._hello = hello
        self._write = write
        self._timestamp = timestamp
        self._monotonic = monotonic
        self._uninterrupted = uninterrupted
        self._verbose = verbose
        self._op = NO_VERB
        self._seq = 0
        self._warning_codes: list[str] = []
        self._last_progress_s = float("-inf")

    def begin(self, op: str, show: object = None) -> None:  # noqa: ARG002 - the lines are for people
        self._op = op
        self._say_hello()

    def emit(self, event: Event) -> None:
        if isinstance(event, Warned):
            self._warning_codes.append(event.code)
        if self._is_wanted(event):
            self._line(event)

    def succeed(self, result: Result, shown: Iterable[str]) -> int:  # noqa: ARG002 - the lines are for people
        exit_code = result.exit_code() or exit_code_for(set(self._warning_codes))
        data = msgspec.to_builtins(result)
        self._line(Summary(data=data, warnings=len(self._warning_codes), exit_code=exit_code))
        return exit_code

    def fail(self, error: ScratchflowError) -> int:
        self._line(
            Failure(
                code=error.code,
                message=str(error),
                hint=error.shown_hint,
                retryable=error.retryable,
                exit_code=error.exit_code,
            )
        )
        return error.exit_code

    def close(self) -> None:
        """Every line was written when it was said; nothing is held back."""

    def _is_wanted(self, event: Event) -> bool:
        if isinstance(event, Progress):
            return self._progress_is_due()
        if isinstance(event, Item):
            return self._verbose
        if isinstance(event, Log):
            return self._verbose or event.level == "info"
        return True

    def _progress_is_due(self) -> bool:
        now_s = self._monotonic()
        if now_s - self._last_progress_s < PROGRESS_INTERVAL_S:
            return False
        self._last_progress_s = now_s
        return True

    def _say_hello(self) -> None:
        if self._seq == 0:
            self._line(self._hello)

    def _line(self, event: Event) -> None:
        if not isinstance(event, Hello):
            self._say_hello()
        with self._uninterrupted():
            envelope = {
                "v": PROTOCOL_VERSION,
                "seq": self._seq,
                "ts": self._timestamp(),
                "op": self._op,
            }
            self._write(msgspec.json.encode({**envelope, **msgspec.to_builtins(event)}) + b"\n")
            self._seq += 1
