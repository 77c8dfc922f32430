"""What a job has made, taken out of the store: as a tar stream to another machine, or into a directory of this one."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

import msgspec

from scratchflow.disk.building import building_beside, sweep_beside
from scratchflow.disk.holes import write_with_holes
from scratchflow.disk.place_new import compare_names, place_new
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.jobs import JobMissing, OutputsDiffer
from scratchflow.model.errors.store import TargetFull
from scratchflow.model.errors.transfer import FileFailed
from scratchflow.model.events import Data, Emit, Progress
from scratchflow.model.requests import PutOutputs
from scratchflow.model.results.jobs import OutputsPut
from scratchflow.model.text import counted, printable
from scratchflow.node.context import NodeContext
from scratchflow.node.job.copying import stamp_of
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.taken_home import TakenHome, digest_of
from scratchflow.store.directory import find_place
from scratchflow.store.jobs.outputs import Output, outputs_of_tasks, place_of
from scratchflow.store.jobs.records import read_job
from scratchflow.workspace.path_names import with_names

_PIECE_BYTES = 1 << 18
_SHOWN = 5

Filling = Callable[[Path], list[str]]
"""Makes files in an empty directory, and says their paths in it."""


def put_outputs(here: NodeContext, notify: Notifier, asked: PutOutputs) -> OutputsPut:
    """`jobs outputs --to DIR`, on the node; OutputsDiffer, with nothing changed, when other files are in the way."""
    place = find_place(here.store, here.workspace.name)
    record = read_job(place, asked.job)
    if record is None:
        raise JobMissing(wanted=asked.job, detail="")
    found = outputs_of_tasks(place, record, asked.tasks)
    to = os.path.expanduser(with_names(asked.to, os.environ, key="--to"))
    target = Path(to).absolute() / place_of(record)

    def fill(room: Path) -> list[str]:
        notify.phase("copy")
        for one in found:
            _copy(one, room / one.name)
        return [one.name for one in found]

    return put_in(target, fill, dry_run=asked.dry_run)


def put_in(target: Path, fill: Filling, *, dry_run: bool = False) -> OutputsPut:
    """Lets `fill` make files in a room beside those of the target, then moves there what is missing.

    What an earlier call has put there and nobody has changed since is brought up to date: the job has gone on.
    """
    done = OutputsPut(target=printable(target), host=os.uname().nodename, dry_run=dry_run)
    if dry_run:
        return done
    with errors_at(target):
        target.mkdir(parents=True, exist_ok=True)
        sweep_beside(target)
        with building_beside(target / "outputs", os.urandom(4).hex()) as room:
            names = fill(room)
            placing = compare_names(room, names, target)
            taken = TakenHome.read(target)
            outdated = taken.unchanged_among(placing.differing)
            if others := [name for name in placing.differing if name not in outdated]:
                raise _differ(target, others)
            written = [*placing.new, *outdated]
            size = sum(_content_bytes(room / name) for name in written)
            digests = {name: digest_of(room / name) for name in names if _is_regular(room / name)}
            try:
                place_new(room, placing.new, target)
            except FileExistsError as error:
                there = os.path.relpath(error.filename2 or error.filename, target)
                raise _differ(target, [there]) from error
            for name in outdated:
                _bring_up_to_date(room, name, target, outdated[name])
    taken.with_more(digests).write()
    return msgspec.structs.replace(
        done,
        written_files=len(written),
        written_bytes=size,
        same_files=len(names) - len(written),
    )


def _bring_up_to_date(room: Path, name: str, target: Path, looked: os.stat_result) -> None:
    """Replaces a file that nobody has changed since it was looked at."""
    if stamp_of(os.lstat(target / name)) != stamp_of(looked):
        raise _differ(target, [name])
    os.replace(room / name, target / name)


def _is_regular(path: Path) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def send_outputs(found: Sequence[Output], emit: Emit) -> str:
    """Sends them as one tar, in `Data` events; the SHA-256 of what was sent."""
    out = _Sending(emit)
    total = sum(one.size_bytes for one in found)
    done = 0
    with tarfile.open(
        fileobj=cast("IO[bytes]", out), mode="w|", format=tarfile.GNU_FORMAT, bufsize=_PIECE_BYTES
    ) as tar:
        for number, one in enumerate(found, start=1):
            _add(tar, one)
            done += one.size_bytes
            emit(
                Progress(
                    phase="send",
                    files_done=number,
                    files_total=len(found),
                    bytes_done=done,
                    bytes_total=total,
                )
            )
    return out.digest.hexdigest()


class _Sending:
    """What a tar is written to."""

    def __init__(self, emit: Emit) -> None:
        self._emit, self.digest = emit, hashlib.sha256()

    def write(self, piece: bytes) -> int:
        self.digest.update(piece)
        self._emit(Data(content=bytes(piece)))
        return len(piece)


def _add(tar: tarfile.TarFile, one: Output) -> None:
    """A file of the store is replaced, never written to, so that the one that is open stays as it is."""
    member = tarfile.TarInfo(one.name)
    if one.file.is_symlink():
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(one.file)
        tar.addfile(member)
        return
    with _opened(one.file) as file:
        found = os.fstat(file.fileno())
        member.size, member.mode = found.st_size, found.st_mode & 0o700
        member.mtime = int(found.st_mtime)
        tar.addfile(member, file)


def unpack(archive: Path, room: Path) -> list[str]:
    """What `send_outputs` sent, as files, by name; StreamBroken when a name would lead out of the room."""
    names = []
    with tarfile.open(archive, format=tarfile.GNU_FORMAT) as tar:
        for member in tar:
            _require_inside(member.name)
            target = room / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                os.symlink(member.linkname, target)
            elif member.isreg() and (content := tar.extractfile(member)) is not None:
                _write(content, target, member.mode, member.mtime)
            names.append(member.name)
    return names


def _require_inside(name: str) -> None:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts:
        raise StreamBroken(reason=f"`{printable(name)}` is no name of a file that a job made")


def _copy(one: Output, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if one.file.is_symlink():
        os.symlink(os.readlink(one.file), target)
        return
    with _opened(one.file) as file:
        found = os.fstat(file.fileno())
        _write(file, target, found.st_mode, found.st_mtime)


def _write(content: IO[bytes], target: Path, mode: int, mtime: float) -> None:
    """A new file, as readable for others as the user's umask says."""
    wanted = 0o777 if mode & stat.S_IXUSR else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(target, flags, wanted), "wb") as file:
        while piece := content.read(_PIECE_BYTES):
            write_with_holes(file, piece)
        file.truncate()
        file.flush()
        os.utime(file.fileno(), (mtime, mtime))


def _opened(file: Path) -> IO[bytes]:
    return os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def _content_bytes(path: Path) -> int:
    found = os.lstat(path)
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _differ(target: Path, names: Sequence[str]) -> OutputsDiffer:
    shown = ", ".join(f"`{printable(name)}`" for name in names[:_SHOWN])
    more = ", …" if len(names) > _SHOWN else ""
    count = counted(len(names), "file")
    return OutputsDiffer(target=printable(target), count=count, paths=f"{shown}{more}")


@contextmanager
def errors_at(target: Path) -> Iterator[None]:
    """What this machine's file system refuses, as errors of ours."""
    try:
        yield
    except OSError as error:
        path = error.filename if isinstance(error.filename, str) else target
        kind = TargetFull if error.errno in {errno.ENOSPC, errno.EDQUOT} else FileFailed
        raise kind(path=path, reason=error.strerror) from error
