# scratchflow rescue, version 5
"""Restores snapshots of scratchflow without scratchflow.

Needs Python 3.6 or newer, nothing but its standard library, and the `lz4` program. This file lies
beside the snapshots; HOW-TO-RESTORE.txt, beside it too, says how to use it. With the package `xxhash`
it also compares archives as a whole; without it, `lz4` compares every frame with its own checksum.

    python3 rescue.py list
    python3 rescue.py verify [ID ...]
    python3 rescue.py restore ID|latest --to DIR [--path PATH ...]

It only reads the store. It writes beneath DIR alone, which must not exist or must be empty.
"""

import argparse
import errno
import hashlib
import json
import os
import re
import stat
import struct
import subprocess
import sys
import threading
import zlib
from array import array
from bisect import bisect_right
from collections import Counter

try:
    import xxhash
except ImportError:
    xxhash = None

ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}\Z")
ARCHIVE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
INDEX_MAGIC = 0x184D2A53
FOOTER_MAGIC = 0x184D2A5F
FOOTER = struct.Struct("<II8sIQQ32s32sI")
LEGACY_MAGIC = b"\x02\x21\x4c\x18"
PIECE_BYTES = 8 << 20  # of an index column; as much as a legacy LZ4 block can hold
FRAME_BYTES = 4 << 20
NOWHERE = 0xFFFF
MAX_HOLE_BYTES = 16 << 40
MAX_SIZE = (1 << 63) - 1
READ_BYTES = 1 << 20
DIGEST_BYTES = 16
REMNANTS = (3, 5)  # versions of archives of which only what others need is left
WITHOUT_CHECK = (
    "the damage may be elsewhere than in what you want: with --no-check all that can be read comes back,"
    " each frame compared with its own checksum; or restore an older snapshot"
)
CHECKSUM = b',\n  "checksum": "'
COLUMNS = [
    ("mode", "H"),
    ("size", "Q"),
    ("mtime_ns", "q"),
    ("children", "I"),
    ("flags", "B"),
    ("archive", "H"),
    ("position", "Q"),
]


class Trouble(Exception):
    """Something that the user has to know; the message says what."""


class Newer(Trouble):
    """A newer scratchflow made it, and nothing is known to be wrong with it."""


# ---------------------------------------------------------------------------------------------
# The store: manifests and archives


