"""Small pictures made of characters: a bar of the time that is left, a day of snapshots."""

from collections.abc import Sequence

_HEIGHTS = " ▁▂▃▄▅▆▇█"
SLOT_S = 1800
SLOTS = 48


def time_bar(seconds_left: int, seconds_total: int, width: int = 30) -> str:
    """What is left of the allocation, from full to empty."""
    if seconds_total <= 0:
        return ""
    full = round(width * min(1.0, max(0.0, seconds_left / seconds_total)))
    return "█" * full + "░" * (width - full)


def day_line(snapshots: Sequence[tuple[float, int]], now_s: float) -> str:
    """A day in half hours, the newest at the right; the higher, the more was stored then.

    `snapshots` are times and sizes. Heights are of the logarithm, so that a full one and many small
    ones can be seen side by side.
    """
    sizes = [0] * SLOTS
    for time_s, size_bytes in snapshots:
        slot = SLOTS - 1 - int((now_s - time_s) // SLOT_S)
        if 0 <= slot < SLOTS:
            sizes[slot] += max(size_bytes, 1)
    most = max(sizes).bit_length()
    return "".join(_height(size, most) for size in sizes)


def _height(size: int, most_bits: int) -> str:
    if not size:
        return "·"
    return _HEIGHTS[max(1, round((len(_HEIGHTS) - 1) * size.bit_length() / most_bits))]
