"""Reads a tar stream of any origin: v7, ustar, pax, GNU long names and all GNU sparse formats.

What GNU tar reads though it is odd is read here too, with a warning; but not a stream without an end mark,
which a lost connection may have left.
Nothing in a header is believed without a look: sizes and offsets cannot be negative, extra
headers are bounded, extents lie inside their file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from scratchflow.archive.format.stream import PieceReader
from scratchflow.archive.format.tar_headers import BLOCK, padding
from scratchflow.archive.malformed import Malformed

MAX_EXTRA_BYTES = 1 << 20
MAX_EXTENTS = 1 << 18
_MAX_SIZE = (1 << 63) - 1
_KINDS = {
    b"0": "file", b"\0": "file", b"7": "file", b"S": "file",
    b"1": "hardlink", b"2": "symlink", b"5": "directory", b"D": "directory",
    b"3": "a device", b"4": "a device", b"6": "a FIFO", b"V": "a volume label",
    b"M": "the rest of a file that begins in another volume",
}  # fmt: skip
# Of what is not restored as a file, only these have content in the stream.
_SKIPPED_CONTENT = (b"D", b"M")
_EXTRA_HEADERS = b"xgLKX"  # X: Solaris' name for x
_TIME = re.compile(rb"(-?)(\d+)(?:\.(\d*))?")

_SECOND_NS = 1_000_000_000
# The last second that fits: our own archives hold whole seconds at the edge.
_MAX_SECONDS_NS = (_MAX_SIZE // _SECOND_NS + 1) * _SECOND_NS
_MAX_TIME_CHARACTERS = 100

# Told about what is odd: code, path and what was made of it.
Odd = Callable[[str, bytes, str], None]


class EndMissing(Malformed):
    """The stream ends after a whole member, where zeros should follow: it may have been cut there."""


class Member(msgspec.Struct):
    """One member, its header read and its content still to come."""

    path: bytes
    kind: str  # file, hardlink, symlink, directory, or a word for what is not restored
    mode: int
    mtime_ns: int
    size: int  # of the file as it will be
    stored: int  # bytes of content that follow in the stream
    link: bytes = b""
    extents: list[int] | None = None
    xattrs: dict[bytes, bytes] = msgspec.field(default_factory=dict)


def read_members(
    stream: PieceReader,
    odd: Odd | None = None,
    pass_over: Callable[[PieceReader], None] = lambda _: None,
) -> Iterator[Member]:
    """Every member; whoever takes one reads its `stored` bytes, the rest is passed over here.

    Malformed says why the stream is no tar stream. Without `odd`, oddities are Malformed too.
    `pass_over` is called before each member that no global header speaks of, and may read whole ones itself.
    """
    global_records: dict[bytes, bytes] = {}
    warn = odd or _strict
    while True:
        if not global_records:
            pass_over(stream)
        extra = _Extra(dict(global_records))
        if stream.at_end() and stream.position:
            raise EndMissing("the archive has no end mark: members may be missing at its end")
        header = _next_header(stream)
        while header and (kind := header[156:157]) in _EXTRA_HEADERS:
            _read_extra(stream, header, kind, extra, global_records)
            header = _next_header(stream)
            if header is None:
                warn(
                    "archive.odd",
                    b"",
                    "the archive ends with an extended header that belongs to no member",
                )
        if header is None:
            return
        member = _member(stream, header, extra, warn)
        end = stream.position + member.stored
        yield member
        stream.skip(end - stream.position + extra.surplus)
        stream.skip(padding(member.stored + extra.map_bytes + extra.surplus))


def _strict(_code: str, path: bytes, message: str) -> None:
    raise Malformed(f"a member {message}" if path else message)


class _Extra(msgspec.Struct):
    """What headers before the member's own said about it."""

    records: dict[bytes, bytes]
    long_name: bytes | None = None
    long_link: bytes | None = None
    sparse_numbers: list[int] = msgspec.field(default_factory=list)  # of GNU sparse format 0.0
    map_bytes: int = 0
    surplus: int = 0  # bytes after the data of a sparse file that belong to nothing


def _next_header(stream: PieceReader) -> bytes | None:
    """The next header block; None at the end of the archive."""
    if stream.at_end():
        raise Malformed("the end of the archive is missing")
    header = stream.read(BLOCK)
    if header.count(0) == BLOCK:
        return None
    stated = _number(header[148:156])
    plain = header[:148] + b" " * 8 + header[156:]
    found = sum(plain)
    # Some very old tars summed signed bytes.
    if stated != found and stated != found - 256 * sum(1 for byte in plain if byte > 127):
        raise Malformed("a header does not match its checksum")
    return header


