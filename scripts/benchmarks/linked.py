"""A large shared object that is really linked: from generated C sources, and again after one of them changed."""

from __future__ import annotations

import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_SOURCES = 40
_TABLE_BYTES = 400


class Library:
    """`libmodel.so` from 40 sources; 80,000 functions with debug information make about 100 MB."""

    def __init__(self, build: Path, functions: int) -> None:
        self._build = build
        self._each = max(1, functions // _SOURCES)
        build.mkdir(parents=True, exist_ok=True)

    def make(self) -> None:
        """All objects."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(self._compile, range(_SOURCES)))

    def change(self) -> None:
        """One function of a source in the middle becomes longer, and there is one more: what follows moves."""
        self._compile(_SOURCES // 2, changed=True)

    def link(self, target: Path) -> None:
        """A new file under the same name, as linkers do."""
        objects = [str(self._build / f"part{number}.o") for number in range(_SOURCES)]
        target.unlink(missing_ok=True)
        subprocess.run(["gcc", "-shared", "-o", str(target), *objects], check=True)

    def _compile(self, number: int, *, changed: bool = False) -> None:
        source = self._build / f"part{number}.c"
        source.write_text(self._source(number, changed=changed))
        argv = ["gcc", "-O1", "-g", "-fPIC", "-c", str(source), "-o", str(source.with_suffix(".o"))]
        subprocess.run(argv, check=True)
        source.unlink()

    def _source(self, number: int, *, changed: bool) -> str:
        chance = random.Random(number)  # noqa: S311 - data
        functions = [_function(number, one, chance) for one in range(self._each)]
        if changed:
            longer = functions[self._each // 2].replace("return sum;", "return sum * 3 + count;")
            functions[self._each // 2] = longer
            functions.append(_function(number, self._each, chance))
        return "#include <stddef.h>\n" + "".join(functions)


def _function(source: int, number: int, chance: random.Random) -> str:
    """A little code, a table of its own, and calls of neighbours: these are what a linker moves."""
    name = f"layer_{source}_{number}"
    callee = f"layer_{source}_{chance.randrange(number)}" if number else ""
    call = f"sum += {callee}(values, count / 2);" if callee else ""
    table = chance.randbytes(_TABLE_BYTES // 2).hex()
    return (
        f'static const char table_{number}[] = "{table}";\n'
        f"long {name}(const long *values, size_t count) {{\n"
        f"  long sum = {chance.randrange(1 << 30)};\n"
        f"  for (size_t at = 0; at < count; at++)\n"
        f"    sum = sum * {chance.randrange(3, 99)} + (values[at] ^ table_{number}[at % {_TABLE_BYTES}]);\n"
        f"  if (count > {chance.randrange(1, 9)}) {call or 'sum++;'}\n"
        f"  return sum;\n"
        f"}}\n"
    )
