"""Checks the structure of the package: circles, crowded folders, folders without a word, modules without a test.

Also its names: some words say too little, or mean something else to most readers.

    scripts/house.py [ROOT]     prints what is wrong, one line each; exit code 1 if there is anything

Imports inside functions count too: a circle that they hide is still a circle.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

PACKAGE = "scratchflow"
MOST_MODULES = 18
# One file a verb, however many verbs there are.
MAY_BE_LARGE = {"cli"}
TEST_KINDS = ("unit", "contract", "crash", "hostile", "root", "oracle", "cluster")
# Words that no name may hold, each with what to say instead.
VAGUE_WORDS = {
    "wish": "the thing itself: `request`, `wanted`, `options`",
    "told": "what happened to it: `said`, `shown`, `emitted`, `given`",
    "sacred": "why it must stay: `kept`, `protected`, `theirs`",
    "lot": "what they are: `batch`, `group`, `jobs`",
}
# `HTTPServer` is `HTTP` and `Server`.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Modules that need no test file of their own, each with the reason.
UNTESTED = "tests/modules-without-a-test.txt"


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    wrong = [
        *(f"import circle: {' -> '.join(circle)}" for circle in circles(imports_of(root))),
        *crowded(root),
        *unnamed_rooms(root),
        *untested(root),
        *vague_names(root),
    ]
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def modules_of(root: Path) -> dict[str, Path]:
    """Every module of the package by its dotted name; a folder by its `__init__`."""
    found = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports_of(root: Path) -> dict[str, set[str]]:
    """What each module imports of the package, at its top or inside functions."""
    modules = modules_of(root)
    return {
        name: {one for one in _imported(path, modules) if one != name}
        for name, path in modules.items()
    }


def _imported(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and (room := node.module or "") in modules:
            whole = (f"{room}.{alias.name}" for alias in node.names)
            yield from (one if one in modules else room for one in whole)


def circles(imports: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of modules that import each other, each as one way round. (Tarjan's algorithm.)"""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in sorted(imports[name]):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(imports):
        if name not in number:
            visit(name)
    return found


def rooms_of(root: Path) -> dict[str, list[str]]:
    """The folders of the package, and the modules in each."""
    rooms: dict[str, list[str]] = {}
    for path in modules_of(root).values():
        room = path.parent.relative_to(root / PACKAGE).as_posix()
        rooms.setdefault(room, [])
        if path.name not in {"__init__.py", "__main__.py"}:
            rooms[room].append(path.stem)
    return rooms


def crowded(root: Path) -> Iterator[str]:
    for room, modules in rooms_of(root).items():
        if len(modules) > MOST_MODULES and room not in MAY_BE_LARGE:
            yield f"{room}/ has {len(modules)} modules; more than {MOST_MODULES} are hard to find one's way in"


def unnamed_rooms(root: Path) -> Iterator[str]:
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    for room in rooms_of(root):
        if room != "." and f"`{room}/`" not in page:
            yield f"docs/architecture.md does not name `{room}/`"


def untested(root: Path) -> Iterator[str]:
    """Modules that no test file answers to by its path, and exceptions that are none any more."""
    exceptions = dict(_exceptions(root / UNTESTED))
    for room, modules in rooms_of(root).items():
        for module in modules:
            within = "" if room == "." else f"{room}/"
            path = f"{PACKAGE}/{within}{module}.py"
            has_test = any(_tests_of(root, room, module))
            if not has_test and path not in exceptions:
                yield f"no test file answers to {path}; expected tests/unit/{within}test_{module}.py"
            if has_test and path in exceptions:
                yield f"{UNTESTED} names {path}, which has a test file"
            exceptions.pop(path, None)
    yield from (f"{UNTESTED} names {path}, which is not there" for path in exceptions)


def vague_names(root: Path) -> Iterator[str]:
    """Names of the package, its modules included, that hold a word of `VAGUE_WORDS`; each once a module."""
    for path in modules_of(root).values():
        shown = path.relative_to(root).as_posix()
        names = [path.stem, *_names_in(path.read_text(encoding="utf-8"))]
        for name in dict.fromkeys(names):
            for word in sorted(_words_of(name) & VAGUE_WORDS.keys()):
                yield f"{shown}: `{name}` holds the word `{word}`; name {VAGUE_WORDS[word]}"


def _names_in(text: str) -> list[str]:
    if not any(word in text.lower() for word in VAGUE_WORDS):
        return []  # most files: to take one apart costs more than to search it
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.NAME]


def _words_of(name: str) -> set[str]:
    """`was_told` and `wasTold` are `was` and `told`; `foretold` is one word."""
    return {word.lower() for word in _WORD.findall(name)}


def _tests_of(root: Path, room: str, module: str) -> Iterator[Path]:
    """`test_MODULE.py` or `test_MODULE_about.py` in the folder of the same name; a verb's also among the clusters'."""
    folders = [root / "tests" / kind / room for kind in TEST_KINDS]
    if room == "cli":
        folders.append(root / "tests/cluster")
    for folder in folders:
        yield from folder.glob(f"test_{module}.py")
        yield from folder.glob(f"test_{module}_*.py")


def _exceptions(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        path, _, reason = line.partition(": ")
        if line.strip() and not line.startswith("#"):
            if not reason.strip():
                raise SystemExit(f"{UNTESTED}: no reason for {path}")
            yield path, reason


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