def _read_extra(
    stream: PieceReader, header: bytes, kind: bytes, extra: _Extra, shared: dict[bytes, bytes]
) -> None:
    size = _number(header[124:136])
    if size > MAX_EXTRA_BYTES:
        raise Malformed("an extended header is larger than any can be")
    content = stream.read(size)
    stream.skip(padding(size))
    if kind == b"L":
        extra.long_name = content.split(b"\0", 1)[0]
    elif kind == b"K":
        extra.long_link = content.split(b"\0", 1)[0]
    else:
        records = _pax_records(content, extra.sparse_numbers)
        extra.records.update(records)
        if kind == b"g":
            shared.update(records)


def _pax_records(content: bytes, sparse_numbers: list[int]) -> dict[bytes, bytes]:
    records: dict[bytes, bytes] = {}
    position = 0
    while position < len(content):
        if content[position] == 0 and not content[position:].strip(b"\0"):
            break  # some writers count the padding
        space = content.find(b" ", position, position + 8)
        digits = content[position:space]
        if space < 0 or not digits.isdigit():
            raise Malformed("an extended header cannot be read")
        end = position + int(digits)
        key, equals, value = content[space + 1 : end - 1].partition(b"=")
        if end <= space + 1 or content[end - 1 : end] != b"\n" or not equals:
            raise Malformed("an extended header cannot be read")
        if key in {b"GNU.sparse.offset", b"GNU.sparse.numbytes"}:
            sparse_numbers.append(_decimal(value))
        records[key] = value
        position = end
    return records


def _member(stream: PieceReader, header: bytes, extra: _Extra, warn: Odd) -> Member:
    records, flag = extra.records, header[156:157]
    size = _decimal(records[b"size"]) if b"size" in records else _number(header[124:136])
    path = _path(header, extra)
    kind = _kind(flag, path, extra, warn)
    # A directory's size is no content, also where an old tar wrote it as a file `name/`.
    has_content = kind == "file" or flag in _SKIPPED_CONTENT
    link = records.get(b"linkpath") or extra.long_link or _text(header[157:257])
    member = Member(
        path=path,
        kind=kind,
        mode=_number(header[100:108]) & 0o7777,
        mtime_ns=_mtime_ns(header, records, lambda text: warn("archive.odd_time", path, text)),
        size=size if kind == "file" else 0,
        stored=size if has_content else 0,
        link=link,
        xattrs={
            key[len(b"SCHILY.xattr.") :]: value
            for key, value in records.items()
            if key.startswith(b"SCHILY.xattr.user.")
        },
    )
    if kind == "file":
        _read_sparse(stream, header, extra, member)
        if extra.surplus:
            warn(
                "archive.odd",
                path,
                "has more data than its map of holes says; the rest is left out",
            )
    return member


def _kind(flag: bytes, path: bytes, extra: _Extra, warn: Odd) -> str:
    if flag not in _KINDS:
        warn("archive.odd_kind", path, f"is of the unknown kind {flag!r} and is taken for a file")
        return "file"
    is_sparse = flag == b"S" or any(key.startswith(b"GNU.sparse.") for key in extra.records)
    if _KINDS[flag] == "file" and path.endswith(b"/") and not is_sparse:
        return "directory"  # as tars wrote them before there was a kind for it
    return _KINDS[flag]


def _path(header: bytes, extra: _Extra) -> bytes:
    for key in (b"GNU.sparse.name", b"path"):
        if key in extra.records:
            return extra.records[key]
    if extra.long_name is not None:
        return extra.long_name
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else b""
    name = _text(header[:100])
    return prefix + b"/" + name if prefix else name


def _text(raw: bytes) -> bytes:
    return raw.split(b"\0", 1)[0]


def _number(raw: bytes) -> int:
    """A number field: octal text, or base 256. Never negative."""
    if raw[0] & 0x80:
        number = int.from_bytes(bytes([raw[0] & 0x7F]) + raw[1:], "big")
        if raw[0] & 0x40 or number > _MAX_SIZE:
            raise Malformed("a header holds an impossible number")
        return number
    text = raw.split(b"\0", 1)[0].strip()
    try:
        number = int(text or b"0", 8)
    except ValueError:
        raise Malformed("a header holds something that is no number") from None
    if number < 0 or b"_" in text:
        raise Malformed("a header holds an impossible number")
    return number


def _decimal(text: bytes) -> int:
    if not text.isdigit() or len(text) > 19 or int(text) > _MAX_SIZE:
        raise Malformed("an extended header holds an impossible number")
    return int(text)