def open_file(path):
    """A file to read from; OSError for anything else, like a FIFO that nobody may ever write to."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is not a file")


class Store:
    """The directory that holds `<id>.json` and `<id>.tar.lz4`."""

    def __init__(self, directory):
        self.directory = directory

    def ids(self):
        """The id of every manifest, oldest first."""
        names = sorted(os.listdir(self.directory))
        return [name[:-5] for name in names if name.endswith(".json") and ID.match(name[:-5])]

    def archive(self, snapshot):
        if not ARCHIVE_ID.match(snapshot):
            raise Trouble("a snapshot names an archive in an impossible way: %r" % snapshot)
        return os.path.join(self.directory, snapshot + ".tar.lz4")

    def manifest(self, snapshot):
        """The manifest as a dict, after its checksum was compared."""
        path = os.path.join(self.directory, snapshot + ".json")
        try:
            with open_file(path) as file:
                content = file.read()
        except OSError as error:
            raise Trouble(
                "snapshot %s: its manifest cannot be read: %s" % (snapshot, error.strerror)
            )
        head, _, tail = content.rpartition(CHECKSUM)
        body = head + b"\n}"
        if tail != hashlib.sha256(body).hexdigest().encode() + b'"\n}\n':
            raise Trouble("snapshot %s: its manifest is damaged" % snapshot)
        try:
            manifest = json.loads(body.decode("utf-8"))
            if manifest["schema"] > 2:
                raise Newer(
                    "snapshot %s: it was made by a newer scratchflow; use the rescue.py of that one"
                    % snapshot
                )
            if manifest["schema"] == 1:
                manifest["archive_digest"] = "sha256:" + manifest["archive_sha256"]
            sound = manifest["id"] == snapshot and isinstance(manifest["archive_digest"], str)
        except (ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            raise Trouble("snapshot %s: its manifest cannot be understood" % snapshot)
        return manifest

    def find(self, wanted):
        """The manifest of a snapshot by any part of its id that no other has, or `latest`."""
        ids = self.ids()
        if wanted == "latest":
            if not ids:
                raise Trouble("there is no snapshot in %s" % shown(self.directory))
            # Trouble if the newest one is damaged: `latest` never silently means an older one.
            newest_first = map(self.manifest, reversed(ids))
            work = (one for one in newest_first if not is_fork(one))
            return next(work, None) or self.manifest(ids[-1])
        found = [one for one in ids if one.endswith("-" + wanted)] or [
            one for one in ids if len(wanted) > 2 and wanted in one
        ]
        if len(found) > 1:
            raise Trouble("%r fits several snapshots: %s" % (wanted, ", ".join(found[-9:])))
        if not found:
            raise Trouble("there is no snapshot %r; `python3 rescue.py list` shows all" % wanted)
        return self.manifest(found[0])


def is_fork(manifest):
    """Whether it was taken beside the newest one: a copy of another node, or one that had fallen behind."""
    return manifest.get("beside") is True


def forks_of(store):
    """The ids of the snapshots with work that went another way than the newest one, from a parent that both have."""
    manifests = {}
    for snapshot in store.ids():
        try:
            manifests[snapshot] = store.manifest(snapshot)
        except Trouble:
            continue
    work = [one for one in sorted(manifests) if not is_fork(manifests[one])]
    noted, came_from = noted_parents(store), {}
    for one, manifest in manifests.items():
        parent = manifest.get("parent")
        came_from[one] = parent if parent in manifests else noted.get(one)
    continued, at = set(), work[-1] if work else None
    while at in manifests and at not in continued:
        continued.add(at)
        at = came_from[at]
    # What somebody went back to is part of the newest work, however it was taken.
    beside = {one for one in manifests if is_fork(manifests[one])} - continued
    children = Counter(manifests[one].get("parent") for one in manifests if one not in beside)
    forks = set()
    for one in sorted(manifests):  # the oldest first: what continues a fork is part of it
        parent = manifests[one].get("parent")
        goes_apart = (parent and children[parent] > 1) or came_from[one] in forks
        if one in beside or (goes_apart and one not in continued):
            forks.add(one)
    return forks


def noted_parents(store):
    """What snapshots came from whose parents were removed; nothing when that cannot be read."""
    try:
        with open_file(os.path.join(store.directory, "lineage.json")) as file:
            noted = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError, Trouble):
        return {}
    return noted if isinstance(noted, dict) else {}


def check_archive(store, snapshot):
    """Trouble unless the archive is what was written, by its digest."""
    path = store.archive(snapshot)
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            footer = read_footer(file, snapshot)
            file.seek(0)
            kind, digest = digest_for(footer[3])
            if digest is None:
                check_parts(file, snapshot, footer)
                return
            left = size - FOOTER.size
            while left:
                piece = file.read(min(left, READ_BYTES))
                if not piece:
                    raise Trouble("archive %s: it is cut short" % snapshot)
                digest.update(piece)
                left -= len(piece)
            content = digest.digest()
            digest.update(file.read(FOOTER.size))
    except OSError as error:
        raise Trouble("archive %s: it cannot be read: %s" % (snapshot, error.strerror))
    if content != footer[2][: len(content)]:
        raise Trouble(
            "archive %s: it is damaged: its digest is not the one in its footer" % snapshot
        )
    # The manifest of an archive that only others still need may have been pruned, or be damaged.
    try:
        expected = store.manifest(snapshot)["archive_digest"]
    except Trouble:
        return
    if kind + digest.hexdigest() != expected:
        raise Trouble("archive %s: it is damaged: its digest is not its manifest's" % snapshot)


def digest_for(version):
    """What archives of a format version are compared by; None where that cannot be had here."""
    if version in (1, 2, 3):
        return "sha256:", hashlib.sha256()
    return "xxh3:", xxhash and xxhash.xxh3_128()


def require_own(header, snapshot):
    """Trouble when an archive is whole, and that of another snapshot."""
    if not isinstance(header, dict) or header.get("id") != snapshot:
        raise Trouble("archive %s: it is damaged: it is that of another snapshot" % snapshot)


def check_parts(file, snapshot, footer):
    """Trouble unless the index of an archive, and every frame of it, has its own checksum."""
    file.seek(footer[0])
    region = file.read(os.fstat(file.fileno()).st_size - FOOTER.size - footer[0])
    if hashlib.sha256(region).digest() != footer[1] or len(region) < 8:
        raise Trouble("archive %s: its index is damaged" % snapshot)
    first = struct.unpack_from("<I", region, 4)[0]
    require_own(unpack_message(region[8 : 8 + first]), snapshot)
    file.seek(0)
    decompressing = Decompressing(iter(lambda: file.read(READ_BYTES), b""))
    while decompressing.read(READ_BYTES):
        pass
    is_sound, said = decompressing.finish()
    if not is_sound:
        raise Trouble("archive %s: it is damaged: %s" % (snapshot, said or "lz4 cannot read it"))


def read_footer(file, snapshot):
    """(offset of the index, its SHA-256, digest of all before the footer, format version)."""
    size = os.fstat(file.fileno()).st_size
    if size < FOOTER.size:
        raise Trouble("archive %s: it is cut short" % snapshot)
    file.seek(size - FOOTER.size)
    tail = file.read(FOOTER.size)
    magic, length, word, version, offset, count, index_sha, digest, crc = FOOTER.unpack(tail)
    if magic != FOOTER_MAGIC or length != FOOTER.size - 8 or word != b"SCRFLOW1":
        raise Trouble("archive %s: it does not end as an archive does: it is cut short" % snapshot)
    if zlib.crc32(tail[8:-4]) & 0xFFFFFFFF != crc or offset + count != size - FOOTER.size:
        raise Trouble("archive %s: its last bytes are damaged" % snapshot)
    if version > 5:
        raise Newer(
            "archive %s: it has format version %d, and this rescue.py knows 1 to 5; a newer rescue.py comes with a newer scratchflow"
            % (snapshot, version)
        )
    return offset, index_sha, digest, version


def true_frames(store, file, archive_id, raw_ends, packed_ends):
    """Where the frames of an archive end in its file.

    As the index of another snapshot says, unless only a part is left of the archive: such a one lists them itself.
    """
    try:
        offset, sha256, _, version = read_footer(file, archive_id)
    except Newer:
        raise
    except Trouble:
        # Damage that may not concern any frame. But an archive without a manifest may have been
        # rewritten, and nothing here could tell its frames apart.
        if os.path.lexists(os.path.join(store.directory, archive_id + ".json")):
            return packed_ends
        raise
    if version not in REMNANTS:
        return packed_ends
    file.seek(offset)
    region = file.read(os.fstat(file.fileno()).st_size - FOOTER.size - offset)
    if hashlib.sha256(region).digest() != sha256 or len(region) < 8:
        raise Trouble("archive %s: the list of its frames is damaged" % archive_id)
    found = unpack_message(region[8:])
    try:
        is_same = numbers("Q", found["raw_ends"]) == raw_ends and found["id"] == archive_id
        packed = numbers("Q", found["packed_ends"])
    except (KeyError, TypeError, ValueError):
        raise Trouble("archive %s: the list of its frames makes no sense" % archive_id)
    if not is_same or len(packed) != len(raw_ends) or list(packed) != sorted(packed):
        raise Trouble("archive %s: it has other frames than the index says" % archive_id)
    return packed


# ---------------------------------------------------------------------------------------------
# The index: every path of a snapshot, and which archive holds its bytes and where


class Index:
    """The columns of an index, checked; docs/format.md of scratchflow describes them."""

    def __init__(self, store, snapshot):
        self.snapshot = snapshot
        contents = self._frames(store, snapshot)
        header = self._header(contents[0])
        require_own(header, snapshot)
        take = _Columns(header, contents[1:]).take
        entries, groups = header["entries"], header["groups"]
        self.names = split_names(take("names", 1, None), entries)
        for name, code in COLUMNS:
            count = groups if name == "children" else entries
            setattr(self, name, numbers(code, take(name, array(code).itemsize, count)))
        take("digest", 1, entries * DIGEST_BYTES)  # XXH3, which the standard library does not have
        targets = split_names(take("targets", 1, None), header["symlinks"])
        links = numbers("I", take("links", 4, 2 * header["hardlinks"]))
        self.links = dict(zip(links[::2], links[1::2]))
        self.archives = []
        for archive_id, frames in header["archives"]:
            raw, packed = (
                numbers("Q", take(name, 8, frames)) for name in ("raw_ends", "packed_ends")
            )
            self.archives.append((archive_id, raw, packed))
        extras = take("extras", 1, None)
        sparse, xattrs = unpack_message(extras) if extras else ([], [])
        self.sparse, self.xattrs = dict(sparse), dict(xattrs)
        self.chunks = self._chunks(header, take)
        self._connect(targets)
        self._check()

    def _frames(self, store, snapshot):
        """The contents of the index frames, after the SHA-256 of all was compared."""
        try:
            with open_file(store.archive(snapshot)) as file:
                offset, sha256, _, version = read_footer(file, snapshot)
                if version in REMNANTS:
                    raise Trouble(
                        "archive %s: only what other snapshots need is left of it" % snapshot
                    )
                file.seek(offset)
                region = file.read(os.fstat(file.fileno()).st_size - FOOTER.size - offset)
        except OSError as error:
            raise Trouble("archive %s: it cannot be read: %s" % (snapshot, error.strerror))
        self.index_offset = offset
        if hashlib.sha256(region).digest() != sha256:
            raise Trouble("archive %s: its index is damaged" % snapshot)
        contents, position = [], 0
        while position < len(region):
            if position + 8 > len(region):
                raise self.bad()
            magic, length = struct.unpack_from("<II", region, position)
            position += 8 + length
            if magic != INDEX_MAGIC or position > len(region):
                raise self.bad()
            contents.append(region[position - length : position])
        if not contents:
            raise self.bad()
        return contents

    def _header(self, content):
        header = unpack_message(content)
        keys = ("entries", "groups", "symlinks", "hardlinks")
        header = dict(dict.fromkeys(("chunked", "chunks"), 0), **header)
        keys += ("chunked", "chunks")
        if not isinstance(header, dict) or any(not is_count(header.get(key)) for key in keys):
            raise self.bad()
        shapes = [header.get("archives"), header.get("pieces")]
        if not all(isinstance(one, list) and all(map(is_pair, one)) for one in shapes):
            raise self.bad()
        if header.get("digest", "xxh3-128") != "xxh3-128":
            raise Trouble(
                "archive %s: it is of a kind that this rescue.py does not know" % self.snapshot
            )
        return header

    def _chunks(self, header, take):
        """Of each large file that lies in chunks: [(archive number, position, length)]."""
        pairs = numbers("I", take("chunked", 4, 2 * header["chunked"]))
        count = header["chunks"]
        lengths = numbers("I", take("chunk_lengths", 4, count))
        archives = numbers("H", take("chunk_archives", 2, count))
        positions = numbers("Q", take("chunk_positions", 8, count))
        take("chunk_digests", 1, count * DIGEST_BYTES)
        found, start = {}, 0
        for entry, many in zip(pairs[::2], pairs[1::2]):
            part = slice(start, start + many)
            found[entry] = list(zip(archives[part], positions[part], lengths[part]))
            start += many
        if start != count or 2 * len(found) != len(pairs):
            raise self.bad("it has chunks that belong to no file")
        return found

    def bad(self, why=""):
        return Trouble(
            "archive %s: its index makes no sense%s" % (self.snapshot, why and ": " + why)
        )

    def _connect(self, targets):
        """Finds which group is which directory's, and the target of each symlink."""
        if sum(self.children) != len(self.names) or not self.children:
            raise self.bad("its groups do not hold all entries")
        self.group_of = array("I", bytes(4 * len(self.names)))  # entry -> the group that holds it
        self.directory_of = array(
            "I", bytes(4 * len(self.children))
        )  # group -> its directory's entry
        waiting, end = [None], 0
        for group, count in enumerate(self.children):
            if not waiting:
                raise self.bad("a group belongs to no directory")
            directory = waiting.pop()
            if directory is not None:
                self.directory_of[group] = directory
            start, end = end, end + count
            for entry in range(start, end):
                self.group_of[entry] = group
            waiting.extend(
                one for one in range(end - 1, start - 1, -1) if stat.S_ISDIR(self.mode[one])
            )
        if waiting:
            raise self.bad("a directory has no group")
        symlinks = [entry for entry, mode in enumerate(self.mode) if stat.S_ISLNK(mode)]
        if len(symlinks) != len(targets) or not all(0 < len(one) <= 4096 for one in targets):
            raise self.bad("its symlinks have no targets")
        self.target = dict(zip(symlinks, targets))

    def _check(self):
        """Refuses whatever could lead out of the target or read what is not there."""
        seen = set()
        for entry, name in enumerate(self.names):
            if name in (b"", b".", b"..") or b"/" in name or len(name) > 255:
                raise self.bad("it holds the unsafe name %r" % name)
            if (self.group_of[entry], name) in seen:
                raise self.bad("it holds a name twice")
            seen.add((self.group_of[entry], name))
            if stat.S_IFMT(self.mode[entry]) not in (stat.S_IFDIR, stat.S_IFREG, stat.S_IFLNK):
                raise self.bad("it holds something that is no file, directory or symlink")
        for archive_id, raw, packed in self.archives:
            if not isinstance(archive_id, str) or not ARCHIVE_ID.match(archive_id):
                raise self.bad("it names an archive in an impossible way")
            if not all(0 < size <= FRAME_BYTES for size in steps(raw)) or not all(
                size > 0 for size in steps(packed)
            ):
                raise self.bad("it has frames of impossible length")
        for entry, first in self.links.items():
            if (
                max(entry, first) >= len(self.names)
                or first in self.links
                or self.size[entry] != self.size[first]
            ):
                raise self.bad("it has a hardlink to nothing")
            if not stat.S_ISREG(self.mode[entry]) or not stat.S_ISREG(self.mode[first]):
                raise self.bad("it has a hardlink to something that is no file")
        for entry, extents in self.sparse.items():
            self._check_extents(entry, extents)
        self._check_contents()

    def _check_contents(self):
        for entry in self.chunks:
            self._check_chunks(entry)
        for entry, mode in enumerate(self.mode):
            self._check_place(entry, mode)

    def _check_extents(self, entry, extents):
        if (
            not is_count(entry)
            or entry >= len(self.names)
            or not isinstance(extents, list)
            or len(extents) % 2
        ):
            raise self.bad("it has holes in no file")
        end = 0
        for offset, length in zip(extents[::2], extents[1::2]):
            if (
                not is_count(offset)
                or not is_count(length)
                or offset < end
                or offset + length > self.size[entry]
            ):
                raise self.bad("it has data outside of a sparse file")
            end = offset + length
        if self.size[entry] - sum(extents[1::2]) > MAX_HOLE_BYTES:
            raise self.bad("it has a file with more holes than any can have")

    def _check_chunks(self, entry):
        if entry >= len(self.names) or not stat.S_ISREG(self.mode[entry]):
            raise self.bad("it has chunks of something that is no file")
        stored = 0
        for number, position, length in self.chunks[entry]:
            if number >= len(self.archives):
                raise self.bad("it reads from an archive that it does not name")
            raw = self.archives[number][1]
            if not 0 < length <= FRAME_BYTES or position + length > (raw[-1] if raw else 0):
                raise self.bad("it has content beyond the end of an archive")
            stored += length
        if stored != sum(length for _, length in self._extents(entry)):
            raise self.bad("it has chunks that do not make up their file")

    def _check_place(self, entry, mode):
        if not stat.S_ISREG(mode) or self._is_scattered(entry):
            return
        number, limit = self.archive[entry], 0
        if number != NOWHERE:
            if number >= len(self.archives):
                raise self.bad("it reads from an archive that it does not name")
            raw = self.archives[number][1]
            limit = raw[-1] if raw else 0
        stored = sum(self.sparse[entry][1::2]) if entry in self.sparse else self.size[entry]
        if self.size[entry] > MAX_SIZE or (stored and self.position[entry] + stored > limit):
            raise self.bad("it has content beyond the end of an archive")

    def path(self, entry):
        """The path of an entry, from the scratch directory down."""
        parts = [self.names[entry]]
        group = self.group_of[entry]
        while group:
            parts.append(self.names[self.directory_of[group]])
            group = self.group_of[self.directory_of[group]]
        return b"/".join(reversed(parts))

    def parts(self, entry):
        """Where the bytes of a file lie: [(archive number, position, length, offset in the file)]."""
        extents = self._extents(entry)
        stored = [(self.archive[entry], self.position[entry], sum(one[1] for one in extents))]
        if self._is_scattered(entry):
            stored = self.chunks[entry]
        # Chunks and extents both cut the stored bytes: each common stretch is a part.
        found, waiting = [], extents[::-1]
        for number, position, size in stored:
            done = 0
            while done < size:
                offset, length = waiting.pop()
                count = min(size - done, length)
                if count < length:
                    waiting.append((offset + count, length - count))
                if count:
                    found.append((number, position + done, count, offset))
                done += count
        return found

    def _extents(self, entry):
        """Where a file has data: [(offset, length)]."""
        extents = self.sparse.get(entry, [0, self.size[entry]])
        return list(zip(extents[::2], extents[1::2]))

    def _is_scattered(self, entry):
        """Whether the bytes of a file lie in several places, which only its chunks name."""
        return entry in self.chunks and self.archive[entry] == NOWHERE


