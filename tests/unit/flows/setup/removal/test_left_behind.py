"""What `setup --remove` leaves is named with the command that removes it, and that removes nothing else."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.removal.in_use import InUse
from scratchflow.flows.setup.removal.left_behind import left_behind, left_of_profile
from scratchflow.flows.setup.removal.traces import ClosedPlace, Traces, WorkspaceTrace
from scratchflow.model.profile import Profile
from scratchflow.model.results.status import ElsewhereShown, SubmittedOpen
from tests.unit.flows.setup.removal.conftest import STORE, commands, found, left
from tests.unit.flows.told import ToldCluster


def test_no_snapshots_and_no_copies_are_not_named(settings: Settings) -> None:
    (profile,) = left(settings, found())
    assert "profile" in profile.what


def test_what_does_not_go_with_the_agent_is_named(settings: Settings) -> None:
    entries = ("agent", "stores", "current", "store", "scratch")
    *_, notes = left(settings, found(entries=entries))
    assert notes.what == "store, scratch in ~/.local/share/scratchflow on `aws`"
    assert "`ssh aws 'rm -rf ~/.local/share/scratchflow'`" in notes.how
    (profile,) = left(settings, found(entries=entries[:3]))
    assert "profile" in profile.what


def test_without_a_cluster_nothing_of_one_is_named(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}, profile='scheduler = "none"').settings
    assert [one.what for one in left(settings, None) if "snapshot" in one.what] == []


def test_of_all_profiles_each_is_named(settings: Settings) -> None:
    others = {"short": Profile(login="aws")}
    named = [one.how for one in left_behind(settings, None, others, all_profiles=True)]
    assert "`scratchflow profiles remove short`" in named
    assert "`scratchflow profiles remove short`" not in [
        one.how for one in left_behind(settings, None, others)
    ]


def test_what_commands_remember_on_the_cluster_is_named(settings: Settings) -> None:
    *_, notes = left(settings, Traces(has_state=True))
    assert "~/.local/state/scratchflow on `aws`" in notes.what
    assert notes.how == "`ssh aws 'rm -rf ~/.local/state/scratchflow'`"
    assert len(left(settings, Traces())) == len(left(settings, Traces(has_state=True))) - 1


@pytest.mark.parametrize(
    ("store", "traces", "begins"),
    [
        ("/fsx/s", found(WorkspaceTrace("/fsx/s", "w", 1)), ["the work", "1 snapshot in /fsx/s/w"]),
        ("/fsx/s", found(WorkspaceTrace("/fsx/s", "w", 0)), ["the work", "a store without snap"]),
        ("/fsx/s", found(WorkspaceTrace("/fsx/s", "other", 5)), []),
        ("/h/$USER/${HOME}", found(), []),
        ("$PROJECT/s", found(), ["the work", "its snapshots, if there are any"]),
        ("/fsx/$USERS", found(), ["the work", "its snapshots, if there are any"]),
        ("/fsx/s", None, ["the work", "its snapshots, if there are any"]),
    ],
)
def test_of_a_removed_profile_only_what_may_be_there_is_named(
    settings: Settings, store: str, traces: Traces | None, begins: list[str]
) -> None:
    profile = msgspec.structs.replace(settings.profile, store=store)
    lines = list(left_of_profile(msgspec.structs.replace(settings, profile=profile), traces, {}))
    assert len(lines) == len(begins)
    assert all(line.startswith(begin) for line, begin in zip(lines, begins, strict=True))


def test_of_a_removed_profile_the_copies_on_nodes_go_before_their_snapshots(
    settings: Settings,
) -> None:
    copy, snapshots = left_of_profile(settings, found(WorkspaceTrace(STORE, "w", 2)), {})
    assert "removes it, before its snapshots are removed" in copy
    assert snapshots.endswith("removes them for good, after the copies on nodes")


def test_no_command_is_offered_that_removes_what_another_profile_has_too(
    settings: Settings,
) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 1))
    second = msgspec.structs.replace(settings.profile, store="/fsx/second")
    workspace, snapshots = left_of_profile(settings, traces, {"second": second})
    assert "`ssh aws " in snapshots
    assert "rm -rf" not in workspace
    assert workspace.endswith("it is also that of profile `second`")
    both = {"second": second, "third": settings.profile}
    assert "rm -rf" not in " ".join(left_of_profile(settings, traces, both))


def test_of_all_profiles_the_agents_on_other_login_hosts_are_named(settings: Settings) -> None:
    others = {"second": Profile(login="aws"), "bob": Profile(login="bob@lab")}
    first, *rest = left_behind(settings, found(), others, all_profiles=True)
    assert first.what == "the agent and our notes on `bob@lab`, of profile `bob`"
    assert "`scratchflow -p bob setup --remove`" in first.how
    assert not any("the agent" in one.what for one in [*rest, *left(settings, found(), **others)])


def test_no_command_that_removes_what_a_job_needs_is_shown_without_that_job(
    settings: Settings,
) -> None:
    lab = msgspec.structs.replace(settings.profile, workspace="lab")
    traces = found(
        WorkspaceTrace(STORE, "lab", 2, ("n2",)),
        WorkspaceTrace(STORE, "w", 1, ("n1",), jobs=1),
        WorkspaceTrace(STORE, "z", 1),
        entries=("agent", "store"),
    )
    held = [ElsewhereShown(profile="lab", job_id=45, state="running", node="n2")]
    in_use = InUse(held, [SubmittedOpen(job_id=37, waits=True)])
    shown = left_behind(settings, traces, {"lab": lab}, all_profiles=True, in_use=in_use)
    hows = [one.how.partition("`")[0] for one in shown[:-1] if "rm -rf" in one.how]
    assert hows == [
        "only when job 45 has ended, which may need it: ",
        "only when job 45 has ended, which may need it: ",
        "only when job 37 has ended, which may need it: ",
        "only when job 45 has ended, which saves there: ",
        "only when job 37 has ended, which may need it: ",
        "",
        "only when jobs 45, 37 have ended, which may need it: ",
    ]
    free = left_behind(settings, traces, {"lab": lab}, all_profiles=True)
    assert not any("only when" in one.how for one in free)


def test_no_command_removes_what_another_profile_still_uses(
    settings: Settings, places: dict[str, Path]
) -> None:
    """Somebody may paste the whole list while the other profile works on."""
    mini = msgspec.structs.replace(settings.profile, workspace="work")
    traces = Traces(
        workspaces=(
            WorkspaceTrace(STORE, "work", 9, ("n2",)),
            WorkspaceTrace(STORE, "w", 1, ("n1",), jobs=1),
        ),
        entries=("store",),
        has_state=True,
    )
    for place in places.values():
        (place / "x").mkdir(parents=True)
    shown = left(settings, traces, mini=mini)
    _, copies, snapshots = commands(shown).splitlines()
    assert "ada's store/w" in shlex.split(snapshots.split("`")[1])[-1]
    assert "`rm -rf /scratch/ada/w /scratch/ada/.scratchflow/w` in a job on each" in copies
    kept = [one.what for one in shown if one.how.startswith("still used by profile `mini`; ")]
    assert kept[0] == "/scratch/ada/work on the scratch of n2"
    assert kept[2] == "9 snapshots in /fsx/ada's store/work on `aws`, of profile `mini`"
    del kept[2]
    assert [what.split()[0] for what in kept[1:]] == ["copies", "what", "store", "notes", "what", "the"]  # fmt: skip
    says = "`scratchflow -p mini setup --remove --all` says how to remove it"
    assert all(one.how.endswith(says) for one in shown if "still used" in one.how)
    (places["DATA"] / "store").mkdir()
    (local,) = [one for one in left(settings, traces, mini=mini) if "`local`" in one.what]
    assert local.how == f"still used by profile `local`; {says}"
    every = left_behind(settings, traces, {"mini": mini}, all_profiles=True)
    assert not any("still used" in one.how for one in every)
    assert "`rm -rf /scratch/ada/work /scratch/ada/w /scratch/ada/.scratchflow`" in commands(every)


def test_snapshots_of_a_profile_in_a_store_that_cannot_be_read_are_named(
    settings: Settings,
) -> None:
    traces = Traces(closed=(ClosedPlace(STORE, "w", "Permission denied"),))
    _, snapshots = left_of_profile(settings, traces, {})
    assert snapshots.startswith("its snapshots, if there are any, in /fsx/ada's store/w")


def test_a_workspace_with_a_space_is_named_with_all_that_is_of_it(settings: Settings) -> None:
    shown = left(settings, found(WorkspaceTrace(STORE, "my work", 2, ("n1",))))
    text = commands(shown)
    assert any("/fsx/ada's store/my work" in one.what for one in shown)
    assert '"/scratch/ada/my work" /scratch/ada/.scratchflow' in text


def test_what_sync_left_in_the_home_is_named_and_not_what_only_the_user_has_there(
    settings: Settings,
) -> None:
    def shown(traces: Traces, *synced: str, **others: Profile) -> list[str]:
        found = left_behind(settings, traces, others, synced=synced)
        return [one.how for one in found if "~/.unison" in one.what]

    ran, other = Traces(has_unison=True, ran_sync=True), Traces(has_unison=True)
    (how,) = shown(ran)
    assert how == (
        "only if you do not use unison yourself: `ssh aws 'rm -rf ~/.unison'`: gone for good"
    )
    assert (shown(other), shown(other, "p")) == ([], [how])
    (used,) = shown(ran, "p", "second", second=settings.profile)
    assert used.startswith("still used by profile `second`")
    assert shown(ran, "p", "far", far=Profile(login="far")) == [how]


def test_the_program_itself_comes_last_unless_another_profile_stays(settings: Settings) -> None:
    other = {"other": Profile(login="lab")}
    for others, all_profiles in (({}, False), ({}, True), (other, True)):
        *_, last = left_behind(settings, Traces(), others, all_profiles=all_profiles)
        assert last.what.startswith("scratchflow itself, in ")
        assert "uninstall scratchflow" in last.how
    staying = left_behind(settings, Traces(), other)
    assert not any("scratchflow itself" in one.what for one in staying)


def test_only_notes_and_caches_are_small(settings: Settings, places: dict[str, Path]) -> None:
    for place in places.values():
        (place / "x").mkdir(parents=True)
    workspace = WorkspaceTrace("~/scratchflow", "w", 1, ("n1",), jobs=1)
    traces = Traces(workspaces=(workspace,), entries=("store",), has_state=True)
    shown = left(settings, traces)
    assert [one.what.partition(" in ")[0] for one in shown if one.is_small] == [
        "~/scratchflow on `aws`, which is empty after that",
        "what commands remember",
        "notes",
        "what commands remember, and crash reports,",
        "the cache",
    ]
    (places["DATA"] / "store").mkdir()
    assert not any("`local`" in one.what for one in left(settings, traces) if one.is_small)
    mini = left(settings, traces, mini=settings.profile)
    assert not any(one.is_small for one in mini if "still used" in one.how)
