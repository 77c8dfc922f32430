"""Where the names of an archive from outside go: never two to one path, and never out of scratch."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scratchflow.archive.foreign.member_tree import MemberTree, Stored
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import REGULAR
from scratchflow.node.transfer.roots import Landing, landing_of_foreign, landing_of_own
from scratchflow.workspace.workspace import Workspace

HERE = Workspace(Path("/scratch/u"), "work", also=("env",))
BENEATH = Landing(["work"], beneath="work")


def _index(*paths: str, roots: list[str]) -> Index:
    tree = MemberTree()
    for path in paths:
        tree.add(path.encode(), Stored(REGULAR | 0o644, 0))
    index = tree.to_index("A")
    index.roots = roots
    return index


@pytest.mark.parametrize(
    ("names", "fits"),
    [
        ([(b"work", True), (b"work/a", False), (b"env/b", False)], True),
        ([(b"", True), (b"work/a", False)], True),
        ([(b"work", False)], False),  # a root has to be a directory
        ([(b"work/a", False), (b"README", False)], False),
        ([(b"works/a", False)], False),
        ([(b"other", True)], False),
        ([], True),
    ],
)
def test_foreign_names_are_all_taken_as_they_are_or_all_go_beneath(
    names: list[tuple[bytes, bool]], fits: bool
) -> None:
    expected = Landing(["work", "env"]) if fits else BENEATH
    assert landing_of_foreign(names, HERE) == expected


def test_an_export_of_another_workspace_is_renamed_and_its_other_roots_stay() -> None:
    landing = landing_of_own(_index("thesis/a", "data/b", roots=["thesis", "data"]), HERE)
    assert landing.roots == ["work", "data"]
    assert not landing.changes_nothing
    moved = {name: landing.path(name) for name in (b"thesis", b"thesis/a", b"data/b", b"thesis2")}
    assert moved == {
        b"thesis": b"work",
        b"thesis/a": b"work/a",
        b"data/b": b"data/b",
        b"thesis2": b"",
    }


def test_an_export_of_this_workspace_changes_nothing() -> None:
    landing = landing_of_own(_index("work/a", roots=["work"]), HERE)
    assert landing.changes_nothing
    assert landing.path(b"work/a") == b"work/a"


@pytest.mark.parametrize(
    "roots",
    [["../x"], ["/etc"], [".scratchflow"], [".scratchflow/work"], ["a//b"], ["."], ["a\0b"],
     ["caf\udce9"], [""], ["thesis", ".."]],
)  # fmt: skip
def test_roots_that_are_no_directories_beneath_scratch_are_not_believed(roots: list[str]) -> None:
    assert landing_of_own(_index("thesis/a", roots=roots), HERE) == BENEATH


def test_a_root_that_would_meet_the_workspace_sends_everything_beneath() -> None:
    index = _index("thesis/a", "work/deeper/b", roots=["thesis", "work/deeper"])
    assert landing_of_own(index, HERE) == BENEATH


_NAMES = st.lists(
    st.lists(st.sampled_from(["work", "env", "thesis", "data", "a"]), min_size=2, max_size=4)
    .map("/".join),
    min_size=1, max_size=6, unique=True,
)  # fmt: skip


@pytest.mark.slow
@given(
    names=_NAMES, roots=st.lists(st.sampled_from(["work", "thesis", "data", "data/a"]), max_size=3)
)
@settings(max_examples=50)
def test_no_two_files_ever_meet_at_one_path(names: list[str], roots: list[str]) -> None:
    files = [one for one in names if not any(other.startswith(f"{one}/") for other in names)]
    index = _index(*files, roots=list(dict.fromkeys(roots)))
    landing = landing_of_own(index, HERE)
    landed = [landing.path(name.encode()) for name in files]
    assert len(set(landed)) == len(files)
    assert all(any(path.startswith(root.encode() + b"/") for root in landing.roots)
               for path in landed)  # fmt: skip
    assert "work" in landing.roots
