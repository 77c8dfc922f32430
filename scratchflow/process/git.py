"""Everything that knows a git command: what it tracks, and a clone."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from scratchflow.model.job import GitState
from scratchflow.process.child import ChildTimedOut, end_child, run_child, start_child

LIST_S = 300.0
STATE_S = 60.0
# Nobody is there to type a password or to agree to a host key.
_UNATTENDED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "LC_ALL": "C",
}
_STEP = re.compile(rb"([A-Z][a-z]+(?: [a-z]+)*): +[0-9]+% \(([0-9]+)/([0-9]+)\)")
_KEPT_BYTES = 8192

# Other users of a machine can read a command line, but not the environment.
_WITH_PASSWORD = re.compile(r"(https?://)([^/]*?):([^/]*)@(.*)", re.DOTALL)
_USER, _PASSWORD = "SCRATCHFLOW_GIT_USER", "SCRATCHFLOW_GIT_PASSWORD"
_HELPER = (
    '!tell() { test "$1" != get || printf "username=%s\\npassword=%s\\n"'
    f' "${_USER}" "${_PASSWORD}"; }}; tell'
)

OnStep = Callable[[str, int, int], None]  # (what git does, so many, of so many)


class GitFailed(Exception):
    """Git's own words, or why it could not be asked."""


class GitMissing(GitFailed):
    """There is no git on the PATH."""


def tracked_files(directory: Path, environment: Mapping[str, str]) -> list[bytes]:
    """The paths in a directory that git tracks, those of submodules included."""
    listing = ["ls-files", "-z", "--cached", "--recurse-submodules"]
    argv = [_git(environment), "-C", str(directory), *listing]
    try:
        done = run_child(
            [os.fsencode(word) for word in argv],
            timeout_s=LIST_S,
            environment={**_without_repository(environment), "LC_ALL": "C"},
        )
    except OSError as error:
        raise GitFailed(f"`git` cannot be started: {error.strerror}") from None
    if done.returncode:
        raise GitFailed(_words(done.stderr) or f"git ended with exit code {done.returncode}")
    return [path for path in done.stdout.split(b"\0") if path]


def clone(url: str, target: Path, environment: Mapping[str, str], on_step: OnStep) -> None:
    """Clones into a directory that is not there yet. A password in the URL is not kept there."""
    plain, options, secret = _apart(url)
    words = [*options, "clone", "--progress", "--", plain, str(target)]
    _run(words, {**environment, **secret}, on_step)


def require_repository(url: str, environment: Mapping[str, str]) -> None:
    """GitFailed when there is no such repository, or none that may be read."""
    plain, options, secret = _apart(url)
    words = [*options, "ls-remote", "--quiet", "--", plain, "HEAD"]
    _run(words, {**environment, **secret}, lambda *_: None)


def _apart(url: str) -> tuple[str, list[str], dict[str, str]]:
    """The URL without name and password, git's options that ask for them, and the variables that hold them."""
    found = _WITH_PASSWORD.fullmatch(url)
    if not found:
        return url, [], {}
    scheme, user, password, rest = found.groups()
    secret = {_USER: unquote(user), _PASSWORD: unquote(password)}
    if any(sign in value for value in secret.values() for sign in "\n\r\0"):
        raise GitFailed("there is a line break in the name or password of the URL")
    return scheme + rest, ["-c", f"credential.helper={_HELPER}"], secret


def state_of(directory: Path, environment: Mapping[str, str]) -> GitState | None:
    """The commit, the branch, whether tracked files differ from it and others are there; None where git knows no commit."""
    environment = {**_without_repository(environment), **_UNATTENDED, "GIT_OPTIONAL_LOCKS": "0"}

    def ask(*words: str) -> str | None:
        argv = [_git(environment), "-C", str(directory), *words]
        try:
            raw = [os.fsencode(word) for word in argv]
            done = run_child(raw, timeout_s=STATE_S, environment=environment)
        except (OSError, ChildTimedOut):
            return None
        return done.text.strip() if done.returncode == 0 else None

    try:
        commit = ask("rev-parse", "--verify", "HEAD")
        if not commit:
            return None
        branch = ask("symbolic-ref", "--quiet", "--short", "HEAD") or ""
        changes = ask("status", "--porcelain", "--untracked-files=no")
        others = ask("ls-files", "--others", "--exclude-standard", "--directory")
    except GitMissing:
        return None
    dirty = None if changes is None else bool(changes)
    untracked = None if others is None else bool(others)
    return GitState(commit=commit, branch=branch, dirty=dirty, untracked=untracked)


def _run(arguments: list[str], environment: Mapping[str, str], on_step: OnStep) -> None:
    # A URL like `ext::COMMAND` would run a command.
    plain = _without_repository(environment)
    given = {**plain, **_UNATTENDED, "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}
    if environment.get("GIT_SSH_COMMAND"):
        given["GIT_SSH_COMMAND"] = environment["GIT_SSH_COMMAND"]
    try:
        words = [os.fsencode(word) for word in [_git(environment), *arguments]]
        process = start_child(words, given, has_stdin=False)
    except OSError as error:
        raise GitFailed(f"`git` cannot be started: {error.strerror}") from None
    said = b""
    try:
        if process.stdout and process.stderr:
            for line in _lines(process.stderr.fileno()):
                if step := _STEP.search(line):
                    on_step(step[1].decode(), int(step[2]), int(step[3]))
                else:
                    said = (said + line + b"\n")[-_KEPT_BYTES:]
        code = process.wait()
    finally:
        end_child(process)
    if code < 0:
        raise GitFailed(f"git was ended by {signal.Signals(-code).name}")
    if code:
        raise GitFailed(_words(said) or f"git ended with exit code {code}")


def _lines(descriptor: int) -> Iterator[bytes]:
    """What git says; it ends the lines of its progress with a carriage return."""
    rest = b""
    while piece := os.read(descriptor, 8192):
        *whole, rest = re.split(rb"[\r\n]", (rest + piece)[-_KEPT_BYTES:])
        yield from whole
    yield rest


def _without_repository(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what would make git look at another repository, as a hook of git finds it set."""
    named = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}
    return {name: value for name, value in environment.items() if name not in named}


def _git(environment: Mapping[str, str]) -> str:
    found = shutil.which("git", path=environment.get("PATH"))
    if found is None:
        raise GitMissing("there is no `git` on the PATH")
    return found


def _words(said: bytes) -> str:
    """What went wrong, without the advice that follows it."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line]
    marked = [
        line for line in lines if line.startswith(("fatal: ", "error: ", "ERROR: ", "remote: "))
    ]
    ssh = [line for line in lines if "ermission denied" in line or "ost key" in line]
    chosen = dict.fromkeys([*ssh[:1], *(marked or lines[-1:])])
    return "; ".join(list(chosen)[:3])
