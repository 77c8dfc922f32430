"""Many paths are found as one after the other would be, whatever is asked for."""

from __future__ import annotations

import random

from scratchflow.archive.tree.finder import PathFinder
from tests.unit.archive.conftest import Bench, fill

_STEPS = (b"", b"work", b"src", b"zz", b"empty", b"a", b"data", b"link", b"README", b"no")


def test_whatever_is_asked_for_in_whatever_order_the_answer_is_the_trees(bench: Bench) -> None:
    fill(bench.work)
    for made in ("src/zz/empty", "src/a", "a", "zz"):
        (bench.work / made).mkdir(parents=True)
    tree = bench.scan()
    draw = random.Random(1)  # noqa: S311 - not for secrets
    paths = [tree.path(entry) for entry in range(len(tree))]
    paths += [path + b"/x" for path in paths]
    paths += [b"/".join(draw.choices(_STEPS, k=draw.randint(1, 5))) for _ in range(2000)]
    draw.shuffle(paths)
    finder = PathFinder(tree)
    expected = {path: tree.find(path) for path in paths}
    assert len({*expected.values()}) > len(tree)  # each entry, and None
    assert {path: finder.find(path) for path in paths} == expected
