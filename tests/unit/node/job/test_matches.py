"""What patterns match in a job's copy, each file once, and what they say of the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.node.job.matches import Matches, beneath_workspace


def test_each_file_is_found_once_and_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    top = tmp_path / "copy/work"
    (top / "outputs/deep").mkdir(parents=True)
    (top / "outputs/deep/x").write_text("x")
    os.mkfifo(top / "outputs/pipe")
    (top / "outputs/out").symlink_to(tmp_path)
    (top / "lost").symlink_to("nowhere")
    patterns = ["outputs/deep/*", "none/*.pt", "sub/outputs", "lost"]
    matches = Matches(top, patterns, began_ns=0)
    found = ["lost", "outputs/deep/x", "outputs/out"]
    assert sorted(name for name, _, _ in matches.found()) == found
    assert matches.left_out == {"outputs/pipe": "a pipe"}
    assert matches.links_out == {"outputs/out": str(tmp_path)}
    assert (matches.closed, matches.unmatched) == ({}, ["none/*.pt"])


@pytest.mark.parametrize("text", ["/etc", "../x", "a/../b", "", ".", "./", "x\0", "~/x"])
def test_a_pattern_that_leads_out_is_none(text: str) -> None:
    assert beneath_workspace(text) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("runs/*/model.pt", "runs/*/model.pt"),
        ("results/", "results"),
        ("./results", "results"),
        (".//runs/./*.pt", "runs/*.pt"),
        ("./.hidden", ".hidden"),
        ("a//b", "a/b"),
        ("**/a**.pt", "**/a*.pt"),
    ],
)
def test_a_pattern_is_taken_as_people_write_paths(text: str, meant: str) -> None:
    assert beneath_workspace(text) == meant
