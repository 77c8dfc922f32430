"""Which cluster is meant: what is said goes first, one that is known is not asked for, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller
from scratchflow.flows.setup import connect
from scratchflow.flows.setup import setup as setting_up
from scratchflow.flows.setup import which as module
from scratchflow.flows.setup.draft import SetupOptions
from scratchflow.flows.setup.which import foretold_set_up, list_hosts, ready_to_work, set_up_chosen
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.config import (
    ClusterMissing,
    ConfigProfileNeeded,
    NameOfThisMachine,
    SetupCancelled,
)
from scratchflow.model.errors.ssh import HostNotFound
from scratchflow.model.events import Event, Log
from scratchflow.model.requests import Hold
from scratchflow.model.results.setup import ClusterSetUp
from tests.unit.flows.setup.answers import NOBODY, Answers

ONE = '[profiles.uni]\nlogin = "aws"\n'
TWO = f'{ONE}[profiles.lab]\nlogin = "lab"\n'


class Desk:
    """What is set up is noted and not done."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = directory / "config.toml"
        self.environment = {"HOME": str(directory), "PATH": "", "USER": "u"}
        self.begun: list[tuple[str, str]] = []
        self.written: list[dict[str, str]] = []
        self.dry_runs: list[Hold] = []
        self.told: list[Event] = []
        self.is_default = True
        monkeypatch.setenv("HOME", str(directory))
        monkeypatch.setenv("XDG_DATA_HOME", str(directory / "data"))
        monkeypatch.setattr(setting_up, "set_up", self._set_up)
        monkeypatch.setattr(module, "hosts_in_config", lambda _: ["aws", "lab"])
        monkeypatch.setattr(connect, "leads_nowhere", lambda way: way.hostname == "nowhere")
        monkeypatch.setattr(module, "is_set_up", lambda settings: settings.name == "uni")

    def _set_up(self, *given: Any, may_ask: bool) -> ClusterSetUp:
        options: SetupOptions = given[3]
        assert not may_ask  # as the caller has it
        self.begun.append((options.name, options.login))
        self.written.append(dict(options.values))
        if options.dry_run:
            self.dry_runs.append(options.request)
        return ClusterSetUp(
            profile=options.name or "new",
            login=options.login,
            reached_by="",
            agent="",
            python="",
            config_diff="",
            ssh_config_diff="",
            checks=[],
            is_default=self.is_default,
        )

    def caller(self, text: str = "", profile: str | None = None) -> Caller:
        self.file.write_text(text)
        return Caller(Asked(config=str(self.file), profile=profile), self.environment)

    def set_up(self, caller: Caller, asker: Answers, login: str = "", name: str = "") -> None:
        set_up_chosen(caller, self.told.append, SetupOptions(login=login, name=name), asker)

    def up(self, caller: Caller, asker: Answers, login: str = "", **flags: Any) -> str | None:
        options = {"local": False, **flags}
        return ready_to_work(caller, self.told.append, login, asker, **options).asked.profile


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_what_ends_it_says_the_command_with_what_was_typed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(*_: object, **__: object) -> ClusterSetUp:
        raise SetupCancelled(login="aws")

    monkeypatch.setattr(setting_up, "set_up", cancelled)
    options = SetupOptions(login="aws", name="lab", values={"store": "/data"})
    with pytest.raises(SetupCancelled) as caught:
        set_up_chosen(desk.caller(), desk.told.append, options, NOBODY)
    assert caught.value.shown_hint == "`scratchflow setup aws --name lab --store /data` asks again"


@pytest.mark.parametrize(
    ("text", "profile", "login", "begun"),
    [
        (ONE, None, "", ("uni", "aws")),
        (ONE, None, "other", ("", "other")),
        (TWO, "lab", "", ("lab", "lab")),
        (f'default_profile = "lab"\n{TWO}', None, "", ("lab", "lab")),
    ],
)
def test_what_is_known_is_not_asked_for(
    desk: Desk, text: str, profile: str | None, login: str, begun: tuple[str, str]
) -> None:
    desk.set_up(desk.caller(text, profile), NOBODY, login)
    assert desk.begun == [begun]


def test_of_two_clusters_none_is_guessed(desk: Desk) -> None:
    with pytest.raises(ConfigProfileNeeded) as needed:
        desk.set_up(desk.caller(TWO), Answers())
    assert "uni, lab" in needed.value.shown_hint
    assert desk.begun == []


@pytest.mark.parametrize(("answer", "login"), [("2", "lab"), ("", "aws"), ("me@x", "me@x")])
def test_a_person_chooses_among_the_hosts_or_types_one(desk: Desk, answer: str, login: str) -> None:
    desk.set_up(desk.caller(), Answers(answer))
    assert desk.begun == [("", login)]


@pytest.mark.parametrize("login", ["-oProxyCommand=x", "a b", "a;b", "$(x)"])
def test_what_is_no_host_goes_no_further(desk: Desk, login: str) -> None:
    with pytest.raises(UsageInvalid, match="not a host"):
        desk.set_up(desk.caller(), NOBODY, login)
    assert desk.begun == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("-oProxyCommand=x", "`-oProxyCommand=x` is not a host as ssh takes it"),
        ("$(x)", "`$(x)` is not a host as ssh takes it"),
        ("nowhere", "cannot find a host named `nowhere`"),
    ],
)
def test_a_person_who_chose_no_host_is_told_why_and_asked_again(
    desk: Desk, wrong: str, said: str
) -> None:
    asker = Answers(wrong, "lab.example")
    desk.set_up(desk.caller(), asker)
    assert desk.begun == [("", "lab.example")]
    assert said in " ".join(asker.said)


