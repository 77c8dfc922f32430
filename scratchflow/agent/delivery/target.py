"""The Python that an agent is put together for, and which wheels it takes."""

from __future__ import annotations

import msgspec

OLDEST_PYTHON = (3, 10)
# manylinux2014 is this glibc; nothing that builds wheels today goes below it.
OLDEST_GLIBC = (2, 17)
MACHINES = ("x86_64", "aarch64")

_LEGACY_PLATFORMS = {"x86_64": ["manylinux2010", "manylinux1"], "aarch64": []}


class Target(msgspec.Struct, frozen=True):
    """A CPython on Linux with glibc; nothing else is supported on a cluster."""

    python: tuple[int, int, int]
    machine: str
    glibc: tuple[int, int]

    @property
    def python_tag(self) -> str:
        """`cp311`."""
        return f"cp{self.python[0]}{self.python[1]}"

    @property
    def tag(self) -> str:
        """`cp311-x86_64`: compiled parts fit any host with these two."""
        return f"{self.python_tag}-{self.machine}"

    @property
    def short_python(self) -> str:
        """`3.11`."""
        return f"{self.python[0]}.{self.python[1]}"

    @property
    def platforms(self) -> list[str]:
        """The wheel platforms that run there, best first."""
        newest, oldest = self.glibc[1], OLDEST_GLIBC[1]
        names = [f"manylinux_2_{minor}" for minor in range(newest, oldest - 1, -1)]
        names += ["manylinux2014", *_LEGACY_PLATFORMS[self.machine]]
        return [f"{name}_{self.machine}" for name in names]

    def takes(self, tag: str) -> bool:
        """Whether a wheel with this tag (`cp311-cp311-manylinux_2_17_x86_64`) runs there."""
        python, abi, platform = tag.split("-")
        if platform != "any" and platform not in self.platforms:
            return False
        if abi == self.python_tag:
            return python == self.python_tag
        return abi in {"none", "abi3"} and self._is_at_least(python)

    def _is_at_least(self, python: str) -> bool:
        """`py3`, `py39` and, for the stable ABI, `cp38` mean that one and every later one."""
        version = python[2:]
        if python[:2] not in {"py", "cp"} or not version.isdigit() or version[0] != "3":
            return False
        return int(version[1:] or "0") <= self.python[1]

    def __str__(self) -> str:
        glibc = ".".join(map(str, self.glibc))
        return f"Python {self.short_python} on Linux {self.machine} with glibc {glibc}"
