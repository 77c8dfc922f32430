"""Names whose values are nobody else's business: they go into no record, no script and no profile."""

from __future__ import annotations

import re

MASK = "***"

_SECRET_NAME = re.compile(r"(?i)pass|token|secret|key|credential")


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name most likely holds a secret."""
    return bool(_SECRET_NAME.search(name))
