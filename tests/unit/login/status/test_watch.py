"""`watch`: a picture whenever something changed, none for what passes by itself, and no end by a restart."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from scratchflow.login.host import LoginHost
from scratchflow.login.status import watch as module
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import Event, Status
from scratchflow.model.requests import Watch
from scratchflow.model.results.status import StatusShown
from tests.unit.login.status.test_status import Login


class Over(Exception):
    """Whoever listened is gone."""


class Looks:
    """One picture after the other; time passes only between them."""

    def __init__(self, login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
        self.login = login
        self.picture = login.look()
        self.events: list[Event] = []
        self._now_s = 0.0
        self._pictures: list[Any] = []
        monkeypatch.setattr(module, "look", self._look)
        clock = SimpleNamespace(sleep=self._sleep, monotonic=lambda: self._now_s)
        monkeypatch.setattr(module, "time", clock)
        monkeypatch.setattr(module, "pause", lambda _signs, every_s, **_: self._sleep(every_s))

    def watch(self, *pictures: StatusShown | Exception) -> list[dict[str, Any]]:
        self._pictures = list(pictures)
        here = LoginHost(self.login.settings, self.login.environment, self.events.append)
        with pytest.raises(Over):
            module.watch(here, Watch(every_s=5))
        return [event.data for event in self.events if isinstance(event, Status)]

    def changed(self, change: Callable[[StatusShown], StatusShown]) -> StatusShown:
        return change(self.picture)

    def _look(self, *_: object, **__: object) -> StatusShown:
        if not self._pictures:
            raise Over
        picture = self._pictures.pop(0)
        if isinstance(picture, Exception):
            raise picture
        return msgspec.convert(msgspec.to_builtins(picture), StatusShown)

    def _sleep(self, seconds: float) -> None:
        self._now_s += seconds


@pytest.fixture
def looks(login: Login, monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(login, monkeypatch)


def older(shown: StatusShown) -> StatusShown:
    snapshots = msgspec.structs.replace(shown.snapshots, last_age_s=9999, oldest_check_s=7)
    assert shown.saved is not None
    saved = msgspec.structs.replace(shown.saved, age_s=9999)
    return msgspec.structs.replace(shown, snapshots=snapshots, saved=saved)


def one_more(shown: StatusShown) -> StatusShown:
    return msgspec.structs.replace(
        shown, snapshots=msgspec.structs.replace(shown.snapshots, count=2)
    )


def test_only_a_change_is_told_and_seconds_that_pass_are_none(looks: Looks) -> None:
    first, same = looks.picture, looks.changed(older)
    assert len(looks.watch(first, same, looks.changed(one_more), looks.changed(one_more))) == 2


def test_at_least_once_a_minute_there_is_a_sign(looks: Looks) -> None:
    assert len(looks.watch(*[looks.picture] * 13)) == 2


def test_a_slurmctld_that_restarts_is_shown_and_outlived(looks: Looks) -> None:
    away = SlurmUnreachable(host="login", reason="connect failure")
    told = looks.watch(looks.picture, away, away, looks.picture)
    assert [[one["name"] for one in data["problems"]] for data in told] == [
        [],
        [SlurmUnreachable.code],
        [],
    ]


def test_one_that_never_answered_is_an_error(looks: Looks) -> None:
    looks._pictures = [SlurmUnreachable(host="login", reason="connect failure")]
    here = LoginHost(looks.login.settings, looks.login.environment, looks.events.append)
    with pytest.raises(SlurmUnreachable):
        module.watch(here, Watch(every_s=5))
