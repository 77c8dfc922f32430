"""`status --watch`: each picture has this machine's alias, and only equal questions share an answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.flows.alias import places_of
from scratchflow.flows.watch import watch as module
from scratchflow.flows.watch.watch import watch
from scratchflow.model.events import Event, Status, Warned
from scratchflow.model.requests import Watch
from scratchflow.model.results.status import StatusShown
from scratchflow.ssh.config.alias import point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.include import apply, plan_install
from tests.unit.flows.told import ToldCluster, job, seen


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def use(monkeypatch: pytest.MonkeyPatch, cluster: ToldCluster, *pictures: StatusShown) -> None:
    @contextmanager
    def cluster_of(*_: object, **__: object) -> Iterator[ToldCluster]:
        yield cluster

    def on_login(*_: object, emit: Any) -> StatusShown:
        for picture in pictures:
            emit(Status(data=msgspec.to_builtins(picture)))
        return seen()

    monkeypatch.setattr(module, "cluster_of", cluster_of)
    monkeypatch.setattr(cluster, "on_login", on_login)


def test_each_picture_of_a_watch_gets_the_alias(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = ToldCluster(tmp_path, {})
    target = AliasTarget("p", "node-9", "ada", "aws")
    apply(plan_install(places_of(cluster.settings)))
    point_alias(places_of(cluster.settings), cluster.settings.profile.alias, target)
    use(monkeypatch, cluster, seen(job(1, seconds_left=100)))
    said: list[Event] = []
    watch(cluster.caller, said.append, every_s=5)
    picture, warning = said
    assert isinstance(picture, Status)
    assert picture.data["alias"]["target"] == "node-9"
    assert picture.data["problems"][-1]["name"] == "alias.behind"
    assert isinstance(warning, Warned)


def test_profiles_configurations_versions_and_questions_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def file(directory: Path, profile: str = 'login = "aws"', *, usage: bool = False) -> Path:
        directory.mkdir(exist_ok=True)
        cluster = ToldCluster(directory, {}, profile=profile)
        asked = Watch(every_s=5, usage=usage)
        shared = module._shared_answer(cluster.settings, cluster.caller, asked)
        assert shared is not None
        return shared._file

    one = file(tmp_path / "a")
    assert file(tmp_path / "a") == one
    others = [
        file(tmp_path / "b"),
        file(tmp_path / "a", 'login = "uni"'),
        file(tmp_path / "a", usage=True),
    ]
    monkeypatch.setattr(module, "agent_name", lambda: "9.9.9-0123456789ab")
    others.append(file(tmp_path / "a"))
    assert len({one, *others}) == 5
