"""What `create` takes for packages: words for the tool, and files whose name says what they are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.transfer import RequirementsUnread
from scratchflow.model.requests import RequirementsKind

PROJECT, LOCK = "pyproject.toml", "uv.lock"
# Both files travel in one request, which may have 1 MiB.
_MOST_BYTES = {LOCK: 640 * 1024}
_MOST_OTHER_BYTES = 256 * 1024

_HAS_OPTION = re.compile(r"(^|\s)-")
# The environment is where we make it.
_ELSEWHERE = {"-n", "--name", "-p", "--prefix", "-t", "--target", "--root", "--user", "--system"}


class Requirements(msgspec.Struct, frozen=True):
    """A file with packages: its content, and that of the lock beside it."""

    content: str = ""
    kind: RequirementsKind = "list"
    lock: str = ""


def package_words(values: Sequence[str], command: str) -> tuple[str, ...]:
    """Each value is one package, `numpy >=2` too; one with an option in it is split as a shell does."""
    words = tuple(word for value in values for word in _split(value, command))
    for word in words:
        if "\n" in word or not word:
            raise UsageInvalid(problem=f"`{word}` is not a package", command=command)
        if word.partition("=")[0] in _ELSEWHERE:
            problem = f"`--packages`: `{word}` would install elsewhere than in `$scratch/env`"
            raise UsageInvalid(problem=problem, command=command)
    return words


def _split(value: str, command: str) -> Iterator[str]:
    if not _HAS_OPTION.search(value):
        yield value
        return
    try:
        yield from shlex.split(value)
    except ValueError as error:
        problem = f"`--packages`: cannot read `{value}` ({error})"
        raise UsageInvalid(problem=problem, command=command) from None


def read_requirements(path: str, env: str, python: str, command: str) -> Requirements:
    """The file of this machine; what it is called says which tool reads it."""
    kind = _kind(Path(path).name)
    needed = {"conda": "conda", "project": "venv"}.get(kind, env)
    if env != needed:
        raise UsageInvalid(problem=f"`{path}` needs `--env {needed}`", command=command)
    if kind == "conda" and python:
        problem = f"`{path}` says which Python; leave `--python` out"
        raise UsageInvalid(problem=problem, command=command)
    if kind != "project":
        return Requirements(_content(Path(path)), kind)
    lock = Path(path).with_name(LOCK)
    is_locked = Path(path).name == LOCK or lock.exists()
    locked = _content(lock) if is_locked else ""
    return Requirements(_content(Path(path).with_name(PROJECT)), kind, locked)


def _kind(name: str) -> RequirementsKind:
    if name.endswith((".yml", ".yaml")):
        return "conda"
    return "project" if name in {PROJECT, LOCK} else "list"


def _content(path: Path) -> str:
    """The file is this machine's; its content travels."""
    most = _MOST_BYTES.get(path.name, _MOST_OTHER_BYTES)
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
        if len(content) > most:
            raise RequirementsUnread(path=path, reason="it is too large for a list of packages")
        return content.decode("utf-8")
    except OSError as error:
        raise RequirementsUnread(path=path, reason=error.strerror) from None
    except UnicodeDecodeError:
        raise RequirementsUnread(path=path, reason="it is not text") from None
