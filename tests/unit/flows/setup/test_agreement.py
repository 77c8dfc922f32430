"""What a failed check leads to: another value where a person can give one, else the error that fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.sites import GENERIC, site_named
from scratchflow.flows.setup import agreement as module
from scratchflow.flows.setup.agreement import _ask_each, _corrected, agree, checked
from scratchflow.flows.setup.draft import Draft, SetupOptions, draft_for
from scratchflow.flows.setup.profiles import Known
from scratchflow.model.errors.base import Declined, ScratchflowError
from scratchflow.model.errors.config import SetupIncomplete
from scratchflow.model.errors.slurm import SlurmMissing, SlurmUnreachable
from scratchflow.model.events import Checked
from scratchflow.model.results.checks import Check
from scratchflow.ssh.config import include
from scratchflow.ssh.config.paths import SshPaths
from tests.unit.flows.setup.test_propose import cluster

NO_SITE = site_named(GENERIC)
STORE = Check(name="store", ok=False, detail="no", fix="another one")
TIME = Check(name="slurm", ok=False, detail="no", fix="`scratchflow config set slurm.time 10:00`")
PARTITION = Check(name="slurm", ok=False, detail="no", fix="there are debug, gpu")
FIX = "`scratchflow config set slurm.time 04:00:00`"
TMUX = Check(name="tmux", ok=False, detail="not there", fix="install it")


class Person:
    """Gives the same answers in turn; nobody when there are none."""

    agrees = False

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    @property
    def can_ask(self) -> bool:
        return bool(self.answers)

    def tell(self, lines: Iterable[str]) -> None:
        self.asked += lines

    def text(self, question: str, default: str = "") -> str:
        self.asked.append(f"{question} [{default}]")
        return self.answers.pop(0) or default

    def confirm(self, question: str, *, default: bool = True) -> bool:
        raise AssertionError(question, default)

    def letter(self, question: str, letters: str) -> str:
        raise AssertionError(question, letters)

    def choose(self, question: str, choices: Sequence[str], *, takes_text: bool = False) -> str:
        raise AssertionError(question, choices, takes_text)


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    options = SetupOptions(login="login", values={"store": "/root/x"})
    return draft_for(tmp_path / "config.toml", Known({}), options, cluster(), NO_SITE)


def values(draft: Draft) -> dict[str, str]:
    return {one.key: one.value for one in draft.values}


@pytest.mark.parametrize(
    ("check", "key", "default"),
    [
        (STORE, "store", "~/scratchflow"),
        (TIME, "slurm.time", "00:10:00"),
        (PARTITION, "slurm.partition", "debug"),
    ],
)
def test_a_person_is_asked_for_the_value_that_failed(
    draft: Draft, check: Check, key: str, default: str
) -> None:
    person = Person("")
    changed = _corrected(draft, [check], cluster(), "login", person)
    assert default in person.asked[0]
    assert values(changed)[key] == default


def test_a_value_that_no_profile_may_hold_is_asked_for_again(draft: Draft) -> None:
    person = Person("relative/path", "/fsx/me")
    changed = _corrected(draft, [STORE], cluster(), "login", person)
    assert values(changed)["store"] == "/fsx/me"
    assert any("must be an absolute path" in line for line in person.asked)


def test_where_nobody_can_answer_the_flags_are_named(draft: Draft) -> None:
    with pytest.raises(SetupIncomplete) as caught:
        _corrected(draft, [STORE, TIME], cluster(), "login", Person())
    assert caught.value.exit_code == 10
    assert "`scratchflow setup login --store PATH --time TIME`" in caught.value.shown_hint


def test_where_nobody_can_agree_it_is_said_where_the_profile_would_go(
    draft: Draft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "checked", lambda *_, **__: [])
    plan = include.plan_install(SshPaths.of(str(tmp_path / "ssh/config")))
    way: Any = None  # nothing is asked over it
    with pytest.raises(Declined) as caught:
        agree(draft, way, cluster(), plan, lambda _: None, Person())
    assert f"by hand: `[profiles.login]` in {draft.place}" in caught.value.shown_hint


def test_what_no_value_mends_is_not_asked_for(draft: Draft) -> None:
    with pytest.raises(SetupIncomplete):
        _corrected(draft, [TMUX], cluster(), "login", Person("anything"))


@pytest.mark.parametrize(("has_slurm", "error"), [(True, SlurmUnreachable), (False, SlurmMissing)])
def test_without_slurm_no_other_value_helps(
    draft: Draft, has_slurm: bool, error: type[ScratchflowError]
) -> None:
    away = cluster(slurm_problem="why", has_slurm=has_slurm, partitions=[])
    with pytest.raises(error) as caught:
        _corrected(draft, [PARTITION], away, "login", Person("anything"))
    assert type(caught.value) is error
    assert caught.value.exit_code == 20


def test_a_value_that_is_kept_keeps_its_reason_and_the_time_follows_the_partition(
    draft: Draft,
) -> None:
    person = Person("gpu", "", "", "", "", "")
    changed = _ask_each(draft, cluster(), person)
    assert changed.value("slurm.partition").value == "gpu"
    assert changed.value("slurm.time").value == "08:00:00"
    assert "time [08:00:00]" in person.asked
    for key in ("scratch", "workspace", "alias"):
        assert changed.value(key) == draft.value(key)


def test_a_partition_that_the_cluster_does_not_have_is_asked_for_again_at_once(
    draft: Draft,
) -> None:
    person = Person("gpuu", "zzz", "gpu", "", "", "", "", "")
    changed = _ask_each(draft, cluster(), person)
    assert changed.value("slurm.partition").value == "gpu"
    said = "\n".join(person.asked)
    assert "no partition `gpuu` takes jobs; did you mean `gpu`?" in said
    assert "no partition `zzz` takes jobs; there are debug" in said


def test_a_time_that_the_chosen_partition_does_not_allow_is_asked_for_again_at_once(
    draft: Draft,
) -> None:
    person = Person("debug", "5h", "", "", "", "", "", "")
    changed = _ask_each(draft, cluster(), person)
    assert changed.value("slurm.time").value == "00:10:00"
    assert "✗ time: `debug` allows 10m at most" in person.asked
    in_gpu = draft.with_value("slurm.partition", "gpu")
    again = Person("")
    _corrected(in_gpu, [TIME], cluster(), "login", again)
    assert "time [08:00:00]" in again.asked


def test_a_partition_that_is_typed_again_is_taken_all_the_same(draft: Draft) -> None:
    person = Person("night", "night", "", "", "", "", "")
    assert _ask_each(draft, cluster(), person).value("slurm.partition").value == "night"


@pytest.mark.parametrize(("asks", "fix"), [(False, "`--time 04:00:00`"), (True, "")])
def test_no_flag_is_named_where_a_question_for_the_value_follows(
    draft: Draft, monkeypatch: pytest.MonkeyPatch, *, asks: bool, fix: str
) -> None:
    def answer(*given: Any) -> dict[str, Any]:
        given[-1](Checked(name="slurm", ok=False, detail="too long", fix=FIX))
        return {"checks": []}

    monkeypatch.setattr(module, "ask_agent", answer)
    way: Any = None
    told: list[Any] = []
    checked(draft, way, cluster(), told.append, set(), asks=asks)
    assert [one.fix for one in told if isinstance(one, Checked)] == [fix]
