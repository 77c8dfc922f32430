"""`setup --remove` takes back what `setup` did, and nothing that another profile or a job still uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.config.edit import apply_edits
from scratchflow.config.settings import Asked
from scratchflow.flows.setup.removal import remove as module
from scratchflow.flows.setup.removal.remove import RemoveOptions, remove
from scratchflow.flows.setup.removal.traces import Traces, WorkspaceTrace
from scratchflow.model.errors.agent import AgentMissing
from scratchflow.model.errors.allocation import AllocationHeld, HeldOutOfReach
from scratchflow.model.errors.base import Declined, UsageInvalid
from scratchflow.model.errors.ssh import CommandTimedOut, ConnectionLost
from scratchflow.model.events import Event, Progress
from scratchflow.model.results.setup import SetupRemoved
from scratchflow.model.results.status import (
    AllocationShown,
    ElsewhereShown,
    JobsShown,
    SubmittedOpen,
)
from scratchflow.ssh.config import include
from scratchflow.ssh.config.alias import park_alias, point_alias, read_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.transport.local import LocalTransport
from tests.unit.flows.setup.answers import NOBODY, Answers
from tests.unit.flows.told import job

USERS_LINES = "Host mine\n  User ada\n"
YES = Answers(agrees=True, can_ask=False)


class Laptop:
    """Two profiles that are set up, and a cluster that answers what a test says."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.places = SshPaths.of(str(directory / "ssh/config"))
        self.places.config.parent.mkdir()
        self.places.config.write_text(USERS_LINES)
        include.apply(include.plan_install(self.places))
        self.file = directory / "config.toml"
        self.ours: list[AllocationShown] = []
        self.others: list[ElsewhereShown] = []
        self.submitted: list[SubmittedOpen] = []
        self.failure: Exception | None = None
        self.told: list[Event | str] = []
        self.uninstalled = 0
        self.traces = Traces(agents=("1.0-abc",), entries=("agent",))
        self.stores: list[str] = []
        self.is_store_away = False
        monkeypatch.setattr(module, "look_for_traces", self._look)
        # A host without a profile has its lines in the ssh config of the home: never that of whoever runs the tests.
        monkeypatch.setenv("HOME", str(directory))
        monkeypatch.setenv("XDG_CACHE_HOME", str(directory / "cache"))
        monkeypatch.setattr(module, "reach_login", self._reach)
        monkeypatch.setattr(module, "ask_once", self._call)
        monkeypatch.setattr(module, "uninstall", self._uninstall)
        self.ended: list[str] = []
        monkeypatch.setattr(
            module, "end_shared_login", lambda one, _: self.ended.append(one.profile.login)
        )

    def profiles(self, **logins: str) -> None:
        """A profile each, with an alias of its name that is parked."""
        ssh = f'ssh_config = "{self.places.config}"'
        texts = [
            f'[profiles.{name}]\nlogin = "{login}"\nalias = "{name}"\n{ssh}\n'
            for name, login in logins.items()
        ]
        self.file.write_text("".join(texts))
        for name in logins:
            park_alias(self.places, name)

    @contextmanager
    def _reach(self, *_: object, **__: object) -> Iterator[LocalTransport]:
        if self.failure:
            raise self.failure
        self.told.append("reached")
        yield LocalTransport()

    def _call(self, _: object, request: Any, *__: object, **___: object) -> Any:
        assert request.do == "jobs open"
        self.told.append("asked")
        if not request.arguments.get("any_profile"):
            return msgspec.to_builtins(JobsShown(jobs=self.ours))
        every = JobsShown(jobs=self.ours, elsewhere=self.others, submitted=self.submitted)
        return msgspec.to_builtins(every)

    def _look(self, _: object, stores: list[str]) -> Traces:
        self.stores = stores
        self.told.append("looked")
        if self.is_store_away:
            raise CommandTimedOut(command="sh", host="aws", seconds=60)
        return self.traces

    def _uninstall(self, _: object) -> None:
        self.uninstalled += 1
        self.told.append("uninstalled")

    def remove(self, asker: Answers = YES, **options: Any) -> SetupRemoved:
        asked = Asked(config=str(self.file), profile=None if options.get("login") else "uni")
        wanted = RemoveOptions(**options)
        return remove(asked, {"HOME": "/h"}, self.told.append, asker, wanted, may_ask=False)

    @property
    def aliases(self) -> list[str]:
        return [name for name in ("uni", "lab") if read_alias(self.places, name)]

    @property
    def is_untouched(self) -> bool:
        return "uni" in self.aliases and self.places.config.read_text() != USERS_LINES


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    return Laptop(tmp_path, monkeypatch)


