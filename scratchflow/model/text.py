"""Foreign text made safe to show, and guesses at what a mistyped word meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# Of what a tool said, as an error quotes it.
_MOST_LINES = 8
_MOST_CHARACTERS = 600


def printable(text: object) -> str:
    r"""The text on one line, with control characters and non-UTF-8 bytes as escapes.

    File names, node names and Slurm's words may hold newlines or terminal escape sequences;
    shown raw they could forge a line of ours or drive the user's terminal. A backslash stays
    a backslash, so the result is for reading, not for parsing back.
    """
    return "".join(_shown(character) for character in str(text))


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable():
        return character
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8 (surrogateescape)
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def shown_path(path: str | None, path_b64: str | None) -> str:
    """The path of an event or result for reading, whichever of its two fields carries it."""
    if path_b64 is None:
        return printable(path or "")
    import base64

    return printable(base64.b64decode(path_b64).decode("utf-8", "surrogateescape"))


def last_line(said: bytes | str) -> str:
    """The last line that says something, for an error message; the end of it if it is long."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    lines = text.replace("\r", "\n").split("\n")  # ssh ends its lines with both
    return next((line.strip()[-300:] for line in reversed(lines) if line.strip()), "")


def few_lines(said: str) -> str:
    """What a tool said, on one line. Some have the reason in their first line, others in the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if len(lines) > _MOST_LINES:
        half = _MOST_LINES // 2
        lines = [*lines[:half], "…", *lines[-half:]]
    text = " | ".join(lines)
    half = _MOST_CHARACTERS // 2
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:half]}…{text[-half:]}"


def counted(count: int, thing: str) -> str:
    """`1 file`, `30,000 files`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def removed_in_words(snapshots: Sequence[str]) -> str:
    """One line about old snapshots that were removed by the rules."""
    return (
        f"removed {counted(len(snapshots), 'old snapshot')} that no rule keeps; "
        "`scratchflow snapshots list` shows what is left"
    )


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that a mistyped one most likely meant, if any comes near."""
    import difflib  # only ever needed on the way to an error

    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def shortened(text: str, width: int) -> str:
    """At most that wide, with `…` for what is left out; a closing quote stays."""
    if cells(text) <= width:
        return text
    end = '…"' if text.startswith('"') and text.endswith('"') else "…"
    kept = ""
    for character in text:
        if cells(kept + character + end) > width:
            break
        kept += character
    return kept.rstrip() + end


def cells(text: str) -> int:
    """How many columns a terminal needs for it."""
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    from unicodedata import combining, east_asian_width

    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def what_brings(
    command: str, profile: str, *, is_there: bool, has_node: bool, fork: str = ""
) -> str:
    """How a workspace of another node comes back: that of another `profile` by a command of that one.

    `fork` is its snapshot when that is not its newest work.
    """
    if not profile:
        return f"`{command}` brings it"
    if is_there:
        return f"profile `{profile}` still works in it there"
    if fork:
        return f"`scratchflow -p {profile} restore {fork}` brings it to a node of that profile"
    return f"`scratchflow -p {profile} {'restore' if has_node else 'up'}` brings it"


def restore_command(workspace: str, store: str = "") -> str:
    """What brings a workspace that is not the profile's own; `store` when its snapshots are not in the profile's."""
    from shlex import quote

    there = f" --set {quote(f'store={store}')}" if store else ""
    return f"scratchflow{there} --set workspace={quote(workspace)} restore"
