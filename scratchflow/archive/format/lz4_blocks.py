"""LZ4 blocks, packed and unpacked right where they are to lie.

`lz4.block` returns a copy of what it made: of unpacking that is a quarter of the time, of packing an eighth. Its shared
object has the C functions that it calls, and they take a place to write to. Where they cannot be reached, or memory is
read-only, so that its address is not to be had, `lz4.block` serves. The bytes are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from lz4 import block as lz4_block

from scratchflow.archive.malformed import Malformed

_Native = tuple[Callable[..., int], Callable[..., int], Callable[..., object]]


def pack_block(raw: memoryview, out: memoryview, acceleration: int) -> int:
    """Packs a block to the start of `out` and says how long it became; 0 when that is no shorter than it was."""
    limit = min(len(raw) - 1, len(out))
    if limit < 1:
        return 0
    native = None if raw.readonly or out.readonly else _native()
    if native:
        pack, _, address = native
        return pack(address(raw), address(out), len(raw), limit, acceleration)
    packed = lz4_block.compress(raw, mode="fast", acceleration=acceleration, store_size=False)
    if len(packed) > limit:
        return 0
    out[: len(packed)] = packed
    return len(packed)


def unpack_block(packed: bytes | memoryview, out: memoryview) -> None:
    """Unpacks a block that fills `out` exactly; Malformed when it does not."""
    native = None if out.readonly or memoryview(packed).readonly else _native()
    if not native or not packed:
        content = unpacked(packed, len(out))
        if len(content) != len(out):
            raise Malformed("a block is not as long as it should be")
        out[:] = content
        return
    _, unpack, address = native
    count = unpack(address(packed), address(out), len(packed), len(out))
    if count < 0:
        raise Malformed("a frame cannot be decompressed")
    if count != len(out):
        raise Malformed("a block is not as long as it should be")


def unpacked(packed: bytes | memoryview, max_bytes: int) -> bytes:
    """The content of a block, in memory of its own."""
    try:
        return bytes(lz4_block.decompress(packed, uncompressed_size=max_bytes))
    except lz4_block.LZ4BlockError as error:
        raise Malformed(f"a frame cannot be decompressed: {error}") from None


@cache
def _native() -> _Native | None:
    """The C functions behind `lz4.block`, and what gives them the address of writable memory; None without them."""
    try:
        import ctypes

        library = ctypes.CDLL(lz4_block._block.__file__)  # noqa: SLF001 - its path is all that is needed
        pack, unpack = library.LZ4_compress_fast, library.LZ4_decompress_safe
    except (ImportError, AttributeError, OSError, TypeError):
        return None
    place, number = ctypes.c_void_p, ctypes.c_int
    pack.argtypes = [place, place, number, number, number]
    unpack.argtypes = [place, place, number, number]
    pack.restype = unpack.restype = number
    first_byte = ctypes.c_char.from_buffer
    return pack, unpack, lambda memory: ctypes.byref(first_byte(memory))