class _Columns:
    """Takes the columns of an index out of its pieces, one after the other."""

    def __init__(self, header, packed):
        pieces = header["pieces"]
        if len(pieces) != len(packed) or not all(
            isinstance(name, str) and 0 < size <= PIECE_BYTES for name, size in pieces
        ):
            raise Trouble("an index lacks pieces, or has too many")
        # A raw LZ4 block, with its length before it, is a block of the legacy format.
        blocks = b"".join(struct.pack("<I", len(one)) + one for one in packed)
        raw = decompress_all(LEGACY_MAGIC + blocks) if packed else b""
        if len(raw) != sum(size for _, size in pieces):
            raise Trouble("an index has pieces of a wrong length")
        self.left, position = [], 0
        for name, size in pieces:
            self.left.append((name, raw[position : position + size]))
            position += size
        self.left.reverse()

    def take(self, name, width, count):
        """The next column, its bytes in order; `count` is how many values it must have."""
        whole = bytearray()
        while (
            self.left and self.left[-1][0] == name and (count is None or len(whole) < count * width)
        ):
            whole += unshuffled(self.left.pop()[1], width)
        if count is not None and len(whole) != count * width:
            raise Trouble("an index has a wrong number of values in %r" % name)
        return bytes(whole)


def unshuffled(piece, width):
    """First come the lowest bytes of all values, then the second lowest, and so on."""
    if width == 1:
        return piece
    if len(piece) % width:
        raise Trouble("an index has a piece of a wrong length")
    whole, each = bytearray(len(piece)), len(piece) // width
    for plane in range(width):
        whole[plane::width] = piece[plane * each : (plane + 1) * each]
    return whole


