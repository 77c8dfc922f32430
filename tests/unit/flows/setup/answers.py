"""A person at the terminal who answers what a test wrote down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Answers:
    """Answers in turn; a question too many is an error. `said` is what was shown and asked."""

    def __init__(self, *answers: str | bool, can_ask: bool = True, agrees: bool = False) -> None:
        self._answers = list(answers)
        self.said: list[str] = []
        self.can_ask = can_ask
        self.agrees = agrees

    @property
    def all_given(self) -> bool:
        return not self._answers

    def tell(self, lines: Iterable[str]) -> None:
        self.said.extend(lines)

    def confirm(self, question: str, *, default: bool = True) -> bool:
        answer = self._next(question)
        return default if answer == "" else bool(answer)

    def text(self, question: str, default: str = "") -> str:
        return str(self._next(question)) or default

    def letter(self, question: str, letters: str) -> str:
        return str(self._next(question)) or letters[0]

    def choose(self, question: str, choices: Sequence[str], *, takes_text: bool = False) -> str:
        self.said.extend(choices)
        answer = str(self._next(question))
        assert takes_text or answer.isdigit() or not answer
        return choices[int(answer or 1) - 1] if answer.isdigit() or not answer else answer

    def _next(self, question: str) -> str | bool:
        assert self.can_ask, f"nobody can be asked: {question}"
        assert self._answers, f"asked too much: {question}"
        self.said.append(question)
        return self._answers.pop(0)


NOBODY = Answers(can_ask=False)
