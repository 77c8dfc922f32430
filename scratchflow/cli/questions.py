"""Questions on the terminal. Enter is always an answer; the end of the input is a no."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence

from scratchflow.model.errors.base import Declined
from scratchflow.model.events import Emit
from scratchflow.model.text import printable
from scratchflow.model.wrap import broken
from scratchflow.report.output import Remarks
from scratchflow.report.question import question_open

_LETTER_OF_WORD = re.compile(r"\[(\w)\](\w*)")


def confirmed(emit: Emit, question: str) -> bool:
    """Asks for a yes or a no; Enter and the end of the input are a no."""
    try:
        return TerminalAsker(emit, may_ask=True, yes=False).confirm(question, default=False)
    except Declined:
        return False


def agreed(asker: TerminalAsker, question: str) -> bool:
    """Whether `--yes` was given or is the answer now; False where nobody can be asked. A no ends the command."""
    if asker.agrees or not asker.can_ask:
        return asker.agrees
    if not asker.confirm(question, default=False):
        raise Declined.by_answer()
    return True


def where_somebody_is(emit: Emit, may_ask: bool, *, yes: bool) -> Callable[[str], bool]:
    """Asks a question, for what goes on without an answer where nobody can be asked."""
    asker = TerminalAsker(emit, may_ask=may_ask, yes=yes)
    return lambda question: not asker.can_ask or asker.confirm(question, default=False)


class TerminalAsker:
    """Asks on standard error and reads standard input; the seam is `flows.setup.asking.Asker`."""

    def __init__(self, emit: Emit, *, may_ask: bool, yes: bool) -> None:
        self._emit = emit
        self._yes = yes
        self._may_ask = may_ask

    @property
    def can_ask(self) -> bool:
        """Only with a person at both ends, and without `--yes`."""
        return not self._yes and self._may_ask and sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def agrees(self) -> bool:
        """Whether `--yes` was given."""
        return self._yes

    def tell(self, lines: Iterable[str]) -> None:
        """Text that belongs to a question: shown where the question will be."""
        with question_open(self._emit):
            Remarks().write("".join(f"{line}\n" for line in lines))

    def confirm(self, question: str, *, default: bool = True) -> bool:
        """Asks until the answer is a yes or a no."""
        answers = {"": default, "y": True, "yes": True, "n": False, "no": False}
        while True:
            answer = self._read(f"{question} [{'Y/n' if default else 'y/N'}]: ").lower()
            if answer in answers:
                return answers[answer]
            self.tell(["answer `y` or `n`"])

    def text(self, question: str, default: str = "") -> str:
        """One line."""
        shown = f" [{printable(default)}]" if default else ""
        return self._read(f"{question}{shown}: ") or default

    def letter(self, question: str, letters: str) -> str:
        """Asks until the answer is one of the letters, or a word that the question shows with it, as `[n]o`."""
        words = {f"{letter}{rest}".lower() for letter, rest in _LETTER_OF_WORD.findall(question)}
        while True:
            answer = self._read(f"{question}: ").lower() or letters[0]
            if answer in {*letters, *words} and answer[0] in letters:
                return answer[0]
            self.tell([f"answer {_either(letters)}; Enter is `{letters[0]}`"])

    def choose(self, question: str, choices: Sequence[str], *, takes_text: bool = False) -> str:
        """Numbers the choices, and asks until the answer is one of the numbers, or text where that is taken."""
        self.tell(f"  {number}  {printable(one)}" for number, one in enumerate(choices, start=1))
        numbers = {str(number): one for number, one in enumerate(choices, start=1)}
        while True:
            answer = self._read(f"{question} [1]: ") or "1"
            if answer in numbers:
                return numbers[answer]
            if takes_text and not answer.isdigit():
                return answer
            self.tell([f"`{printable(answer)}` is none of these; type {_either(list(numbers))}"])

    def _read(self, prompt: str) -> str:
        line = ""
        with question_open(self._emit):
            lines = broken(prompt.rstrip(), shutil.get_terminal_size().columns - 1)
            Remarks().write("\n".join(lines) + " ")  # the answer stands apart, also after a break
            try:
                # Bytes: whatever a keyboard sends is an answer, if only a wrong one.
                line = sys.stdin.buffer.readline().decode("utf-8", "replace")
            except OSError:  # the terminal was closed: the end of the input
                line = ""
            finally:
                if not line:  # the end of the input, or Ctrl-C: what follows gets a line of its own
                    Remarks().write("\n")
        if not line:
            raise Declined.by_answer()
        return line.strip()


def _either(answers: Sequence[str]) -> str:
    """`1`, `2` or `3`."""
    *most, last = (f"`{one}`" for one in answers)
    return f"{', '.join(most)} or {last}" if most else last
