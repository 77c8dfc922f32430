"""Paths typed on a laptop mean the cluster, and people are told."""

from __future__ import annotations

import pytest

from scratchflow.dispatch.far_paths import paths_there
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Event
from scratchflow.model.requests import (
    Arguments,
    Backup,
    Create,
    Export,
    Import,
    PutOutputs,
    Restore,
)

HOME = {"HOME": "/Users/ada"}


@pytest.mark.parametrize(
    ("typed", "there"),
    [
        ("/Users/ada/old", "~/old"),
        ("/Users/ada/a/../old/", "~/old"),
        ("~/old", "~/old"),
        ("/scratch/ada/old", "/scratch/ada/old"),
        ("/Users/adam/old", "/Users/adam/old"),
        (None, None),
    ],
)
def test_a_path_in_the_home_of_the_laptop_means_the_home_on_the_cluster(
    typed: str | None, there: str | None
) -> None:
    said: list[Event] = []
    assert paths_there(Restore(to=typed), HOME, said.append).to == there
    assert bool(said) == (typed is not None and typed.startswith("/Users/ada/"))


@pytest.mark.parametrize("path", ["old", "./old", "../x", "", "~ada/x"])
def test_a_relative_path_means_nothing_there(path: str) -> None:
    with pytest.raises(UsageInvalid, match="on the node"):
        paths_there(Export(file=path), HOME, lambda _: None)


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        (Create(directory="old"), "create"),
        (Restore(to="old"), "restore"),
        (Restore(source="old"), "restore"),
        (Export(file="old"), "snapshots export"),
        (Import(file="old"), "snapshots import"),
        (PutOutputs(job="7", to="old"), "jobs outputs"),
    ],
)
def test_the_hint_names_the_help_of_the_command(request_: Arguments, command: str) -> None:
    with pytest.raises(UsageInvalid) as caught:
        paths_there(request_, HOME, lambda _: None)
    assert caught.value.shown_hint == f"`scratchflow {command} --help` shows what is possible"


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        (Import(file="laptop:my runs/a b.tar.lz4"), "snapshots import"),
        (Restore(source="my runs/a b.tar.lz4"), "restore --from"),
    ],
)
def test_a_file_of_this_machine_is_told_the_way_there(request_: Arguments, command: str) -> None:
    with pytest.raises(UsageInvalid) as caught:
        paths_there(request_, HOME, lambda _: None, "aws")
    assert "`scp 'my runs/a b.tar.lz4' aws:` copies a file" in caught.value.shown_hint
    assert f"`scratchflow {command} ~/'a b.tar.lz4'` takes it" in caught.value.shown_hint
    with pytest.raises(UsageInvalid) as at_login:
        paths_there(request_, HOME, lambda _: None)
    assert "scp" not in at_login.value.shown_hint


def test_a_name_of_the_node_stays_in_the_path_that_knows_names() -> None:
    asked = Restore(to="$SCRATCH/old")
    assert paths_there(asked, HOME, lambda _: None) == asked
    with pytest.raises(UsageInvalid, match="on the node"):
        paths_there(Export(file="$SCRATCH/old"), HOME, lambda _: None)


@pytest.mark.parametrize("home", ["", "/"])
def test_without_a_home_every_path_stays(home: str) -> None:
    asked = Export(file="/tmp/x")
    assert paths_there(asked, {"HOME": home}, lambda _: None) == asked
    assert paths_there(Backup(), {}, lambda _: None) == Backup()