def test_the_users_ssh_config_is_as_it_was_before(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    done = laptop.remove()
    assert laptop.places.config.read_text() == USERS_LINES
    assert laptop.aliases == []
    assert (done.agent_removed, laptop.uninstalled, done.kept) == (True, 1, [])
    assert any("profile `uni`" in left.what for left in done.left)


def test_each_step_that_takes_time_is_told_before_it_begins(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    laptop.remove()
    assert [one.phase if isinstance(one, Progress) else one for one in laptop.told] == [
        "connecting to aws",
        "reached",
        "looking for what is there",
        "looked",
        "looking for jobs",
        "asked",
        "asked",
        "removing the agent",
        "reached",
        "uninstalled",
    ]


@pytest.mark.parametrize("all_profiles", [False, True])
def test_a_copy_of_the_ssh_config_that_was_taken_away_is_not_listed_as_left(
    laptop: Laptop, *, all_profiles: bool
) -> None:
    laptop.profiles(uni="aws")
    assert laptop.places.backup.is_file()
    done = laptop.remove(all_profiles=all_profiles)
    assert not laptop.places.backup.exists()
    assert not any(str(laptop.places.backup) in left.what for left in done.left)


def test_a_copy_of_the_ssh_config_that_differs_from_it_stays_and_is_listed(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    with laptop.places.config.open("a") as lines:
        lines.write("Host another\n")
    done = laptop.remove()
    (left,) = [left for left in done.left if str(laptop.places.backup) in left.what]
    assert laptop.places.backup.is_file()
    assert left.how == f"`rm {laptop.places.backup}`"


def test_a_dry_run_asks_nobody_and_changes_nothing(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    laptop.failure = AssertionError("reached")
    done = laptop.remove(NOBODY, dry_run=True)
    assert done.ssh_config_diff
    assert done.dry_run
    assert laptop.is_untouched


def test_a_dry_run_says_that_a_node_that_is_held_will_keep_it(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    assert laptop.remove(NOBODY, dry_run=True).kept == []
    point_alias(laptop.places, "uni", AliasTarget("uni", "node-3", "ada", "aws"))
    (kept,) = laptop.remove(NOBODY, dry_run=True).kept
    assert "because node `node-3` is held: `scratchflow -p uni clear`" in kept


def test_a_profile_that_holds_a_node_stays_set_up(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    for held in (job(7), job(7, "pending")):
        laptop.ours = [held]
        with pytest.raises(AllocationHeld, match="7"):
            laptop.remove()
    assert laptop.is_untouched
    assert laptop.uninstalled == 0


def test_every_node_that_is_held_is_named_at_once(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws")
    laptop.ours = [job(6), job(7)]
    laptop.others = [
        ElsewhereShown(profile="lab", job_id=45, state="running", node="node-2"),
        ElsewhereShown(profile="far", job_id=46, state="pending", node=None),
    ]
    with pytest.raises(AllocationHeld) as caught:
        laptop.remove()
    told = caught.value.shown_hint
    assert "job 45 of profile `lab` holds `node-2` too: `scratchflow -p lab clear`" in told
    assert "job 6 of this profile holds" in told
    assert (
        "job 46 of profile `far` waits for a node too: `scratchflow --config FILE -p far clear`"
        in told
    )


@pytest.mark.parametrize("asker", [Answers(False), NOBODY], ids=["no", "nobody"])
def test_without_an_agreement_everything_stays(laptop: Laptop, asker: Answers) -> None:
    laptop.profiles(uni="aws")
    with pytest.raises(Declined):
        laptop.remove(asker)
    assert laptop.is_untouched
    assert laptop.uninstalled == 0


def test_what_another_profile_of_the_same_host_uses_stays_and_is_named(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws")
    done = laptop.remove()
    assert laptop.aliases == ["lab"]
    assert laptop.places.config.read_text() != USERS_LINES
    assert (done.agent_removed, laptop.uninstalled) == (False, 0)
    (kept,) = done.kept
    assert kept == (
        "our lines in ~/ssh/config and the agent and our notes in ~/.local/share/scratchflow on `aws`:"
        " profile `lab` uses them; `scratchflow -p lab setup --remove` removes them"
    )
    done = laptop.remove(login="lab")  # as the message says
    assert (done.agent_removed, laptop.uninstalled, done.kept) == (True, 1, [])
    assert laptop.places.config.read_text() == USERS_LINES


def test_two_profiles_of_one_alias_come_to_an_end_by_what_the_message_says(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws", here="local")
    text = laptop.file.read_text().replace('alias = "lab"', 'alias = "uni"')
    here = '[profiles.here]\nscheduler = "none"\nalias = "uni"\n'
    laptop.file.write_text(text.partition("[profiles.here]")[0] + here)
    for name in ("lab", "here"):
        laptop.places.alias_file(name).unlink()
    (kept,) = laptop.remove().kept
    assert "the alias `uni`" in kept
    assert kept.endswith(
        "`scratchflow profiles remove uni`, then `scratchflow -p lab setup --remove` removes them"
    )
    apply_edits(laptop.file, {}, [("profiles", "uni")])
    done = laptop.remove(login="lab")
    assert (done.agent_removed, done.kept) == (True, [])
    assert laptop.aliases == []
    assert laptop.places.config.read_text() == USERS_LINES


def _of_another_file(laptop: Laptop) -> None:
    """The alias of this file's profile is that of another file's as well, which leads to its node."""
    laptop.file.write_text(
        f'[profiles.uni]\nlogin = "aws"\nscheduler = "none"\nalias = "uni"\nssh_config = "{laptop.places.config}"\n'
    )
    point_alias(laptop.places, "uni", AliasTarget("theirs", "node-3", "ada", "aws"))


def test_what_leads_to_a_node_of_another_configuration_file_stays(laptop: Laptop) -> None:
    _of_another_file(laptop)
    done = laptop.remove()
    assert laptop.is_untouched
    assert done.removes == []
    (kept,) = done.kept
    assert "our lines" in kept
    assert "profile `theirs` uses them" in kept
    assert "`scratchflow --config FILE -p theirs setup --remove`" in kept
    asked = laptop.remove(all_profiles=True, dry_run=True)
    assert any("`scratchflow --config FILE -p theirs clear`" in one for one in asked.removes)


def test_where_a_profile_without_a_cluster_has_its_work_is_named(
    laptop: Laptop, tmp_path: Path
) -> None:
    (tmp_path / "my store/work").mkdir(parents=True)
    (tmp_path / "fast/work").mkdir(parents=True)
    places = f'store = "{tmp_path}/my store"\nscratch = "{tmp_path}/fast"\n'
    laptop.file.write_text(f'[profiles.uni]\nscheduler = "none"\n{places}')
    named = [one.how for one in laptop.remove().left[:2]]
    assert named == [
        f'`rm -rf "{tmp_path}/my store/work"`: gone for good',
        f"`rm -rf {tmp_path}/fast/work`: gone for good",
    ]
    more = laptop.file.read_text() + laptop.file.read_text().replace("uni", "more")
    laptop.file.write_text(more)
    assert all("still used by profile `more`" in one.how for one in laptop.remove().left[:2])


def test_a_place_that_nobody_can_look_for_is_named_as_it_is_written(laptop: Laptop) -> None:
    places = 'store = "$NOT_SET_ANYWHERE/store"\nscratch = "$NOT_SET_ANYWHERE/fast"\n'
    laptop.file.write_text(f'[profiles.uni]\nscheduler = "none"\n{places}')
    snapshots, workspace = laptop.remove().left[:2]
    assert "$NOT_SET_ANYWHERE/store/work" in snapshots.what
    assert "$NOT_SET_ANYWHERE/fast/work" in workspace.what
    assert "`$NOT_SET_ANYWHERE` is not set" in workspace.how


def test_on_another_host_the_agent_is_its_own(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="other")
    assert laptop.remove().agent_removed
    assert laptop.aliases == ["lab"]


@pytest.mark.parametrize("holder", ["uni", "lab"])
def test_what_leads_to_a_node_stays_while_nobody_can_say_whether_it_is_held(
    laptop: Laptop, holder: str
) -> None:
    laptop.profiles(uni="aws", lab="aws")
    point_alias(laptop.places, holder, AliasTarget(holder, "node-1", "ada", "aws"))
    laptop.failure = ConnectionLost(host="aws", reason="no route")
    with pytest.raises(HeldOutOfReach, match=f"`node-1` of profile `{holder}`") as refused:
        laptop.remove(all_profiles=True)
    assert laptop.is_untouched
    way_out = refused.value.shown_hint.split("`")[1]
    assert way_out == f"scratchflow profiles remove {holder}"
    park_alias(laptop.places, holder)
    with pytest.raises(ConnectionLost):
        laptop.remove(all_profiles=True)
    assert laptop.aliases == []


def test_with_all_profiles_nothing_is_kept_for_others(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws")
    foretold = laptop.remove(all_profiles=True, dry_run=True).removes
    done = laptop.remove(all_profiles=True)
    assert (done.agent_removed, done.kept) == (True, [])
    assert {"the ssh alias `lab`", "the ssh alias `uni`"} <= {*done.removes} & {*foretold}
    assert laptop.aliases == []
    assert any("profile `lab`" in left.what for left in done.left)
    assert laptop.places.config.read_text() == USERS_LINES


def test_the_agent_stays_while_a_job_of_another_laptop_runs_from_it(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    laptop.others = [ElsewhereShown(profile="far", job_id=8, state="running", node="n1")]
    done = laptop.remove()
    assert (done.agent_removed, laptop.uninstalled) == (False, 0)
    assert "job 8 of profile `far` uses it" in done.kept[0]
    assert (
        "`scratchflow --config FILE -p far clear`, with the FILE that has this profile, here or on another machine, saves"
        in done.kept[0]
    )
    assert "any more, `scratchflow -p uni setup --remove` removes it" in done.kept[0]
    laptop.others = []
    assert laptop.remove().agent_removed


def test_the_agent_stays_for_a_submitted_job_that_has_not_started(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    laptop.submitted = [SubmittedOpen(job_id=37, waits=True)]
    asker = Answers(True)
    done = laptop.remove(asker)
    assert (done.agent_removed, laptop.uninstalled) == (False, 0)
    assert not any("the agent and our notes" in line for line in (*asker.said, *done.removes))
    (kept,) = done.kept
    assert kept == (
        "the agent and our notes in ~/.local/share/scratchflow on `aws`: job 37 uses it when it starts;"
        " when no job uses it any more, `scratchflow -p uni setup --remove` removes it"
    )
    assert done.left[0].what == "submitted job 37, in Slurm's queue"
    assert done.left[0].how == "`scratchflow -p uni cancel 37`, or `ssh aws scancel 37`"
    laptop.submitted = []
    assert laptop.remove().agent_removed


def test_with_all_profiles_a_node_that_another_holds_keeps_everything(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws")
    laptop.others = [
        ElsewhereShown(profile="far", job_id=44, state="running", node="node-1"),
        ElsewhereShown(profile="lab", job_id=45, state="running", node="node-2"),
    ]
    with pytest.raises(AllocationHeld, match="job 45 still holds `node-2`") as caught:
        laptop.remove(all_profiles=True)
    assert caught.value.shown_hint.startswith("`scratchflow -p lab clear` saves the workspace")
    assert laptop.is_untouched
    assert laptop.aliases == ["uni", "lab"]
    assert not laptop.remove().agent_removed  # what `lab` uses stays


def test_a_dry_run_for_all_profiles_names_the_node_of_another(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws")
    point_alias(laptop.places, "lab", AliasTarget("lab", "node-2", "ada", "aws"))
    (kept,) = laptop.remove(NOBODY, dry_run=True, all_profiles=True).kept
    assert "because node `node-2` is held: `scratchflow -p lab clear` gives it back" in kept
    assert not any("is held" in kept for kept in laptop.remove(NOBODY, dry_run=True).kept)
    point_alias(laptop.places, "uni", AliasTarget("uni", "node-1", "ada", "aws"))
    (kept,) = laptop.remove(NOBODY, dry_run=True, all_profiles=True).kept
    assert kept == (
        "everything for now, because nodes `node-1` and `node-2` are held:"
        " `scratchflow -p uni clear` and `scratchflow -p lab clear` give them back; after that:"
    )


def test_with_all_profiles_the_question_says_which_alias_leads_to_a_node_of_another_cluster(
    laptop: Laptop,
) -> None:
    laptop.profiles(uni="aws", lab="other")
    point_alias(laptop.places, "lab", AliasTarget("lab", "node-2", "ada", "other"))
    asker = Answers(True)
    foretold = laptop.remove(NOBODY, dry_run=True, all_profiles=True)
    stays = "the agent and our notes on `other`, of profile `lab`: `scratchflow -p lab setup --remove` removes them"
    assert foretold.kept == [stays]
    done = laptop.remove(asker, all_profiles=True)
    assert asker.said[-3:] == ["This stays:", f"  {stays}", "Remove this?"]
    (told,) = [what for what in done.removes if "`lab`," in what]
    assert told == (
        "the ssh alias `lab`, which leads to `node-2` of profile `lab`:"
        " `scratchflow -p lab clear` saves its workspace and gives it back"
    )
    assert f"  {told}" in asker.said
    assert told in foretold.removes


def test_jobs_that_use_the_agent_are_named_with_what_ends_them(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws")
    laptop.others = [ElsewhereShown(profile="far", job_id=45, state="running", node="node-2")]
    laptop.submitted = [SubmittedOpen(job_id=n, waits=n == 48) for n in (46, 47, 48)]
    done = laptop.remove(all_profiles=True)
    assert (done.agent_removed, laptop.uninstalled) == (False, 0)
    held, waiting, running = (kept.partition("on `aws`: ")[2] for kept in done.kept)
    assert held.startswith(
        "job 45 of profile `far` uses it; `scratchflow --config FILE -p far clear`"
    )
    assert waiting.startswith("job 48 uses it when it starts;")
    assert running.startswith("jobs 46, 47 use it;")
    node, submitted, *_ = done.left
    assert node.what == "job 45 of profile `far`, on node-2"
    there = "`scratchflow --config FILE -p far clear`, with the FILE that has this profile, here or on another machine"
    assert node.how == f"{there}: after a last backup"
    assert submitted.what == "submitted jobs 46, 47, 48, in Slurm's queue or running"
    assert submitted.how == "`ssh aws scancel 46 47 48`"


def test_an_agent_that_stays_for_another_profile_is_not_said_to_go_with_the_jobs(
    laptop: Laptop,
) -> None:
    laptop.profiles(uni="aws", lab="aws")
    laptop.submitted = [SubmittedOpen(job_id=46, waits=True)]
    (kept,) = (one for one in laptop.remove().kept if "the agent" in one)
    assert "profile `lab` uses" in kept
    assert "when no job uses it any more" not in kept


def test_where_no_agent_answers_there_is_nothing_to_refuse_for(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop.profiles(uni="aws")

    def call(*_: object, **__: object) -> None:
        raise AgentMissing(host="aws", reason="not found")

    monkeypatch.setattr(module, "ask_once", call)
    laptop.traces = Traces(workspaces=(WorkspaceTrace("~/scratchflow", "work", 2),))
    done = laptop.remove()
    assert done.agent_removed
    assert any(left.what.startswith("2 snapshots in") for left in done.left)


def test_the_question_names_everything_that_a_yes_does(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    asker = Answers(True)
    done = laptop.remove(asker)
    asked = asker.said[asker.said.index("This removes:") :]
    assert asked == [
        "This removes:",
        "  our lines from ~/ssh/config",
        "  the ssh alias `uni`",
        "  the agent and our notes on `aws`",
        "Remove this?",
    ]
    assert [f"  {what}" for what in done.removes] == asked[1:-1]


def test_enter_removes_nothing(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    with pytest.raises(Declined):
        laptop.remove(Answers(""))
    assert laptop.is_untouched


def test_a_store_that_does_not_answer_keeps_nobody_from_removing(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    laptop.is_store_away = True
    laptop.ours = [job(7)]
    with pytest.raises(AllocationHeld):
        laptop.remove()
    laptop.ours = []
    done = laptop.remove()
    assert (done.agent_removed, laptop.uninstalled) == (True, 1)
    assert any(left.what.startswith("the snapshots in") for left in done.left)


def test_an_agent_alone_is_asked_about_too(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="lab")
    (laptop.places.alias_file("uni")).unlink()
    with pytest.raises(Declined):
        laptop.remove(Answers(False))
    assert laptop.uninstalled == 0


def test_a_host_without_a_profile_is_looked_at(laptop: Laptop) -> None:
    """After a set-up that broke off there is no profile, and the agent may be there."""
    laptop.places.config.write_text(USERS_LINES)
    done = laptop.remove(login="me@login.uni.example")
    assert (done.agent_removed, laptop.uninstalled) == (True, 1)
    assert done.removes == ["the agent and our notes on `me@login.uni.example`"]
    with pytest.raises(UsageInvalid):
        laptop.remove(login="-oProxyCommand=x")


@pytest.mark.parametrize("login", ["aws", "uni"])
def test_a_login_host_or_a_name_means_its_profile(laptop: Laptop, login: str) -> None:
    laptop.profiles(lab="lab", uni="aws")
    assert laptop.remove(login=login).agent_removed
    assert laptop.aliases == ["lab"]


def test_the_stores_of_all_profiles_of_the_host_are_looked_into(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws", other="elsewhere")
    text = laptop.file.read_text().replace('alias = "lab"', 'alias = "lab"\nstore = "/fsx/lab"')
    laptop.file.write_text(text.replace('alias = "other"', 'alias = "other"\nstore = "/x"'))
    laptop.remove()
    assert laptop.stores == ["~/scratchflow", "/fsx/lab"]


def test_a_host_out_of_reach_is_told_once_this_machine_is_clean(laptop: Laptop) -> None:
    laptop.profiles(uni="aws")
    laptop.failure = ConnectionLost(host="aws", reason="no route")
    with pytest.raises(ConnectionLost) as told:
        laptop.remove()
    assert laptop.places.config.read_text() == USERS_LINES
    assert (
        "on this machine, our lines from ~/ssh/config and the ssh alias `uni` went already"
        in told.value.shown_hint
    )


def test_our_connection_to_the_host_ends_unless_another_profile_uses_it(laptop: Laptop) -> None:
    laptop.profiles(uni="aws", lab="aws")
    laptop.remove()
    assert laptop.ended == []
    laptop.profiles(uni="aws", lab="other")
    laptop.failure = ConnectionLost(host="aws", reason="it was cut")
    with pytest.raises(ConnectionLost):
        laptop.remove()
    assert laptop.ended == ["aws"]