def numbers(code, raw):
    column = array(code)
    column.frombytes(raw)
    if sys.byteorder == "big":
        column.byteswap()
    return column


def split_names(blob, count):
    names = blob.split(b"\0")
    if names.pop() != b"" or len(names) != count:
        raise Trouble("an index has a wrong number of names")
    return names


def steps(ends):
    return [end - start for start, end in zip([0] + list(ends), ends)]


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_pair(value):
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and is_count(value[1])
    )


def unpack_message(raw):
    """Decodes msgpack; Trouble when it is none."""
    try:
        value, end = _message(raw, 0)
    except (IndexError, struct.error, ValueError, TypeError, RecursionError):
        raise Trouble("an index cannot be decoded")
    if end != len(raw):
        raise Trouble("an index cannot be decoded")
    return value


_SCALARS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_SIZED = {
    0xC4: (">B", "bin"),
    0xC5: (">H", "bin"),
    0xC6: (">I", "bin"),
    0xD9: (">B", "str"),
    0xDA: (">H", "str"),
    0xDB: (">I", "str"),
    0xDC: (">H", "array"),
    0xDD: (">I", "array"),
    0xDE: (">H", "map"),
    0xDF: (">I", "map"),
}


def _message(raw, at):
    code = raw[at]
    at += 1
    if code < 0x80:
        return code, at
    if code >= 0xE0:
        return code - 0x100, at
    if code in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[code], at
    if code in _SCALARS:
        return struct.unpack_from(_SCALARS[code], raw, at)[0], at + struct.calcsize(_SCALARS[code])
    if code in _SIZED:
        shape, kind = _SIZED[code]
        size = struct.unpack_from(shape, raw, at)[0]
        at += struct.calcsize(shape)
    elif code < 0x90:
        size, kind = code & 0x0F, "map"
    elif code < 0xA0:
        size, kind = code & 0x0F, "array"
    elif code < 0xC0:
        size, kind = code & 0x1F, "str"
    else:
        raise ValueError("unknown")
    return _sized(raw, at, size, kind)


