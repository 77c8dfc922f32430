"""Puts an agent in its place on this host: whole, tried out, and only then under its name.

Runs with a bare Python before the package is here, so it imports nothing but Python's own.
Killed at any line, it leaves what was there before; the next run clears its traces away.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tarfile
import time

MARK = "scratchflow-unpack"
# In a part that nobody has agreed to yet: `end_trial.sh` removes it.
ON_TRIAL = "on-trial"
_ABANDONED_AFTER_S = 3600
_TRY_OUT_TIMEOUT_S = 120
# Imports everything once, then says its version, all in one process: starting one is slow there.
_TRY = """
import runpy, sys
run, lib, *modules = sys.argv[1:]
sys.path.insert(0, lib)
for module in modules:
    __import__(module)
sys.argv[:] = [run, "--version", "--json"]
runpy.run_path(run, run_name="__main__")
"""


class Refused(Exception):
    """Why the agent is not put in place."""


def main(words: list[str]) -> int:
    """Prints the outcome as one line of JSON."""
    options = _options(words)
    os.umask(0o077)
    try:
        answer = check(options) if options.check else install(options)
    except Refused as error:
        answer = {"error": str(error)}
    except OSError as error:
        answer = {"error": f"{error.filename or options.base}: {error.strerror}"}
        answer["full"] = error.errno in {errno.ENOSPC, errno.EDQUOT}
    sys.stdout.write(f"\n{MARK}\t{json.dumps(answer)}\n")
    return 1 if "error" in answer else 0


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="only say whether it is there")
    parser.add_argument("--on-trial", action="store_true", help="not for good yet")
    parser.add_argument("--base", default=os.path.expanduser("~/.local/share/scratchflow/agent"))
    parser.add_argument("--name", required=True)
    parser.add_argument("--tag", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--library-path", default="")
    parser.add_argument("--modules", nargs="*", default=[], help="imported to try it out")
    parser.add_argument("--start-bytes", type=int, default=0)
    parser.add_argument("--run-bytes", type=int, default=0)
    parser.add_argument("--archive-bytes", type=int, default=0)
    parser.add_argument("--sha256", default="")
    parser.add_argument("--keep-unused-s", type=float, default=0)
    options = parser.parse_args(words)
    if not re.fullmatch(r"[0-9][0-9A-Za-z.+-]*", options.name):
        parser.error("--name")
    if not re.fullmatch(r"cp[0-9]+-[0-9A-Za-z_]+", options.tag):
        parser.error("--tag")
    options.home = os.path.join(options.base, options.name)
    options.part = os.path.join(options.home, options.tag)
    return options


def check(options: argparse.Namespace) -> dict[str, object]:
    """Whether this very agent is here and runs; if so, it stays and becomes the current one."""
    _sweep(options.base)
    if _try_out(options, options.part):
        return {"state": "absent"}
    _add_python(options, options.part)
    if _try_start(options):
        return {"state": "absent"}
    if options.on_trial:
        return {"state": "present", "path": options.home}
    previous = _make_current(options)
    mark = os.path.join(options.part, ON_TRIAL)
    if not os.path.exists(mark):
        return {"state": "present", "path": options.home}
    with contextlib.suppress(FileNotFoundError):  # another laptop was faster
        os.unlink(mark)
    removed = _remove_old(options, {options.name, previous})
    return {"state": "present", "path": options.home, "removed": removed}


def install(options: argparse.Namespace) -> dict[str, object]:
    """Unpacks, tries out, renames, switches, cleans up: in this order."""
    start = _read_input(options.start_bytes)
    run = _read_input(options.run_bytes)
    archive = _read_input(options.archive_bytes)
    if hashlib.sha256(start + run + archive).hexdigest() != options.sha256:
        raise Refused("what arrived is not what was sent")
    os.makedirs(options.home, exist_ok=True)
    _sweep(options.base)
    temp = _temp_name(options.base)
    try:
        _unpack(archive, os.path.join(temp, "lib"))
        _write(os.path.join(temp, "run.py"), run)
        _add_python(options, temp)
        if options.on_trial:
            _write(os.path.join(temp, ON_TRIAL), b"")
        _flush(temp)
        problem = _try_out(options, temp)
        if problem:
            raise Refused(f"it does not run here: {problem}")
        _put_in_place(options, temp)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    _replace(os.path.join(options.home, "start"), start)
    if _try_start(options):
        _remove_other_parts(options)
    if options.on_trial:
        return {"state": "installed", "path": options.home}
    previous = _make_current(options)
    removed = _remove_old(options, {options.name, previous})
    return {"state": "installed", "path": options.home, "removed": removed}


def _read_input(size: int) -> bytes:
    content = sys.stdin.buffer.read(size)
    if len(content) < size:
        raise Refused("the connection broke while it was sent")
    return content


def _unpack(archive: bytes, folder: str) -> None:
    """Plain files below the folder; anything else is not from us."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as members:
        for member in members:
            parts = member.name.split("/")
            content = members.extractfile(member) if member.isreg() else None
            if content is None or any(part in {"", ".", ".."} for part in parts):
                raise Refused(f"an unexpected member: {member.name}")
            path = os.path.join(folder, *parts)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _write(path, content.read())


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _replace(path: str, content: bytes) -> None:
    """Readers see the old file or the new one."""
    temp = _temp_name(os.path.dirname(path))
    _write(temp, content)
    os.replace(temp, path)


