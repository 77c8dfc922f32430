"""Several lines of bash as one, where that means the same."""

from __future__ import annotations

import re
import shlex

# Words that open or close something which goes on over several lines.
_OPEN_WORDS = re.compile(
    r"(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|\{|\})\b|[{}()]"
)
_OPEN_ENDS = ("\\", "&&", "||", "|", "(", "{", "&", ";;")


def one_line(text: str) -> str | None:
    """The lines with `&&` between, so that the first failure ends them; None when they are more than simple commands.

    Empty lines and comments are left out. A line that is alone stays as it is.
    """
    stripped = [line.strip() for line in text.splitlines()]
    lines = [line for line in stripped if line and not line.startswith("#")]
    if len(lines) == 1 and len(stripped) == 1:
        return lines[0]
    if not lines or not all(_is_simple(line) for line in lines):
        return None
    return " && ".join(line.rstrip(";").rstrip() for line in lines)


def _is_simple(line: str) -> bool:
    """Whether the line is whole: nothing in it is open at its end, and nothing of before ends in it."""
    if _OPEN_WORDS.match(line) or line.endswith(_OPEN_ENDS) or "<<" in line or " #" in line:
        return False
    if ";" in line.rstrip(";") or "||" in line:  # `a; b && c` binds otherwise than two lines do
        return False
    try:
        shlex.split(line)
    except ValueError:
        return False
    return True
