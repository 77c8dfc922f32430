"""Prints each runtime dependency pinned to its lower bound, as pip takes it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def main() -> None:
    """One pin a line."""
    dependencies = tomllib.loads(PROJECT.read_text())["project"]["dependencies"]
    for dependency in dependencies:
        requirement, _, marker = dependency.partition(";")
        name, bound = re.split(r">=", requirement.split(",")[0].strip(), maxsplit=1)
        print(f"{name}=={bound}" + (f";{marker}" if marker else ""))


if __name__ == "__main__":
    main()