def _sized(raw, at, size, kind):
    if kind in ("bin", "str"):
        if at + size > len(raw):
            raise ValueError("cut short")
        piece = raw[at : at + size]
        return (piece if kind == "bin" else piece.decode("utf-8")), at + size
    items = []
    for _ in range(size * (2 if kind == "map" else 1)):
        item, at = _message(raw, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2])) if kind == "map" else items), at


# ---------------------------------------------------------------------------------------------
# LZ4, by the program of that name: it checks the checksum of every frame


class Decompressing:
    """The output of `lz4 -dc` for pieces of input that are fed to it."""

    def __init__(self, feed):
        try:
            self.process = subprocess.Popen(
                ["lz4", "-dc"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise Trouble(
                "the `lz4` program cannot be started (%s); it is in the package `lz4` of every system"
                % error.strerror
            )
        self.failed = self.outcome = None
        self.feeder = threading.Thread(target=self._feed, args=(feed,))
        self.feeder.daemon = True
        self.feeder.start()

    def _feed(self, feed):
        try:
            for piece in feed:
                self.process.stdin.write(piece)
            self.process.stdin.close()
        except (OSError, ValueError) as error:  # lz4 has ended: its exit code says why
            self.failed = error

    def read(self, count):
        """The next `count` bytes; fewer when lz4 gave up."""
        return self.process.stdout.read(count)

    def finish(self):
        """Whether lz4 found nothing wrong, and what it said."""
        if self.outcome is None:
            self.outcome = self._wait()
        return self.outcome

    def _wait(self):
        rest = self.process.stdout.read(1)
        self.process.stdout.close()
        self.feeder.join()
        said = self.process.stderr.read().decode("utf-8", "replace").strip()
        self.process.stderr.close()
        return self.process.wait() == 0 and not rest and self.failed is None, said

    def stop(self):
        self.process.kill()
        self.finish()


def decompress_all(packed):
    stream = Decompressing([packed])
    raw = stream.process.stdout.read()
    fine, said = stream.finish()
    if not fine:
        raise Trouble("an index cannot be decompressed: %s" % said)
    return raw


# ---------------------------------------------------------------------------------------------
# Restoring


class Restore:
    """Writes chosen entries of an index beneath a directory that is ours alone."""

    def __init__(self, store, index, chosen, top):
        self.store, self.index, self.chosen = store, index, chosen
        self.top = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
        self.directories = {0: self.top}  # group -> descriptor; a few stay open
        self.groups = {index.directory_of[group]: group for group in range(1, len(index.children))}
        self.created = set()
        self.done = set()  # files whose content and attributes are there
        self.lost_attributes = 0
        self.set_id = 0  # files with bits that are not given back

    def run(self):
        index = self.index
        chosen = [entry for entry in range(len(index.names)) if self.chosen[entry]]
        directories = [entry for entry in chosen if stat.S_ISDIR(index.mode[entry])]
        for entry in directories:
            os.mkdir(index.names[entry], 0o700, dir_fd=self.directory(index.group_of[entry]))
        files, links = self._files_and_links(chosen)
        self.set_id = sum(bool(index.mode[entry] & 0o6000) for entry in files)
        self._contents(files)
        for entry in files:
            if entry not in self.done:
                self._finish_file(entry)
        for entry, first in links:
            os.link(
                index.names[first],
                index.names[entry],
                src_dir_fd=self.directory(index.group_of[first]),
                dst_dir_fd=self._second_directory(index.group_of[entry]),
                follow_symlinks=False,
            )
        # Symlinks come last, so that nothing is ever written through one.
        for entry in chosen:
            if entry in index.target:
                self._symlink(entry)
        for entry in reversed(directories):
            self._directory_attributes(entry)
        return len(files) + len(links)

    def _files_and_links(self, chosen):
        """Files to write; and further names of them. The first chosen name of a file is the file."""
        index, files, links, firsts = self.index, [], [], {}
        for entry in chosen:
            if stat.S_ISREG(index.mode[entry]):
                first = firsts.setdefault(index.links.get(entry, entry), entry)
                if first == entry:
                    files.append(entry)
                else:
                    links.append((entry, first))
        return files, links

    def directory(self, group):
        """A descriptor of a group's directory, opened name by name from the top; no link is followed."""
        if group not in self.directories:
            if len(self.directories) > 100:
                for descriptor in [
                    self.directories.pop(one) for one in list(self.directories) if one
                ]:
                    os.close(descriptor)
            above = [group]
            while above[-1] not in self.directories:
                above.append(self.index.group_of[self.index.directory_of[above[-1]]])
            descriptor = os.dup(self.directories[above.pop()])
            while above:
                one = above.pop()
                name = self.index.names[self.index.directory_of[one]]
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                inner = os.open(name, flags, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            self.directories[group] = descriptor
        return self.directories[group]

    def _second_directory(self, group):
        """Like `directory`, without closing the one that was asked for just before."""
        if group in self.directories or len(self.directories) <= 100:
            return self.directory(group)
        kept, self.directories = self.directories, {0: self.top}
        try:
            return self.directory(group)
        finally:
            opened, self.directories = self.directories, kept
            self.directories.update(opened)

    def _open(self, entry):
        flags = os.O_WRONLY | os.O_NOFOLLOW
        if entry not in self.created:
            flags |= os.O_CREAT | os.O_EXCL
            self.created.add(entry)
        directory = self.directory(self.index.group_of[entry])
        return os.open(self.index.names[entry], flags, 0o600, dir_fd=directory)

    def _contents(self, files):
        wanted = {}  # archive number -> [(position, length, entry, offset in the file)]
        for entry in files:
            for number, position, length, offset in self.index.parts(entry):
                wanted.setdefault(number, []).append((position, length, entry, offset))
        for number in sorted(wanted):
            self._from_archive(number, sorted(wanted[number]))

    def _from_archive(self, number, parts):
        """Reads the frames that hold these parts, once and in order, through one `lz4` process."""
        archive_id, raw_ends, packed_ends = self.index.archives[number]
        frames = set()
        for position, length, _, _ in parts:
            frames.update(
                range(
                    bisect_right(raw_ends, position),
                    bisect_right(raw_ends, position + length - 1) + 1,
                )
            )
        try:
            source = open_file(self.store.archive(archive_id))
        except OSError as error:
            raise Trouble("archive %s: it cannot be read: %s" % (archive_id, error.strerror))
        with source:
            packed_ends = true_frames(self.store, source, archive_id, raw_ends, packed_ends)
            stream = Decompressing(cut_frames(source, packed_ends, sorted(frames)))
            try:
                self._spread(stream, sorted(frames), raw_ends, parts, archive_id)
            except BaseException:
                stream.stop()
                raise
            fine, said = stream.finish()
        if not fine:
            raise Trouble("archive %s: it is damaged: %s" % (archive_id, said))

    def _spread(self, stream, frames, raw_ends, parts, archive_id):
        waiting, active = parts[::-1], []
        for frame in frames:
            start, end = (raw_ends[frame - 1] if frame else 0), raw_ends[frame]
            content = stream.read(end - start)
            if len(content) != end - start:
                _, said = stream.finish()
                raise Trouble(
                    "archive %s: it is damaged: %s" % (archive_id, said or "it is cut short")
                )
            while waiting and waiting[-1][0] < end:
                active.append(waiting.pop())
            for position, length, entry, offset in active:
                first, last = max(position, start), min(position + length, end)
                piece = content[first - start : last - start]
                self._put(entry, offset + first - position, piece)
            active = [part for part in active if part[0] + part[1] > end]

    def _put(self, entry, offset, piece):
        descriptor = self._open(entry)
        try:
            view, at = memoryview(piece), offset
            while view:
                count = os.pwrite(descriptor, view, at)
                view, at = view[count:], at + count
            if len(piece) == self.index.size[entry]:
                self._attributes(entry, descriptor)
                self.done.add(entry)
        finally:
            os.close(descriptor)

    def _finish_file(self, entry):
        descriptor = self._open(entry)
        try:
            os.ftruncate(descriptor, self.index.size[entry])  # a hole at the end
            self._attributes(entry, descriptor)
        finally:
            os.close(descriptor)

    def _attributes(self, entry, descriptor, mask=0o777):
        for name, value in self.index.xattrs.get(entry, {}).items():
            if name.startswith(b"user.") and not set_attribute(descriptor, name, value):
                self.lost_attributes += 1
        os.fchmod(descriptor, self.index.mode[entry] & mask)
        mtime_ns = self.index.mtime_ns[entry]
        os.utime(descriptor, ns=(mtime_ns, mtime_ns))

    def _symlink(self, entry):
        directory, name = self.directory(self.index.group_of[entry]), self.index.names[entry]
        os.symlink(self.index.target[entry], name, dir_fd=directory)
        mtime_ns = self.index.mtime_ns[entry]
        os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=directory, follow_symlinks=False)

    def _directory_attributes(self, entry):
        self._attributes(entry, self.directory(self.groups[entry]), DIRECTORY_BITS)


DIRECTORY_BITS = 0o3777


def set_attribute(descriptor, name, value):
    try:
        os.setxattr(descriptor, name, value)
    except (OSError, AttributeError):  # AttributeError: a system without them
        return False
    return True


def cut_frames(source, packed_ends, frames):
    """The bytes of these frames; neighbours are read together."""
    for frame in frames:
        left = packed_ends[frame] - (packed_ends[frame - 1] if frame else 0)
        source.seek(packed_ends[frame] - left)
        while left:
            piece = source.read(min(left, READ_BYTES))
            if not piece:
                return
            left -= len(piece)
            yield piece


def choose(index, paths, workspace):
    """Which entries to restore: all, or those at and beneath the paths, with the directories above.

    A path is one from the scratch directory down, or else one of the workspace.
    """
    if not paths:
        return bytearray(b"\1") * len(index.names)
    chosen = bytearray(len(index.names))
    names = {index.path(entry) for entry in range(len(index.names))}
    wanted = [whole_path(os.fsencode(path), os.fsencode(workspace), names) for path in paths]
    for one, path in zip(wanted, paths):
        if one is None:
            raise Trouble(
                "snapshot %s holds no %r; paths are those of the workspace, like src/main.py"
                % (index.snapshot, path)
            )
    for entry in range(len(index.names)):
        path = index.path(entry)
        for one in wanted:
            if path == one or path.startswith(one + b"/"):
                chosen[entry] = 1
                break
    for entry in range(len(index.names)):
        group = index.group_of[entry] if chosen[entry] else 0
        while group and not chosen[index.directory_of[group]]:
            chosen[index.directory_of[group]] = 1
            group = index.group_of[index.directory_of[group]]
    return chosen


def whole_path(path, workspace, names):
    """The path from the scratch directory down; None when the snapshot has no such path."""
    path = os.path.normpath(path.strip(b"/") or b".")
    inside = os.path.normpath(os.path.join(workspace, path))
    return next((one for one in (path, inside) if one in names), None)


def used_archives(index):
    used = set(index.archive) - {NOWHERE}
    for chunks in index.chunks.values():
        used.update(number for number, _, _ in chunks)
    return sorted({index.snapshot} | {index.archives[number][0] for number in used})


# ---------------------------------------------------------------------------------------------
# The command line


def restore(store, arguments):
    target = os.path.abspath(arguments.to)
    if os.path.lexists(target) and (
        not os.path.isdir(target) or os.path.islink(target) or os.listdir(target)
    ):
        raise Trouble("%s is not empty; choose a directory that does not exist yet" % shown(target))
    manifest = store.find(arguments.snapshot)
    index = Index(store, manifest["id"])
    chosen = choose(index, arguments.path, manifest.get("workspace", ""))
    if not arguments.no_check:
        for archive_id in used_archives(index):
            say("checking %s.tar.lz4" % archive_id)
            try:
                check_archive(store, archive_id)
            except Newer:
                raise
            except Trouble as trouble:
                raise Trouble("%s\n%s" % (trouble, WITHOUT_CHECK))
    building = target + ".unfinished"
    try:
        os.mkdir(building, 0o700)
    except FileExistsError:
        raise Trouble(
            "%s is there already, from a restore that did not end; remove it first"
            % shown(building)
        )
    say("restoring snapshot %s" % manifest["id"])
    restoring = Restore(store, index, chosen, building)
    try:
        count = restoring.run()
    except (Trouble, OSError):
        say("what was restored before that is in %s; it is not complete" % shown(building))
        raise
    os.chmod(building, 0o755 & ~current_umask())
    if os.path.isdir(target):
        os.rmdir(target)
    os.rename(building, target)
    if restoring.lost_attributes:
        say("%d extended attributes could not be set there" % restoring.lost_attributes)
    if restoring.set_id:
        say(
            "set-uid and set-gid bits are not given back; files that had some: %d"
            % restoring.set_id
        )
    what = "1 file" if count == 1 else "%d files" % count
    verb = "is" if count == 1 else "are"
    say("%s of snapshot %s %s in %s" % (what, manifest["id"], verb, shown(deepest(target))))
    return 0


def deepest(directory):
    """The directory that holds all of it: beneath the target lies the workspace by its name."""
    while True:
        try:
            names = os.listdir(directory)
        except OSError:
            return directory
        path = os.path.join(directory, names[0]) if len(names) == 1 else ""
        if not path or os.path.islink(path) or not os.path.isdir(path):
            return directory
        directory = path


def verify(store, arguments):
    wanted = [store.find(one)["id"] for one in arguments.snapshot] or store.ids()
    known, bad, newer = {}, 0, 0
    for snapshot in wanted:
        try:
            store.manifest(snapshot)
            for archive_id in used_archives(Index(store, snapshot)):
                if archive_id not in known:
                    known[archive_id] = problem_of(store, archive_id)
                if known[archive_id]:
                    raise known[archive_id]
            print("%s  fine" % snapshot)
        except Newer as trouble:
            newer += 1
            print("%s  NOT CHECKED: %s" % (snapshot, trouble))
        except Trouble as trouble:
            bad += 1
            print("%s  DAMAGED: %s" % (snapshot, trouble))
    if xxhash is None:
        say(
            "frames and indexes were compared; with the Python package xxhash, whole archives would be"
        )
    return 1 if bad or newer else 0


def problem_of(store, archive_id):
    try:
        check_archive(store, archive_id)
    except Trouble as trouble:
        return trouble
    return None


def list_snapshots(store, _arguments):
    forks = forks_of(store)
    for snapshot in store.ids():
        try:
            manifest = store.manifest(snapshot)
        except Trouble as trouble:
            print("%s  %s" % (snapshot, trouble))
            continue
        line = "%s  %-11s  %d files, %d bytes  %s%s" % (
            snapshot,
            manifest.get("kind"),
            manifest.get("files", 0),
            manifest.get("bytes", 0),
            "[fork] " if snapshot in forks else "",
            manifest.get("message", ""),
        )
        print(printable(line.rstrip()))
    return 0


def printable(text):
    """Text of anybody's as a terminal may show it."""
    return (
        "".join(one if one.isprintable() else "?" for one in text)
        .encode("utf-8", "replace")
        .decode("utf-8")
    )


def shown(path):
    return printable(os.fsencode(path).decode("utf-8", "replace"))


def say(text):
    sys.stderr.write("rescue: %s\n" % printable(text))
    sys.stderr.flush()


def current_umask():
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def parse(arguments):
    parser = argparse.ArgumentParser(
        description="Restores snapshots of scratchflow without scratchflow."
    )
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument(
        "--store",
        default=here,
        help="the directory with the snapshots; by default where this file lies",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="list | verify | restore")
    verbs.required = True
    verbs.add_parser("list", help="show all snapshots").set_defaults(run=list_snapshots)
    verb = verbs.add_parser("verify", help="compare archives with their digests")
    verb.add_argument("snapshot", nargs="*", help="ids; all without one")
    verb.set_defaults(run=verify)
    verb = verbs.add_parser(
        "restore", help="restore a snapshot, or a part of it, into a new directory"
    )
    verb.add_argument("snapshot", help="any part of an id that no other has, or `latest`")
    verb.add_argument("--to", required=True, metavar="DIR", help="must not exist, or be empty")
    verb.add_argument(
        "--path",
        action="append",
        default=[],
        help="only this path, like src/main.py; may be repeated",
    )
    verb.add_argument(
        "--no-check",
        action="store_true",
        help="do not read every archive first to compare its digest",
    )
    verb.set_defaults(run=restore)
    return parser.parse_args(arguments)


def main():
    arguments = parse(sys.argv[1:])
    try:
        return arguments.run(Store(arguments.store), arguments)
    except Trouble as trouble:
        say("error: %s" % trouble)
    except OSError as error:
        where = "" if error.filename is None else shown(error.filename) + ": "
        say("error: %s%s" % (where, error.strerror or error))
    return 1


if __name__ == "__main__":
    sys.exit(main())
