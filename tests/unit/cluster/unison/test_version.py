"""Which unisons work together."""

from __future__ import annotations

import subprocess

import pytest

from scratchflow.cluster.unison.version import read_version, work_together


def _said(number: str, compiler: str = "4.13.1") -> str:
    return f"unison version {number} (ocaml {compiler})\n"


def test_the_real_one_says_its_version() -> None:
    said = subprocess.run(["unison", "-version"], capture_output=True, text=True, check=True)
    found = read_version(said.stdout)
    assert found is not None
    assert found.number >= (2, 52)


@pytest.mark.parametrize("said", ["", "command not found", "unison version ?"])
def test_what_no_unison_says_is_no_version(said: str) -> None:
    assert read_version(said) is None


@pytest.mark.parametrize(
    ("one", "other", "fits"),
    [
        (_said("2.52.1"), _said("2.53.4", "5.1.0"), True),
        (_said("2.52.1"), _said("2.51.5"), False),
        (_said("2.51.5"), _said("2.51.2"), True),
        (_said("2.51.5", "4.11.1"), _said("2.51.5", "4.13.1"), False),
        (_said("2.48.4"), "unison version 2.48.4\n", False),
    ],
)
def test_old_ones_have_to_be_the_same(one: str, other: str, fits: bool) -> None:
    first, second = read_version(one), read_version(other)
    assert first is not None
    assert second is not None
    assert work_together(first, second) is fits
    assert work_together(second, first) is fits
