"""What `sync` asks of a login host: its home and its unison, and how many files would go."""

from __future__ import annotations

import math
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, local_run
from scratchflow.cluster.login_path import with_login_names
from scratchflow.cluster.unison.command import (
    has_line_break,
    is_left_out,
    is_never_synced,
    outermost,
)
from scratchflow.cluster.unison.version import read_version
from scratchflow.disk.private import make_private_directories
from scratchflow.login.host import LoginHost
from scratchflow.login.sync_notes import notes_directory, read_notes, room_in_home
from scratchflow.model.errors.config import PathNameUnset
from scratchflow.model.errors.sync import SyncFolderRefused, UnisonMissing
from scratchflow.model.requests import SyncCount, SyncLook
from scratchflow.model.results.sync import FilesCounted, SyncSide
from scratchflow.model.text import last_line
from scratchflow.workspace.path_names import is_of_the_account
from scratchflow.workspace.workspace import expand

_VERSION_S = 20.0
_MOST_BYTES = 100
# So far the clocks of hosts that write to one home may differ.
_SKEW_S = 60.0


def look_at_home(login: LoginHost, request: SyncLook) -> SyncSide:
    """The home as it really is, the unison that will run in it, and what of it never syncs."""
    home = os.path.realpath(login.home)
    kept_out = _kept_out(login)
    for folder in request.folders:
        _require_plain(home, folder, kept_out, login.settings.name)
    for path in request.paths:
        _require_inside(home, path, kept_out, login.settings.name)
    program, version = _unison(login, request.program)
    with room_in_home(login.settings.name):
        home_id = _home_id(Path(home))
    never = [os.path.relpath(path, home) for path in kept_out if _is_beneath(path, home)]
    return SyncSide(
        host=login.host,
        home=home,
        home_id=home_id,
        program=program,
        version=version,
        never=never,
        missing=[
            *(one for one in request.folders if not os.path.isdir(os.path.join(home, one))),
            *(one for one in request.paths if not os.path.lexists(os.path.join(home, one))),
        ],
        line_breaks=_line_breaks(home, request, never),
        again=read_notes(Path(home)),
    )


def count_files(login: LoginHost, request: SyncCount) -> FilesCounted:
    """What would go, and what there is, in this account's home."""
    return count_in(login.home, request)


def count_in(directory: Path, request: SyncCount) -> FilesCounted:
    """What is on disk: a directory of the plan counts with everything in it."""
    home = os.fsencode(os.path.realpath(directory))
    going = sum(max(1, _files_at(os.path.join(home, path))) for path in request.deleted)
    for path in request.replaced:
        place = os.path.join(home, path)
        if os.path.isdir(place) and not os.path.islink(place):
            going += _files_at(place)
    total = sum(_files_at(os.path.join(home, os.fsencode(one))) for one in request.folders)
    if not request.written:
        return FilesCounted(going=going, total=total)
    now_s = _now_s(home)
    ages = [_youngest_s(os.path.join(home, path), now_s) for path in request.written]
    # A time in the future was set by somebody: whatever is written now gets another one.
    young = {at: age for at, age in enumerate(ages) if -_SKEW_S < age <= request.within_s}
    return FilesCounted(
        going=going,
        total=total,
        just_written=sorted(young),
        youngest_s=max(0.0, min(young.values())) if young else None,
    )


def _youngest_s(place: bytes, now_s: float) -> float:
    """How long ago the last file here was written; without end when there is none."""
    times = [_written_s(place)]
    if os.path.isdir(place) and not os.path.islink(place):
        for directory, _, files in os.walk(place):
            times += [_written_s(os.path.join(directory, name)) for name in files]
    return now_s - max(times)


def _written_s(file: bytes) -> float:
    """When it was written; a directory never is."""
    with suppress(OSError):
        found = os.lstat(file)
        return found.st_mtime if stat.S_ISREG(found.st_mode) else -math.inf
    return -math.inf


def _now_s(home: bytes) -> float:
    """By the clock that gives files their times, which may be that of a file server."""
    with suppress(OSError), tempfile.TemporaryFile(dir=home) as file:
        file.write(b"now")
        file.flush()
        return os.fstat(file.fileno()).st_mtime
    return time.time()


def _files_at(place: bytes) -> int:
    """How many files and links there are; a directory is none itself."""
    if os.path.islink(place) or not os.path.isdir(place):
        return 1 if os.path.lexists(place) else 0
    count = 0
    for directory, subdirectories, files in os.walk(place):
        links = (name for name in subdirectories if os.path.islink(os.path.join(directory, name)))
        count += len(files) + sum(1 for _ in links)
    return count


