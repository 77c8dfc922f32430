"""The one edit of the user's ssh config: three marked lines at its top, put in and taken out.

Planning reads and computes; applying writes. The caller shows the plan's diff and asks between
the two. Everything works on bytes: whatever the rest of the file holds stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.model.text import printable
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.user_file import UserFile, read_user_file, swap

BEGIN = b"# >>> scratchflow >>>"
END = b"# <<< scratchflow <<<"
# Short: in a diff on a terminal of 80 columns they stay on one line.
_ABOUT = b" `scratchflow setup --remove` removes these lines"
_ABOUT_OUR_FILE = b" `scratchflow setup --remove` removes it"
# Kept in the file itself: whoever takes the block out has to know whether to leave an empty file.
_MADE_BY_US = b" made this file;"
_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
ATTEMPTS = 5
_TO_THE_TOP = "move scratchflow's three lines to its very top by hand"


class Plan(msgspec.Struct, frozen=True):
    """What would become of the user's config. `None` is: no file."""

    places: SshPaths
    user_file: UserFile
    after: bytes | None
    again: Callable[[SshPaths], Plan]

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.after != self.user_file.content

    @property
    def diff(self) -> str:
        """The change as a unified diff, safe to print; empty when there is none."""
        import difflib  # only ever needed to show a change

        name = printable(self.places.config)
        return "\n".join(
            difflib.unified_diff(
                _shown_lines(self.user_file.content),
                _shown_lines(self.after),
                name,
                name,
                lineterm="",
            )
        )


class _Block(msgspec.Struct, frozen=True):
    start: int
    end: int
    made_by_us: bool
    include: bytes


def plan_install(places: SshPaths) -> Plan:
    """The config with our block at its top; nothing to do when it is there and takes effect."""
    user_file = read_user_file(places)
    user_file.require_safe_mode()
    before = user_file.content or b""
    block = _find_block(before, user_file)
    include = places.include_line.encode("utf-8", "surrogateescape")
    if block and _is_first(block, before, include):
        return Plan(places, user_file, before, plan_install)
    made_by_us = block.made_by_us if block else user_file.content is None
    rest = _without(before, block)
    bom = _BOM if rest.startswith(_BOM) else b""
    ours = _block_text(include, _line_end(rest), made_by_us=made_by_us)
    user_file.require_writable(_TO_THE_TOP if block else "")
    return Plan(places, user_file, bom + ours + rest.removeprefix(bom), plan_install)


def plan_remove(places: SshPaths) -> Plan:
    """The config without our block; no file at all when we made it and nothing else is in it."""
    user_file = read_user_file(places)
    before = user_file.content or b""
    block = _find_block(before, user_file)
    if block is None:
        return Plan(places, user_file, user_file.content, plan_remove)
    user_file.require_writable()
    rest = _without(before, block)
    gone = block.made_by_us and not rest
    return Plan(places, user_file, None if gone else rest, plan_remove)


def apply(plan: Plan) -> Plan:
    """Carries the plan out and returns what was done.

    A file that changed since is read and planned anew, at most 5 times: only our block differs,
    which is what was asked for. Two scratchflows exclude each other with a lock. An editor that
    saves in the microseconds between our last look and our rename loses that save; no portable
    call closes this gap.
    """
    for _ in range(ATTEMPTS):
        with plan.user_file.alone():
            plan = plan.again(plan.places)
            if not plan.changes or swap(plan.user_file, plan.after):
                return plan
    raise plan.user_file.refusal("something else keeps changing it", "close what writes to it")


def is_installed(places: SshPaths) -> bool:
    """Whether the config has our block and it takes effect; refusals pass through."""
    return not plan_install(places).changes


def comes_first(places: SshPaths) -> bool:
    """Whether our block is whole and above every setting, so that nothing else in the config can win over it."""
    try:
        user_file = read_user_file(places)
        block = _find_block(user_file.content or b"", user_file)
    except SshConfigRefused:
        return False
    include = places.include_line.encode("utf-8", "surrogateescape")
    return block is not None and _is_first(block, user_file.content or b"", include)


def _find_block(content: bytes, user_file: UserFile) -> _Block | None:
    """Our block, where it is; anything but none or one whole block is refused."""
    begins: list[tuple[int, bytes]] = []
    ends: list[int] = []
    for match in _LINE.finditer(content, len(_BOM) if content.startswith(_BOM) else 0):
        line = match.group().lstrip()
        if line.startswith(BEGIN):
            begins.append((match.start(), line))
        elif line.startswith(END):
            ends.append(match.end())
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0][0] > ends[0]:
        raise user_file.refusal(
            "scratchflow's marks in it do not pair up",
            f"take out the lines from `{BEGIN.decode()}` to `{END.decode()}` by hand",
        )
    (start, begin), end = begins[0], ends[0]
    lines = _LINE.findall(content[start:end])
    include = lines[1].strip()
    if len(lines) != 3 or not re.fullmatch(rb'Include ".*scratchflow\.d/\*\.conf"', include):
        raise user_file.refusal(
            "the lines between scratchflow's marks were changed by hand",
            f"move what is yours out from between `{BEGIN.decode()}` and `{END.decode()}`",
        )
    return _Block(start, end, _MADE_BY_US in begin, include)


def _is_first(block: _Block, content: bytes, include: bytes) -> bool:
    return block.include == include and _only_comments(content[: block.start])


def _without(content: bytes, block: _Block | None) -> bytes:
    return content[: block.start] + content[block.end :] if block else content


def _only_comments(head: bytes) -> bool:
    """Whether these lines set nothing: the first value wins in ssh, and `Host` opens a scope."""
    lines = head.removeprefix(_BOM).splitlines()
    return all(not line.strip() or line.lstrip().startswith(b"#") for line in lines)


def _block_text(include: bytes, line_end: bytes, *, made_by_us: bool) -> bytes:
    begin = BEGIN + (_MADE_BY_US + _ABOUT_OUR_FILE if made_by_us else _ABOUT)
    return b"".join(line + line_end for line in (begin, include, END))


def _line_end(content: bytes) -> bytes:
    first = _LINE.match(content)
    return b"\r\n" if first and first.group().endswith(b"\r\n") else b"\n"


def _shown_lines(content: bytes | None) -> list[str]:
    if not content:
        return []
    text = content.decode("utf-8", "surrogateescape").removesuffix("\n")
    return [printable(line.removesuffix("\r")) for line in text.split("\n")]