def test_an_unknown_profile_without_a_host_is_refused(desk: Desk) -> None:
    with pytest.raises(UsageInvalid, match="no profile `new`"):
        desk.set_up(desk.caller(ONE, "new"), Answers())


@pytest.mark.parametrize("login", ["aws", ""])
def test_no_cluster_hides_the_profile_of_this_machine(desk: Desk, login: str) -> None:
    with pytest.raises(NameOfThisMachine) as caught:
        desk.set_up(desk.caller(profile="local"), NOBODY, login)
    assert f"`scratchflow setup {login or 'LOGIN'} --name NAME`" in caught.value.shown_hint
    with pytest.raises(NameOfThisMachine):
        desk.set_up(desk.caller(), NOBODY, "aws", name="local")
    with pytest.raises(NameOfThisMachine):
        desk.up(desk.caller(profile="local"), NOBODY, "aws")
    assert desk.begun == []
    mine = '[profiles.local]\nlogin = "aws"\nscheduler = "slurm"\n'
    desk.set_up(desk.caller(mine, profile="local"), NOBODY, login)
    assert desk.begun == [("local", "aws")], "somebody wrote that cluster into the file"


def test_up_begins_nothing_where_all_is_set_up(desk: Desk) -> None:
    assert desk.up(desk.caller(ONE), NOBODY) is None
    assert desk.up(desk.caller(TWO), NOBODY, "aws") == "uni"
    assert desk.begun == []


def test_up_sets_up_what_is_in_the_file_and_not_yet_here(desk: Desk) -> None:
    caller = desk.caller(TWO, "lab")
    assert desk.up(caller, NOBODY) == "lab"
    assert desk.begun == []
    assert desk.up(caller, Answers(agrees=True, can_ask=False)) == "lab"
    assert desk.begun == [("lab", "lab")]


def test_up_on_a_machine_without_a_cluster_asks_and_never_begins_one_by_itself(
    desk: Desk,
) -> None:
    with pytest.raises(ClusterMissing):
        desk.up(desk.caller(), NOBODY)
    assert desk.up(desk.caller(), Answers("2")) == "local"
    assert desk.begun == []
    assert desk.up(desk.caller(), Answers("1", "1")) == "new"
    assert desk.begun == [("", "aws")]


def test_up_local_needs_no_question(desk: Desk) -> None:
    assert desk.up(desk.caller(ONE), NOBODY, local=True) == "local"


@pytest.mark.parametrize(
    ("text", "profile", "login", "begun"),
    [
        ("", None, "other", ("", "other")),
        ("", "mine", "other", ("mine", "other")),
        (ONE, None, "other", ("", "other")),
        (TWO, None, "lab", ("lab", "lab")),
        (TWO, "lab", "", ("lab", "lab")),
        (TWO, None, "aws", None),
        (ONE, None, "", None),
        ("", None, "", None),
    ],
)
def test_a_dry_run_foretells_the_set_up_that_would_come_first(
    desk: Desk, text: str, profile: str | None, login: str, begun: tuple[str, str] | None
) -> None:
    caller = desk.caller(text, profile)
    foretold = foretold_set_up(caller, desk.told.append, login, NOBODY, Hold(node="n1"))
    assert desk.begun == ([begun] if begun else [])
    assert (foretold is None) == (begun is None)
    assert desk.dry_runs == ([Hold(node="n1")] if begun else [])


def test_one_that_is_not_the_default_says_how_to_call_it_next_time(desk: Desk) -> None:
    desk.is_default = False
    desk.up(desk.caller(ONE), Answers(), "other")
    (remark,) = [event.message for event in desk.told if isinstance(event, Log)]
    assert remark == "next time: `scratchflow -p new up`"


def test_a_first_up_writes_the_partition_that_was_asked_for_as_setup_would(desk: Desk) -> None:
    values = {"slurm.partition": "gpu"}
    desk.up(desk.caller(), NOBODY, "aws", values=values)
    desk.up(
        desk.caller(TWO), NOBODY, "lab", values=values
    )  # a profile that is there is not changed
    assert desk.written == [values]


def test_the_hosts_to_choose_from_are_those_of_the_ssh_config(desk: Desk) -> None:
    assert desk.begun == []
    assert list_hosts().hosts == ["aws", "lab"]


def test_one_host_is_listed_if_its_name_leads_anywhere(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "leads_nowhere", lambda host: host.name != "me@aws")
    assert list_hosts("me@aws").hosts == ["me@aws"]
    assert list_hosts("local").hosts == ["local"]
    with pytest.raises(HostNotFound, match="cannot find a host named `nonesuch`"):
        list_hosts("nonesuch")
    with pytest.raises(UsageInvalid, match="not a host"):
        list_hosts("-oProxyCommand=x")
    assert desk.begun == []
