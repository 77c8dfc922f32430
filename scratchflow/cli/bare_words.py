"""What was probably meant by words that a verb does not take, as the line that is to be typed instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from scratchflow.model.source import LAPTOP, is_git_url

_EXTRA = re.compile(r"unexpected extra argument(?:s|\(s\))? \((.*)\)$", re.DOTALL)
_NUMBERED = re.compile(r"[\w.-]*\d", re.ASCII)


def meant_by(problem: str, verb: str, arguments: Sequence[str], home: str) -> str:
    """The end of the sentence about words too many, with the right line; empty where none is known."""
    found = _EXTRA.search(problem)
    place = _place(found[1], arguments) if found else None
    if place is None or any("`" in word for word in arguments):
        return ""  # between backticks nobody could tell where the command ends
    words = list(arguments[place])

    def line(*instead: str) -> str:
        typed = [*arguments[: place.start], *instead, *arguments[place.stop :]]
        return f"`scratchflow {' '.join(map(quoted, typed))}`"

    if verb == "backup":
        return f"; did you mean {line('-m', ' '.join(words))}?"
    if verb == "create" and len(words) == 1:
        return f"; did you mean {line('--from', on_this_machine(words[0], home))}?"
    if verb == "restore":
        paths = [one for word in words for one in ("--path", word)]
        return f"; did you mean {line(*paths)}?"
    if verb in {"hop", "allocate"} and len(words) == 1:
        there = f"; did you mean {line('--node', words[0])}?"
        is_node = verb == "allocate" or _NUMBERED.fullmatch(words[0])
        return there if is_node else f"{there} To another cluster: {line('--to', words[0])}"
    return ""


def _place(joined: str, arguments: Sequence[str]) -> slice | None:
    """Where these words stand on the line, one after the other; the last place is after the verb."""
    for start in reversed(range(len(arguments))):
        for stop in range(start + 1, len(arguments) + 1):
            if " ".join(arguments[start:stop]) == joined:
                return slice(start, stop)
    return None


def on_this_machine(word: str, home: str) -> str:
    """A git URL as it is; else a directory of this machine, whose shell has put the home in place of `~`."""
    if is_git_url(word) or word.startswith(LAPTOP):
        return word
    top = f"{home.rstrip('/')}/"
    return f"{LAPTOP}~/{word[len(top) :]}" if home and word.startswith(top) else f"{LAPTOP}{word}"


def quoted(word: str) -> str:
    """One word for the shell; a `~` in the middle of it is left to us, and needs no quotes."""
    return word if re.fullmatch(r"laptop:[\w@%+=:,./~-]+", word, re.ASCII) else shlex.quote(word)
