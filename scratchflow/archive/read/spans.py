"""Reads the spans of one large file in their order, each frame as seldom as possible.

The chunks of a file that changed in many places lie in turns in several frames. A frame that much is wanted of
is decompressed whole and kept until all of that was read, or others push it out.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable

from scratchflow.archive.read.reader import Archives, Span

# What small changes of a large file stored lies in small frames, a few for each snapshot: many of them fit.
MAX_KEPT_BYTES = 64 << 20


class SpanReader:
    """The content of spans; threads may share it."""

    def __init__(self, archives: Archives, spans: Iterable[Span]) -> None:
        self._archives = archives
        self._wanted: dict[tuple[int, int], int] = defaultdict(int)
        for number, frame, _, length in spans:
            self._wanted[number, frame] += length
        self._left = dict(self._wanted)
        self._kept: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._turn = threading.Lock()

    def content(self, span: Span) -> memoryview:
        """What a span holds, see `Archives.content`."""
        number, frame, start, length = span
        if self._archives.is_small_part(number, frame, self._wanted[number, frame]):
            return self._archives.content(span)
        return memoryview(self._frame(number, frame, length))[start : start + length]

    def _frame(self, number: int, frame: int, length: int) -> bytes:
        place = number, frame
        with self._turn:
            content = self._kept.pop(place, None)
        if content is None:
            content = self._archives.frame(number, frame)
        with self._turn:
            self._left[place] -= length
            if self._left[place] > 0:
                self._kept[place] = content
                while sum(map(len, self._kept.values())) > MAX_KEPT_BYTES:
                    self._kept.popitem(last=False)
        return content
