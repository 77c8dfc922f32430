"""The one error for bytes that are not what they should be; readers turn it into the user's."""

from __future__ import annotations


class Malformed(ValueError):
    """Damaged or hostile input. The message says what is wrong, without naming the archive."""


class NewerFormat(Malformed):
    """A newer scratchflow wrote it, and nothing is known to be wrong with it."""
