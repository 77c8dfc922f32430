"""Node lists as Slurm writes them."""

from __future__ import annotations

import pytest

from scratchflow.cluster.slurm.hostlist import expand


@pytest.mark.parametrize(
    ("nodelist", "names"),
    [
        ("", ()),
        ("(null)", ()),
        ("node-1", ("node-1",)),
        ("node-[1-3]", ("node-1", "node-2", "node-3")),
        ("cn-c[007,035]", ("cn-c007", "cn-c035")),
        ("n[08-11]", ("n08", "n09", "n10", "n11")),
        ("n[1-2]-ib", ("n1-ib", "n2-ib")),
        ("r[1-2]n[1,3]", ("r1n1", "r1n3", "r2n1", "r2n3")),
        ("a,b[1-2],c-d", ("a", "b1", "b2", "c-d")),
        (
            "a100-st-p4d24xlarge-[1-2],cpu-dy-c5-1",
            ("a100-st-p4d24xlarge-1", "a100-st-p4d24xlarge-2", "cpu-dy-c5-1"),
        ),
        ("x[5]y", ("x5y",)),
        ("n[9-10,099]", ("n9", "n10", "n099")),
    ],
)
def test_every_node_is_named(nodelist: str, names: tuple[str, ...]) -> None:
    assert expand(nodelist) == names


@pytest.mark.parametrize(
    "nodelist",
    [
        "n[1-",
        "n1]",
        "n[[1]]",
        "n[a-b]",
        "n[3-1]",
        "n[]",
        "a,,b",
        "n[1-999999999]",
        "n[²]",
        "n[0-9999]m[0-9999]",
        "n[1--2]",
    ],
)
def test_what_is_no_list_is_refused(nodelist: str) -> None:
    with pytest.raises(ValueError, match=r"node"):
        expand(nodelist)
