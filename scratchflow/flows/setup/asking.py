"""Who answers the questions of a set-up: a person at the terminal, `--yes`, or nobody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from scratchflow.model.errors.base import Declined


class Asker(Protocol):
    """The seam to the terminal."""

    @property
    def can_ask(self) -> bool:
        """Whether a person sits there and wants to be asked."""

    @property
    def agrees(self) -> bool:
        """Whether everything proposed was agreed to beforehand (`--yes`)."""

    def tell(self, lines: Iterable[str]) -> None:
        """Shows text."""

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Yes or no; Enter is the default."""

    def text(self, question: str, default: str = "") -> str:
        """A line of text; Enter is the default."""

    def letter(self, question: str, letters: str) -> str:
        """One of the letters; Enter is the first."""

    def choose(self, question: str, choices: Sequence[str], *, takes_text: bool = False) -> str:
        """One of the choices by its number, or any other text where that is taken; Enter is the first."""


def require_agreement(
    asker: Asker, question: str, what: str, by_hand: str, *, default: bool = True
) -> None:
    """Raises Declined unless the answer is yes, now or beforehand."""
    if asker.agrees:
        return
    if not asker.can_ask:
        raise Declined(what=what, by_hand=by_hand)
    if not asker.confirm(question, default=default):
        raise Declined.by_answer()