def _line_breaks(home: str, request: SyncLook, never: Collection[str]) -> int:
    """How many names in the folders hold a line break, but for what is left out anyway."""
    folders = ["."] if "." in request.folders else outermost(request.folders)

    def is_synced(path: str) -> bool:
        if path in never or is_never_synced(path):
            return False
        return not any(is_left_out(path, text) for text in request.leave_out)

    count = 0
    for folder in folders:
        for directory, subdirectories, files in os.walk(os.path.join(home, folder)):
            above = os.path.relpath(directory, home)
            inside = {name: os.path.normpath(f"{above}/{name}") for name in subdirectories}
            broken = [name for name in (*subdirectories, *files) if has_line_break(name)]
            count += sum(is_synced(os.path.normpath(f"{above}/{name}")) for name in broken)
            subdirectories[:] = [
                name for name, path in inside.items() if name not in broken and is_synced(path)
            ]
    return count


def _kept_out(login: LoginHost) -> list[str]:
    """Scratch and the snapshots, as far as the account alone says where they are."""
    places = []
    for key, written in (("scratch", login.profile.scratch), ("store", login.profile.store)):
        if key == "store" or is_of_the_account(written):
            try:
                places.append(os.path.realpath(expand(written, login.environment, key=key)))
            except PathNameUnset:
                continue
    return places


def _require_plain(home: str, folder: str, kept_out: Iterable[str], profile: str) -> None:
    """A folder is a directory of the home itself, or not there yet. Links lead to scratch and other disks."""
    place = os.path.join(home, folder)
    real = os.path.realpath(place)
    where = f"in the home of profile `{profile}`"  # many login hosts are called `login`
    if real != os.path.normpath(place):
        raise SyncFolderRefused(folder=folder, reason=f"it is a link to `{real}` {where}")
    if os.path.lexists(place) and not os.path.isdir(place):
        raise SyncFolderRefused(folder=folder, reason=f"it is no directory {where}")
    _require_not_kept_out(folder, real, kept_out, where)


def _require_inside(home: str, path: str, kept_out: Iterable[str], profile: str) -> None:
    """A single path may be a link itself; one beneath a link lies elsewhere."""
    place = os.path.join(home, path)
    above = os.path.dirname(place)
    where = f"in the home of profile `{profile}`"
    if os.path.realpath(above) != above:
        raise SyncFolderRefused(folder=path, reason=f"it lies beneath a link {where}")
    _require_not_kept_out(path, place, kept_out, where)


def _require_not_kept_out(folder: str, real: str, kept_out: Iterable[str], where: str) -> None:
    for path in kept_out:
        if real == path or _is_beneath(real, path):
            reason = f"`{path}` is scratch, or holds the snapshots, {where}"
            raise SyncFolderRefused(folder=folder, reason=reason)


def _is_beneath(path: str, directory: str) -> bool:
    return path.startswith(f"{directory.rstrip('/')}/")


def _unison(login: LoginHost, wanted: str) -> tuple[str, str]:
    """Its path, and what it says of its version."""
    name = os.path.expanduser(wanted) if wanted else "unison"
    program = _on_path(name, login.environment)

    def missing(reason: str) -> UnisonMissing:
        return UnisonMissing(
            program=wanted or name, host=login.host, profile=login.settings.name, reason=reason
        )

    if not program:
        raise missing("it is not on the PATH" if "/" not in name else "there is no such program")
    try:
        done = local_run(login.environment)([program, "-version"], _VERSION_S)
    except (CommandMissing, CommandUnanswered) as error:
        raise missing(str(error)) from None
    if read_version(done.text) is None:
        raise missing(f"it does not say its version ({done.last_line})")
    return program, last_line(done.text)


def _on_path(name: str, environment: Mapping[str, str]) -> str:
    """Where the program is; a login shell may have more places than a command that ssh starts."""
    found = shutil.which(name, path=environment.get("PATH"))
    if found is None and "/" not in name:
        there = with_login_names(environment, ["PATH"], local_run(environment))
        found = shutil.which(name, path=there.get("PATH"))
    return os.path.abspath(found) if found else ""


def _home_id(home: Path) -> str:
    """Random, made once: the same on all hosts that share this home, and on no other."""
    directory = notes_directory(home)
    make_private_directories(directory)
    path = directory / "home-id"
    aside = directory / f"home-id.{secrets.token_hex(8)}"
    if not path.exists():
        try:
            aside.write_text(secrets.token_hex(16))
            os.link(aside, path)  # of two at once, one
        except FileExistsError:
            pass
        finally:
            aside.unlink(missing_ok=True)
    return path.read_text()[:_MOST_BYTES]
