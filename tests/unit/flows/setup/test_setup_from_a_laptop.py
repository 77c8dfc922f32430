"""`setup` writes nothing before every check passed and the user agreed; then all of it, and again the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.agent.delivery.install import Installed
from scratchflow.config.settings import Asked, load_settings
from scratchflow.flows.setup import agreement, trial
from scratchflow.flows.setup import setup as module
from scratchflow.flows.setup.draft import SetupOptions
from scratchflow.flows.setup.propose import LABELS
from scratchflow.flows.setup.setup import set_up
from scratchflow.model.errors.base import Declined, UsageInvalid
from scratchflow.model.errors.config import (
    ConfigBadValue,
    ConfigUnwritable,
    SetupCancelled,
    SetupIncomplete,
)
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.events import Checked, Emit, Event, Log, Warned
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.results.checks import Check, ChecksDone
from scratchflow.model.results.setup import ClusterSetUp
from scratchflow.ssh.config.alias import read_alias
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.transport.local import LocalTransport
from tests.unit.flows.setup.answers import NOBODY, Answers
from tests.unit.flows.setup.test_propose import cluster

YES = Answers(agrees=True, can_ask=False)
WELL = [Check(name="slurm", ok=True, detail="answers"), Check(name="store", ok=True, detail="/s")]


def held(command: str) -> NodeHeld:
    return NodeHeld(
        job_id=None,
        node="",
        partition="",
        end_time=None,
        reused=False,
        warm=None,
        user="",
        host_keys=[],
        session=None,
        command=command,
        dry_run=True,
    )


class Laptop:
    """An empty home, and a cluster on which only these stores can be used."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.file = home / "config.toml"
        self.places = SshPaths.of(str(home / ".ssh/config"))
        self.told: list[Event] = []
        self.seen = cluster()
        self.bad_stores: set[str] = set()
        self.reached = 0
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setattr(module, "connected", self._connected)
        self.agent = ""
        monkeypatch.setattr(trial, "install_for", self._install)
        monkeypatch.setattr(trial, "end_trial", self._end_trial)
        for asks in (module, agreement):
            monkeypatch.setattr(asks, "ask_agent", self._ask)

    @contextmanager
    def _connected(self, *_: object, **__: object) -> Iterator[LocalTransport]:
        self.reached += 1
        yield LocalTransport()

    def _install(self, *_: object, on_trial: bool = False) -> Installed:
        was_there = bool(self.agent)
        self.agent = self.agent if was_there and on_trial else "on trial" if on_trial else "kept"
        return Installed("/a", "/p", was_there, [])

    def _end_trial(self, _: object) -> bool:
        was_on_trial = self.agent == "on trial"
        self.agent = "" if was_on_trial else self.agent
        return was_on_trial

    def _ask(self, _: object, settings: Any, do: str, arguments: Any, emit: Emit) -> Any:
        if do == "survey":
            return msgspec.to_builtins(self.seen)
        if do == "hold":
            slurm = settings.profile.slurm
            return msgspec.to_builtins(held(f"salloc -p {slurm.partition} --gpus={slurm.gpus}"))
        store = settings.profile.store
        fix = "`scratchflow config set store PATH`"
        bad = Check(name="store", ok=False, detail=f"{store} is bad", fix=fix)
        checks = [WELL[0], bad if store in self.bad_stores else WELL[1]]
        assert arguments["tells"]
        for check in checks:
            emit(Checked(name=check.name, ok=check.ok, detail=check.detail, fix=check.fix))
        return msgspec.to_builtins(ChecksDone(checks=checks))

    def set_up(self, asker: Answers, **options: Any) -> ClusterSetUp:
        ssh = {"ssh_config": str(self.places.config)}
        values = {**ssh, **options.pop("values", {})}
        asked = Asked(config=str(self.file), overrides=options.pop("overrides", ()))
        wanted = SetupOptions(login="me@login.uni.example", values=values, **options)
        return set_up(
            asked, {"HOME": str(self.home)}, self.told.append, wanted, asker, may_ask=False
        )

    @property
    def is_untouched(self) -> bool:
        return not self.file.exists() and not self.places.config.exists()

    def profile(self) -> Any:
        return load_settings(Asked(config=str(self.file)), {"HOME": "/h"}).profile


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    return Laptop(tmp_path, monkeypatch)


