"""Marks of a site are looked for on a real file system and in a real login shell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.cluster.command import local_run
from scratchflow.login.site_marks import look_for_marks, own_places
from scratchflow.model.requests import Survey


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for made in ("projects/def-a/alice", "projects/rrg-b", "projects/od$d/alice", "group/alice"):
        (tmp_path / made).mkdir(parents=True)
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {"USER": "alice", "HOME": str(home), "PATH": os.environ["PATH"]}


def test_only_a_directory_of_the_users_own_is_a_place(home: Path) -> None:
    inside = {**environment(home), "PROJECT": str(home / "group")}
    asked = ["$PROJECT/$USER/s", "~/projects/*/$USER/s", "~/s", "$UNSET/s", "~/no/*/s"]
    found = dict(own_places(asked, inside))
    assert list(found) == ["$PROJECT/$USER/s", "~/projects/def-a/$USER/s", "~/s"]
    assert found["$PROJECT/$USER/s"] == home / "group/alice"


def test_a_directory_of_somebody_else_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: os.stat(home).st_uid + 1)
    assert not dict(own_places(["~/s"], environment(home)))


def test_names_are_those_of_the_login_shell(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".profile").write_text(f"echo hello\nexport SITE_NAME=x PROJECT={home}/group\n")
    monkeypatch.setattr("scratchflow.cluster.login_path.users_shell", lambda: "/bin/sh")
    asked = Survey(
        variables=("SITE_NAME", "OTHER_NAME"),
        directories=(str(home / "projects"), str(home / "missing")),
        stores=("$PROJECT/$USER/s",),
    )
    found = look_for_marks(asked, environment(home), local_run(environment(home)))
    assert found.variables == ("SITE_NAME",)
    assert found.directories == (str(home / "projects"),)
    assert list(found.stores) == ["$PROJECT/$USER/s"]
    assert found.host