def _flush(folder: str) -> None:
    """All of it to disk in one go; a thousand single fsyncs would take a network home minutes."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        import ctypes

        ctypes.CDLL(None).syncfs(descriptor)
    except (ImportError, OSError, AttributeError):  # a Python without ctypes, a libc without it
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _try_out(options: argparse.Namespace, part: str) -> str:
    """Why the agent does not run with this Python; empty when it does."""
    run, lib = (os.path.join(part, name) for name in ("run.py", "lib"))
    environment = dict(os.environ)
    if options.library_path:
        environment["LD_LIBRARY_PATH"] = options.library_path
    argv = [options.python, "-I", "-S", "-c", _TRY, run, lib, *options.modules]
    return _complaint(argv, environment)


def _try_start(options: argparse.Namespace) -> str:
    """Why the agent does not run as a laptop starts it; empty when it does."""
    start = os.path.join(options.home, "start")
    return _complaint(["sh", start, "--version", "--json"], dict(os.environ))


def _complaint(argv: list[str], environment: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRY_OUT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0 and b'"summary"' in done.stdout:
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"


def _remove_other_parts(options: argparse.Namespace) -> None:
    """`start` took another part, which does not run: a trap, until somebody brings it anew."""
    machine = options.tag.partition("-")[2]
    for entry in _entries(options.home):
        if entry.name.endswith(f"-{machine}") and entry.path != options.part:
            _remove_at_once(options.base, entry.path)


def _remove_at_once(base: str, path: str) -> None:
    """Gone in one moment, though removing all of it takes a while."""
    aside = _temp_name(base)
    os.rename(path, aside)
    shutil.rmtree(aside, ignore_errors=True)


def _put_in_place(options: argparse.Namespace, temp: str) -> None:
    """One that somebody else put there meanwhile stays if it runs; one that does not makes way."""
    try:
        os.rename(temp, options.part)
    except OSError as error:
        if error.errno not in {errno.EEXIST, errno.ENOTEMPTY}:
            raise
        if not _try_out(options, options.part):
            _add_python(options, options.part)
            return
        _remove_at_once(options.base, options.part)
        os.rename(temp, options.part)


def _add_python(options: argparse.Namespace, part: str) -> None:
    """Names this Python as one that starts the part; other hosts may have it elsewhere."""
    path = os.path.join(part, "python")
    line = f"{options.python}\t{options.library_path}"
    known = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            known = file.read().splitlines()
    if line not in known:
        lines = [line, *known]
        _replace(path, "".join(f"{one}\n" for one in lines).encode("utf-8", "surrogateescape"))


def _make_current(options: argparse.Namespace) -> str:
    """Points `current`, which people on the cluster use, at this agent; returns the one before."""
    link = os.path.join(options.base, "current")
    try:
        before = os.readlink(link)
    except OSError:
        before = ""
    if before != options.name:
        temp = _temp_name(options.base)
        os.symlink(options.name, temp)
        os.replace(temp, link)
    return before


def _remove_old(options: argparse.Namespace, kept: set[str]) -> list[str]:
    """Agents that nobody has started for long: another laptop's, or a running one's, stays."""
    removed = []
    for entry in _entries(options.base):
        is_agent = entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
        if not is_agent or entry.name in kept:
            continue
        if time.time() - entry.stat().st_mtime < options.keep_unused_s:
            continue
        _remove_at_once(options.base, entry.path)
        removed.append(entry.name)
    return sorted(removed)


def _temp_name(folder: str) -> str:
    return os.path.join(folder, f".tmp-{_host()}-{os.getpid()}-{secrets.token_hex(6)}")


def _sweep(base: str) -> None:
    """Removes what killed runs left: of dead processes of this host, or old ones of others."""
    agents = [entry.path for entry in _entries(base) if entry.is_dir(follow_symlinks=False)]
    parts = [entry.path for agent in agents for entry in _entries(agent)]
    for folder in [base, *agents, *parts]:
        for entry in _entries(folder):
            match = re.fullmatch(r"\.tmp-([0-9A-Za-z]*)-([0-9]+)-[0-9a-f]+", entry.name)
            if match and _is_abandoned(entry, is_ours=match[1] == _host(), pid=int(match[2])):
                _remove(entry)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in the folder; nothing, if it is none or another run just removed it."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
        return
    with contextlib.suppress(FileNotFoundError):  # another run was faster
        os.unlink(entry.path)


def _host() -> str:
    return re.sub(r"[^0-9A-Za-z]", "", socket.gethostname())


def _is_abandoned(entry: os.DirEntry[str], *, is_ours: bool, pid: int) -> bool:
    try:
        if is_ours:
            os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_AFTER_S
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
