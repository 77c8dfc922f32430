"""A cluster's Python takes exactly the wheels that run there."""

from __future__ import annotations

import pytest

from scratchflow.agent.delivery.target import Target


@pytest.mark.parametrize(
    ("tag", "fits"),
    [
        ("py3-none-any", True),
        ("py310-none-any", True),
        ("py312-none-any", False),
        ("py2-none-any", False),
        ("cp311-cp311-manylinux_2_17_x86_64", True),
        ("cp311-cp311-manylinux2014_x86_64", True),
        ("cp311-cp311-manylinux_2_28_x86_64", True),
        ("cp311-cp311-manylinux_2_29_x86_64", False),
        ("cp311-cp311-manylinux1_x86_64", True),
        ("cp311-cp311-manylinux_2_17_aarch64", False),
        ("cp311-cp311-musllinux_1_2_x86_64", False),
        ("cp311-cp311-macosx_11_0_arm64", False),
        ("cp310-cp310-manylinux_2_17_x86_64", False),
        ("cp38-abi3-manylinux_2_17_x86_64", True),
        ("cp312-abi3-manylinux_2_17_x86_64", False),
        ("pp311-pypy311_pp73-manylinux_2_17_x86_64", False),
    ],
)
def test_which_wheels_a_cluster_takes(tag: str, fits: bool) -> None:
    assert Target((3, 11, 2), "x86_64", (2, 28)).takes(tag) is fits


def test_the_best_platform_comes_first_and_none_is_newer_than_the_clusters_libc() -> None:
    new, old = Target((3, 11, 2), "x86_64", (2, 19)), Target((3, 10, 0), "aarch64", (2, 17))
    assert new.platforms[:3] == [f"manylinux_2_{minor}_x86_64" for minor in (19, 18, 17)]
    assert "manylinux2010_x86_64" in new.platforms
    assert old.platforms == ["manylinux_2_17_aarch64", "manylinux2014_aarch64"]


def test_hosts_share_a_part_exactly_when_compiled_code_fits_both() -> None:
    one = Target((3, 11, 2), "x86_64", (2, 28))
    assert one.tag == Target((3, 11, 9), "x86_64", (2, 39)).tag == "cp311-x86_64"
    assert one.tag != Target((3, 12, 2), "x86_64", (2, 28)).tag
    assert str(one) == "Python 3.11 on Linux x86_64 with glibc 2.28"
