"""The command line of unison."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence

import msgspec

PROFILE = "scratchflow"
"""The name of our own file of preferences, which is empty: the user's `default.prf` is for other things."""

IGNORE_LOCKS = "-ignorelocks"
"""For what a cut left behind, when it is known that no other unison works with these two homes."""

# Archives, the copies of replaced files, and what belongs to this home alone: never synced, whatever is configured.
_NEVER = (".unison", ".local/share/scratchflow", ".local/state/scratchflow")
# Options that would take the questions, or the answers to them, out of our hands; with `force` unison's plan
# does not tell what it deletes. The last line's make it do something else than to sync.
_OURS = frozenset(
    (
        *("auto", "batch", "dumbtty", "force", "forcepartial", "i", "repeat"),
        *("root", "silent", "socket", "sshcmd", "ui", "watch"),
        *("doc", "help", "prefsdocs", "selftest", "server", "testserver", "version"),
    )
)


_READ_ALL = ("-fastcheck", "false")


class Homes(msgspec.Struct, frozen=True, kw_only=True):
    """The two sides: unison runs in the first home, and knows the other by its profile's name."""

    program: str
    home: str
    other: str
    other_home: str

    @property
    def other_root(self) -> str:
        """The far root as unison writes it."""
        return f"ssh://{self.other}/{self.other_home}"


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What is synced, what is not, and what becomes of what is replaced."""

    folders: Sequence[str]
    # When there are any: of the folders, these paths alone.
    paths: Sequence[str] = ()
    leave_out: Sequence[str]
    never: Sequence[str] = ()
    keep_versions: int
    # `newer`, `older`, or the name of one of the two profiles' homes.
    prefer: str = ""
    more: Sequence[str] = ()
    # When there are any: these paths beneath the folders alone, each read in full.
    read_again: Sequence[str] = ()


def client_words(homes: Homes, rules: Rules) -> list[str]:
    """What is run in the first home, but for the program that leads to the other."""
    words = [
        *(homes.program, PROFILE, homes.home, homes.other_root),
        *("-ui", "text", "-auto", "-dumbtty", "-batch=false", "-silent=false", "-terse=false"),
        # Deletions are counted by us, file by file.
        *("-contactquietly", "-confirmbigdel=false", "-log=false", "-times"),
        *("-backup", "Name *", "-backuploc", "central", "-maxbackups", str(rules.keep_versions)),
    ]
    paths = outermost(rules.read_again or rules.paths or rules.folders)
    words += [word for path in paths for word in ("-path", path)]
    words += [word for pattern in _ignored(rules) for word in ("-ignore", pattern)]
    words += ["-prefer", rules.prefer] if rules.prefer else []
    return [*words, *rules.more, *(_READ_ALL if rules.read_again else ())]


def server_words(program: str, words: Sequence[str]) -> list[str]:
    """What is run in the other home, for the words that unison gave to what it takes for ssh."""
    start = words.index("-server")
    return [program, *words[start:]]


def refused_option(words: Sequence[str]) -> str:
    """The first option that nobody may give to unison through us; empty when there is none."""
    for word in words:
        if word.startswith("-") and word.lstrip("-").partition("=")[0] in _OURS:
            return word
    return ""


def outermost(folders: Sequence[str]) -> list[str]:
    """Without those that lie beneath another; none for the whole home."""
    if "." in folders:
        return []
    given = dict.fromkeys(folders)
    return [folder for folder in given if given.keys().isdisjoint(_above(folder))]


def _above(path: str) -> Iterator[str]:
    """Every directory that it lies beneath."""
    return (path[:place] for place, letter in enumerate(path) if letter == "/")


def is_in(path: str, folders: Sequence[str]) -> bool:
    """Whether the path is one of these folders, or lies beneath one."""
    return any(folder in {".", path} or path.startswith(f"{folder}/") for folder in folders)


def is_never_synced(path: str) -> bool:
    """Whether no configuration makes this path of a home sync."""
    return any(path == never or path.startswith(f"{never}/") for never in _NEVER)


def is_left_out(path: str, text: str) -> bool:
    """Whether this entry of `leave_out` means the path, or something above it."""
    if "/" in text:
        return fnmatch.fnmatchcase(path, text) or path.startswith(f"{text}/")
    return any(fnmatch.fnmatchcase(part, text) for part in path.split("/"))


def has_line_break(name: str) -> bool:
    """Whether the name is of two lines; see `_ignored`."""
    return "\n" in name or "\r" in name


def _ignored(rules: Rules) -> Iterator[str]:
    for path in (*_NEVER, *rules.never):
        yield f"Path {_literally(path)}"
    for text in rules.leave_out:
        yield f"Path {text}" if "/" in text else f"Name {text}"
    # Unison prints names as they are: one of two lines could look like a line of its own.
    yield "Name *\n*"
    yield "Name *\r*"


def _literally(path: str) -> str:
    """The path as a pattern that means nothing else."""
    return "".join(f"\\{letter}" if letter in "\\*?[]{}," else letter for letter in path)
