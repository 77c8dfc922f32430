"""JSON that lies in a file: whatever is wrong with it is one error."""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T")


def decoded(content: bytes | str, kind: type[T]) -> T:
    """What the JSON holds; DecodeError when it cannot be read as that.

    msgspec itself has other errors for a text that is not UTF-8, and for one that is nested without end.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except UnicodeDecodeError:
        raise msgspec.DecodeError("it is not UTF-8") from None
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
