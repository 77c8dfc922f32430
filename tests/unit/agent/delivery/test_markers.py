"""Conditions of foreign metadata are answered for the cluster's Python, not for ours."""

from __future__ import annotations

import pytest

from scratchflow.agent.delivery.markers import Requirement, allows, holds, parse_requirement
from scratchflow.agent.delivery.target import Target

OLD = Target((3, 10, 13), "x86_64", (2, 17))


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ('python_version < "3.11"', True),
        ("python_version<'3.10'", False),
        ('python_version >= "3.9"', True),
        ('"3.10" == python_version', True),
        ('python_full_version < "3.10.2"', False),
        ('platform_system == "Windows"', False),
        ('sys_platform != "win32" and python_version < "3.11"', True),
        ('os_name == "nt" or (python_version < "3.11" and extra == "x")', False),
        ('extra == "doc"', False),
        ('platform_machine in "x86_64 aarch64"', True),
        ('platform_machine not in "x86_64"', False),
        ('implementation_name == "pypy"', False),
        ('python_version == "3.*"', True),
        ('some_new_word == "x"', True),
        ("((", True),
        ("%", True),
    ],
)
def test_a_marker_means_the_target(marker: str, expected: bool) -> None:
    assert holds(marker, OLD) is expected


@pytest.mark.parametrize(
    ("specifier", "version", "expected"),
    [
        (">=3.10", (3, 10, 0), True),
        (">=3.11", (3, 10, 13), False),
        ("<4.0,>=3.10", (3, 13, 0), True),
        ("!=3.10.*", (3, 10, 5), False),
        ("==3.10", (3, 10, 0), True),
        ("~=3.9", (3, 12, 0), True),
        ("~=3.9.1", (3, 12, 0), False),
        ("", (3, 10, 0), True),
        (">=3.9.0", (3, 9), True),
    ],
)
def test_versions(specifier: str, version: tuple[int, ...], expected: bool) -> None:
    assert allows(specifier, version) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Markdown_It.py (>=2.2.0)", Requirement("markdown-it-py", ">=2.2.0")),
        ("rich>=13.8.0", Requirement("rich", ">=13.8.0")),
        ("x[extra]>=1,<2 ; python_version < '3.11'", Requirement("x", ">=1,<2")),
        ("colorama; platform_system == 'Windows'", None),
        ("tomli", Requirement("tomli", "")),
    ],
)
def test_requirements(text: str, expected: Requirement | None) -> None:
    assert parse_requirement(text, OLD) == expected