def _mtime_ns(header: bytes, records: dict[bytes, bytes], odd: Callable[[str], None]) -> int:
    text = records.get(b"mtime")
    time_ns = _header_mtime_ns(header[136:148]) if text is None else _pax_time_ns(text)
    clamped = max(-_MAX_SIZE, min(time_ns, _MAX_SIZE))
    if abs(time_ns) > _MAX_SECONDS_NS:
        odd("has a time out of range, which is moved to the nearest that can be kept")
    return clamped


def _header_mtime_ns(raw: bytes) -> int:
    if raw[0] == 0xFF:  # base 256, before 1970
        return int.from_bytes(raw, "big", signed=True) * _SECOND_NS
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big") * _SECOND_NS
    return _number(raw) * _SECOND_NS


def _pax_time_ns(text: bytes) -> int:
    found = _TIME.fullmatch(text[:_MAX_TIME_CHARACTERS])
    if not found:
        raise Malformed("an extended header holds an impossible time")
    sign, seconds, fraction = found.groups()
    time_ns = int(seconds) * _SECOND_NS + int((fraction or b"0")[:9].ljust(9, b"0"))
    return -time_ns if sign else time_ns


def _read_sparse(stream: PieceReader, header: bytes, extra: _Extra, member: Member) -> None:
    """Turns whatever describes holes into extents."""
    records = extra.records
    numbers: list[int] | None = None
    if header[156:157] == b"S":
        numbers, member.size = _old_gnu_map(stream, header)
    elif records.get(b"GNU.sparse.major") == b"1":
        size = records.get(b"GNU.sparse.realsize") or records.get(b"GNU.sparse.size", b"-")
        member.size = _decimal(size)
        numbers = _map_in_content(stream, extra, member)
    elif b"GNU.sparse.map" in records:
        member.size = _decimal(records.get(b"GNU.sparse.size", b"-"))
        numbers = [_decimal(number) for number in records[b"GNU.sparse.map"].split(b",")]
    elif extra.sparse_numbers:
        member.size = _decimal(records.get(b"GNU.sparse.size", b"-"))
        numbers = extra.sparse_numbers
    if numbers is not None:
        member.extents = _checked_extents(numbers, member)
        stored = sum(member.extents[1::2])
        if stored > member.stored:
            raise Malformed("a sparse file has less data than its map")
        extra.surplus, member.stored = member.stored - stored, stored


def _checked_extents(numbers: list[int], member: Member) -> list[int]:
    if len(numbers) % 2 or len(numbers) > 2 * MAX_EXTENTS:
        raise Malformed("a sparse file has an impossible map")
    extents: list[int] = []
    end = 0
    for offset, length in zip(numbers[::2], numbers[1::2], strict=True):
        if not length:
            continue  # marks the end of the file, or nothing at all
        if offset < end or offset + length > member.size:
            raise Malformed("a sparse file has data outside of itself")
        end = offset + length
        extents += [offset, length]
    return extents


def _old_gnu_map(stream: PieceReader, header: bytes) -> tuple[list[int], int]:
    numbers = _map_fields(header[386:482])
    more = header[482]
    while more:
        block = stream.read(BLOCK)
        numbers += _map_fields(block[:504])
        more = block[504]
        if len(numbers) > 2 * MAX_EXTENTS:
            raise Malformed("a sparse file has an impossible map")
    return numbers, _number(header[483:495])


def _map_fields(raw: bytes) -> list[int]:
    numbers = []
    for start in range(0, len(raw), 24):
        if raw[start] == 0:
            break
        numbers += [_number(raw[start : start + 12]), _number(raw[start + 12 : start + 24])]
    return numbers


def _map_in_content(stream: PieceReader, extra: _Extra, member: Member) -> list[int]:
    """GNU sparse 1.0: decimal lines before the data, padded to a block."""
    lines: list[bytes] = []
    rest = b""
    wanted = 1
    while len(lines) < wanted:
        if extra.map_bytes + BLOCK > min(member.stored, 64 * MAX_EXTENTS):
            raise Malformed("a sparse file has an impossible map")
        *complete, rest = (rest + stream.read(BLOCK)).split(b"\n")
        extra.map_bytes += BLOCK
        lines += complete
        if lines:
            wanted = 1 + 2 * _decimal(lines[0])
            if wanted > 2 * MAX_EXTENTS:
                raise Malformed("a sparse file has an impossible map")
    member.stored -= extra.map_bytes
    return [_decimal(line) for line in lines[1:wanted]]