def test_profile_ssh_config_and_a_parked_alias_are_written(laptop: Laptop) -> None:
    done = laptop.set_up(YES)
    assert (done.profile, done.is_default, done.dry_run) == ("uni", True, False)
    assert laptop.agent == "kept"
    profile = laptop.profile()
    assert profile.login == "me@login.uni.example"
    assert profile.slurm.partition == "debug"
    assert read_alias(laptop.places, profile.alias) is not None
    assert "Include" in laptop.places.config.read_text()
    assert [event.name for event in laptop.told if isinstance(event, Checked)][-2:] == [
        "profile",
        "alias",
    ]


def test_where_the_profile_cannot_be_written_no_agent_stays(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(place: Path, _: object) -> None:
        raise ConfigUnwritable(path=str(place), reason="no space left on device")

    monkeypatch.setattr(module, "apply_edits", full)
    with pytest.raises(ConfigUnwritable):
        laptop.set_up(YES)
    assert laptop.agent == ""


def test_a_second_time_nothing_changes_and_nobody_is_asked(laptop: Laptop) -> None:
    laptop.set_up(YES)
    before = (laptop.file.read_text(), laptop.places.config.read_text())
    assert laptop.set_up(NOBODY).config_diff == ""
    assert (laptop.file.read_text(), laptop.places.config.read_text()) == before


def test_what_a_profile_has_is_changed_only_where_it_was_asked_for(laptop: Laptop) -> None:
    laptop.set_up(YES, values={"store": "/data/me"})
    laptop.set_up(YES, values={"slurm.time": "1:00:00"})
    profile = laptop.profile()
    assert (profile.store, profile.slurm.time) == ("/data/me", "1:00:00")


def test_of_a_profile_written_by_hand_no_other_line_is_touched(laptop: Laptop) -> None:
    text = f'# mine\n[profiles.uni]\nlogin = "me@login.uni.example"\nssh_config = "{laptop.places.config}"\n'
    laptop.file.write_text(text)
    laptop.set_up(YES)
    assert laptop.file.read_text() == text
    laptop.set_up(YES, values={"store": "/data"})
    assert laptop.file.read_text() == f'{text}store = "/data"\n'


def test_a_dry_run_reaches_the_host_and_writes_nothing(laptop: Laptop) -> None:
    done = laptop.set_up(NOBODY, dry_run=True)
    assert (done.dry_run, laptop.reached) == (True, 1)
    assert '+partition = "debug"' in done.config_diff
    assert laptop.is_untouched
    assert laptop.agent == ""


def test_an_entry_of_ones_own_for_the_alias_is_named_before_anything_is_written(
    laptop: Laptop,
) -> None:
    laptop.places.config.parent.mkdir()
    laptop.places.config.write_text("Host box\n  HostName mine\n")
    for asker, options in ((NOBODY, {"dry_run": True}), (NOBODY, {})):
        laptop.told.clear()
        with contextlib.suppress(Declined):
            laptop.set_up(asker, values={"alias": "box"}, **options)
        (warning,) = [one for one in laptop.told if isinstance(one, Warned)]
        assert "`Host box` at ~/.ssh/config:1 does not decide" in warning.message
        assert not laptop.file.exists()
        assert laptop.places.config.read_text() == "Host box\n  HostName mine\n"


def test_a_dry_run_shows_slurms_values_and_what_up_would_ask_for(laptop: Laptop) -> None:
    done = laptop.set_up(NOBODY, dry_run=True, overrides=["slurm.gpus=2"])
    assert done.command == "salloc -p debug --gpus=2"
    lines = [event.message for event in laptop.told if isinstance(event, Log)]
    assert any(line.split()[:2] == ["partition", "debug"] for line in lines)


def test_a_dry_run_fails_where_a_real_run_would_have_to_ask(laptop: Laptop) -> None:
    laptop.bad_stores = {"/bad"}
    with pytest.raises(SetupIncomplete):
        laptop.set_up(Answers(), values={"store": "/bad"}, dry_run=True)
    assert laptop.agent == ""


def test_a_value_that_no_profile_may_hold_is_refused_before_anybody_is_reached(
    laptop: Laptop,
) -> None:
    with pytest.raises(ConfigBadValue):
        laptop.set_up(YES, values={"store": "not/rooted"})
    assert laptop.reached == 0


@pytest.mark.parametrize(
    ("asker", "error"), [(Answers("n"), SetupCancelled), (NOBODY, Declined)], ids=["no", "nobody"]
)
def test_without_a_yes_nothing_is_written(laptop: Laptop, asker: Answers, error: Any) -> None:
    with pytest.raises(error):
        laptop.set_up(asker)
    assert laptop.is_untouched
    assert laptop.agent == ""


def test_a_check_that_fails_with_nobody_to_ask_ends_with_the_flag_that_helps(
    laptop: Laptop,
) -> None:
    laptop.bad_stores = {"/bad"}
    with pytest.raises(SetupIncomplete) as failed:
        laptop.set_up(YES, values={"store": "/bad"})
    assert "--store PATH" in failed.value.shown_hint
    assert laptop.is_untouched
    fixes = [event.fix for event in laptop.told if isinstance(event, Checked) and event.fix]
    assert fixes == ["`--store PATH`"]


def test_a_person_is_asked_until_the_checks_pass(laptop: Laptop) -> None:
    laptop.bad_stores = {"/bad", "/worse"}
    asker = Answers("/worse", "no/path", "/good", "y")
    laptop.set_up(asker, values={"store": "/bad"})
    assert laptop.profile().store == "/good"
    assert asker.all_given


class OtherStore(Answers):
    """Keeps every value but the store."""

    def text(self, question: str, default: str = "") -> str:
        return "/mine" if question == LABELS["store"] else default


def test_what_was_told_is_not_told_again_when_a_value_changes(laptop: Laptop) -> None:
    laptop.bad_stores = {"/bad"}
    laptop.set_up(Answers("/good", "y"), values={"store": "/bad"})
    told = [(event.name, event.ok) for event in laptop.told if isinstance(event, Checked)]
    assert told[1:4] == [("slurm", True), ("store", False), ("store", True)]


def test_the_difference_can_be_seen_and_a_value_changed_before_the_yes(laptop: Laptop) -> None:
    asker = OtherStore("d", "c", "y")
    laptop.set_up(asker)
    assert any("+login" in line for line in asker.said)
    assert (laptop.profile().store, laptop.profile().slurm.partition) == ("/mine", "debug")
    assert asker.all_given


def test_a_host_without_slurm_is_told_as_that(laptop: Laptop) -> None:
    laptop.seen = cluster(slurm_problem="sinfo: not found")
    laptop.bad_stores = {"/bad"}
    with pytest.raises(SlurmUnreachable, match="sinfo: not found"):
        laptop.set_up(Answers(), values={"store": "/bad"})
    assert laptop.is_untouched


def test_a_site_that_is_recognised_is_named_with_what_to_know_there(laptop: Laptop) -> None:
    laptop.seen = cluster(variables=["CC_CLUSTER"])
    assert laptop.set_up(YES).site == "alliance"
    assert laptop.profile().scratch == "$SLURM_TMPDIR"
    (said,) = [one for one in laptop.told if isinstance(one, Checked) and one.name == "site"]
    assert "$CC_CLUSTER" in said.detail
    assert any(isinstance(one, Log) and "no internet" in one.message for one in laptop.told)


def test_a_site_changes_nothing_in_a_profile_that_is_there(laptop: Laptop) -> None:
    laptop.set_up(YES)
    before = laptop.file.read_text()
    laptop.seen = cluster(variables=["CC_CLUSTER"])
    assert laptop.set_up(YES, site="alliance").site == ""
    assert laptop.file.read_text() == before
    assert any(isinstance(one, Log) and "stay as they are" in one.message for one in laptop.told)


def test_a_site_that_does_not_exist_is_refused_before_anybody_is_reached(laptop: Laptop) -> None:
    with pytest.raises(UsageInvalid, match="--list-sites"):
        laptop.set_up(YES, site="nosuch")
    assert laptop.reached == 0


def test_an_account_that_slurm_wants_and_nobody_knows_is_asked_for(laptop: Laptop) -> None:
    laptop.seen = cluster(account_refusal="specify an account")
    with pytest.raises(SetupIncomplete) as caught:
        laptop.set_up(YES)
    assert "--account NAME" in str(caught.value.fields["remedy"])
    assert laptop.is_untouched
    person = Answers("def-prof", "y")
    laptop.set_up(person)
    assert laptop.profile().slurm.account == "def-prof"
    assert "account" in person.said
