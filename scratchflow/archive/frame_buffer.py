"""The frame that is being filled with members of the tar stream, and where they will lie."""

from __future__ import annotations

from scratchflow.archive.container import MAX_FRAME_BYTES, compress_frame

FRAME_BYTES = 4 << 20
assert FRAME_BYTES <= MAX_FRAME_BYTES  # noqa: S101 - a promise of the format, checked at import

Frame = tuple[bytes, int]  # compressed, and how many bytes it holds


class Run:
    """Members that follow each other. Where they begin is known when all before them are written.

    Until then the index has their positions from the beginning of the run.
    """

    def __init__(self) -> None:
        self.entries: list[int] = []
        self.base = -1


class FrameBuffer:
    """Takes the tar stream into the buffer of the current frame; `flush` sends a full one off."""

    def __init__(self, buffer: bytearray) -> None:
        self.run = Run()
        self.view = memoryview(buffer)
        self.fill = 0
        self.flushed = 0  # bytes of the run that are in earlier frames

    @property
    def position(self) -> int:
        """Where in the run the next byte goes."""
        return self.flushed + self.fill

    def put(self, content: bytes | memoryview) -> None:
        """Appends bytes, over as many frames as it takes."""
        start = 0
        while start < len(content):
            if self.fill == FRAME_BYTES:
                self.flush()
            count = min(len(content) - start, FRAME_BYTES - self.fill)
            self.view[self.fill : self.fill + count] = content[start : start + count]
            self.fill += count
            start += count

    def make_room(self, count: int) -> None:
        """Begins a new frame when this many bytes would not fit into the current one."""
        if self.fill + count > FRAME_BYTES and self.fill:
            self.flush()

    def flush(self) -> None:
        """Sends the current frame off and begins the next."""
        raise NotImplementedError


class OwnFrames(FrameBuffer):
    """A run of members that one thread reads and compresses: few frames, kept until they are taken."""

    def __init__(self, buffer: bytearray, level: int) -> None:
        super().__init__(buffer)
        self.frames: list[Frame] = []
        self._level = level

    def flush(self) -> None:
        """Compresses the frame here and now."""
        if self.fill:
            self.frames.append((compress_frame(self.view[: self.fill], self._level), self.fill))
            self.flushed += self.fill
            self.fill = 0
