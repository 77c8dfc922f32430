"""What `setup --remove` leaves is named with the command that removes it, and that removes nothing else."""

from __future__ import annotations

import fcntl
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup.in_use import InUse
from scratchflow.flows.setup.left_behind import left_behind, left_of_profile, removal_command
from scratchflow.flows.setup.traces import Traces, WorkspaceTrace
from scratchflow.model.profile import Profile, decode_duration, to_plain
from scratchflow.model.results.setup import LeftBehind
from scratchflow.model.results.status import ElsewhereShown, SubmittedOpen
from scratchflow.workspace.lock import LOOP_LOCK
from scratchflow.workspace.notes import write_base
from scratchflow.workspace.workspace import Workspace
from tests.unit.flows.told import ToldCluster

PROFILE = 'login = "aws"\nstore = "/fsx/ada\'s store/"\nscratch = "/scratch/ada/"\nworkspace = "w"'


STORE = "/fsx/ada's store/"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Where this machine keeps things; none is there yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    kinds = ("CACHE", "DATA", "STATE")
    for kind in kinds:
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / f"my {kind}"))
    return {kind: tmp_path / f"my {kind}" / "scratchflow" for kind in kinds}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return ToldCluster(tmp_path, {}, profile=PROFILE).settings


def found(*workspaces: WorkspaceTrace, entries: tuple[str, ...] = ()) -> Traces:
    return Traces(entries=entries, workspaces=workspaces)


def left(settings: Settings, traces: Traces | None, **others: Profile) -> list[LeftBehind]:
    return left_behind(settings, traces, others)


def test_what_nobody_could_ask_about_is_named_without_a_number(settings: Settings) -> None:
    profile, snapshots = left(settings, None)
    assert str(settings.path) in profile.what
    assert "profiles remove p" in profile.how
    assert snapshots.what.startswith("the snapshots in ")


def test_no_snapshots_and_no_copies_are_not_named(settings: Settings) -> None:
    (profile,) = left(settings, found())
    assert "profile" in profile.what


def test_the_snapshots_of_every_workspace_are_counted_and_theirs_alone_removed(
    settings: Settings,
) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 1), WorkspaceTrace(STORE, "p2", 3))
    _, first, second = left(settings, traces)
    assert first.what == "1 snapshot in /fsx/ada's store/w on `aws`"
    assert second.what == "3 snapshots in /fsx/ada's store/p2 on `aws`"
    assert "gone for good" in second.how
    ssh, login, far = shlex.split(second.how.split("`")[1])
    assert (ssh, login) == ("ssh", "aws")
    assert shlex.split(far) == ["rm", "-rf", "/fsx/ada's store/p2"]


def test_what_is_another_profiles_is_named_as_that(settings: Settings) -> None:
    traces = found(WorkspaceTrace("/s", "work_gpu", 1), WorkspaceTrace("/s", "w", 1))
    gpu = Profile(login="aws", store="/s/", workspace="work_gpu")
    elsewhere = Profile(login="lab", store="/s", workspace="w")
    _, theirs, nobodys = left(settings, traces, gpu=gpu, lab=elsewhere)
    assert theirs.what.endswith("of profile `gpu`")
    assert "profile" not in nobodys.what


def test_the_same_workspace_in_another_store_is_not_told_as_the_other_profiles(
    settings: Settings,
) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 10), WorkspaceTrace("/fsx/second", "w", 2))
    second = Profile(login="aws", store="/fsx/second", workspace="w")
    _, ours, theirs = left(settings, traces, second=second)
    assert ours.what.endswith("of profile `p`")
    assert theirs.what.endswith("of profile `second`")
    third = msgspec.structs.replace(settings.profile, alias="third")
    _, both, _ = left(settings, traces, second=second, third=third)
    assert both.what.endswith("of profiles `p` and `third`")


@pytest.mark.parametrize(
    ("store", "path"),
    [
        ("/fsx/my data", "/fsx/my data/work"),
        ("~/my data", "/home/ada/my data/work"),
        ("/fsx/$USER/s", "/fsx/ada/s/work"),
        ("/fsx/$USER/my data", "/fsx/ada/my data/work"),
        ('/fsx/a "b" (c) * d\\', '/fsx/a "b" (c) * d\\/work'),
    ],
)
def test_a_real_shell_over_there_gets_the_one_path(store: str, path: str) -> None:
    """`rm -rf /fsx/my data/work` would remove `/fsx/my`."""
    far = shlex.split(removal_command("aws", f"{store}/work"))[-1].removeprefix("rm -rf ")
    argv = ["sh", "-c", f"printf '<%s>' {far}"]
    environment = {"HOME": "/home/ada", "USER": "ada", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"<{path}>"


def test_copies_and_our_notes_are_named_by_their_nodes(settings: Settings) -> None:
    first = WorkspaceTrace(STORE, "w", 2, ("n1", "n3"))
    second = WorkspaceTrace(STORE, "p2", 2, ("n2", "n1"))
    *_, copies = left(settings, found(first, second, WorkspaceTrace(STORE, "never", 1)))
    assert copies.what.endswith("n1, n2, n3")
    assert "`rm -rf /scratch/ada/w /scratch/ada/p2 /scratch/ada/.scratchflow`" in copies.how


def _with(settings: Settings, **keys: Any) -> Settings:
    profile = msgspec.convert(
        {**to_plain(settings.profile), **keys}, Profile, dec_hook=decode_duration
    )
    return msgspec.structs.replace(settings, profile=profile)


@pytest.mark.parametrize(
    ("keys", "paths"),
    [
        ({"environment": {"venv": "env"}, "backup": {"also": ["env", "data"]}}, ["env", "data"]),
        ({"environment": {"conda": "./env"}}, ["env"]),
        ({"environment": {"venv": "/scratch/ada/env"}}, ["env"]),
    ],
)
def test_environments_and_what_is_saved_with_the_workspace_are_removed_with_the_copies(
    settings: Settings, keys: dict[str, Any], paths: list[str]
) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 2, ("n1",)))
    *_, copies = shown = left(_with(settings, **keys), traces)
    words = " ".join(f"/scratch/ada/{name}" for name in ("w", *paths, ".scratchflow"))
    assert f"`rm -rf {words}` in a job on each" in copies.how
    assert all(f", /scratch/ada/{name}" in copies.what for name in paths)
    assert not any("if `create --env`" in one.what for one in shown)


def test_an_environment_that_the_profile_does_not_name_is_told_apart(settings: Settings) -> None:
    keys = {"environment": {"venv": "~/env", "conda": "torch"}, "backup": {"also": ["$X/y"]}}
    traces = found(WorkspaceTrace(STORE, "w", 2, ("n1",)))
    *_, made, copies = left(_with(settings, **keys), traces)
    assert "/scratch/ada/env on the scratch of n1, if `create --env` made" in made.what
    assert made.how.startswith("`rm -rf /scratch/ada/env` in a job on each")
    assert "`rm -rf /scratch/ada/w /scratch/ada/.scratchflow`" in copies.how


def test_an_environment_that_another_profile_uses_is_not_removed(settings: Settings) -> None:
    ours = _with(settings, environment={"venv": "env"})
    mini = _with(ours, workspace="work").profile
    traces = found(WorkspaceTrace(STORE, "w", 2, ("n1",)))
    env, copies = left(ours, traces, mini=mini)[-2:]
    assert env.what == "/scratch/ada/env on the scratch of n1"
    assert env.how.startswith("still used by profile `mini`")
    assert "`rm -rf /scratch/ada/w /scratch/ada/.scratchflow/w`" in copies.how
    *_, every = left_behind(settings, traces, {"mini": mini}, all_profiles=True)
    assert "`rm -rf /scratch/ada/w /scratch/ada/env /scratch/ada/.scratchflow`" in every.how


def test_copies_that_jobs_may_have_left_are_named_when_there_were_jobs(settings: Settings) -> None:
    *_, copies = left(settings, found(WorkspaceTrace(STORE, "w", 2, ("n1",), jobs=3)))
    assert copies.what.startswith("copies of jobs, if any: of `jobs debug`")
    assert "`rm -rf /scratch/ada/jobs /scratch/ada/debug` in a job there" in copies.how
    without = left(settings, found(WorkspaceTrace(STORE, "w", 2, ("n1",))))
    assert not [one for one in without if "copies of jobs" in one.what]


def test_what_does_not_go_with_the_agent_is_named(settings: Settings) -> None:
    entries = ("agent", "stores", "current", "store", "scratch")
    *_, notes = left(settings, found(entries=entries))
    assert notes.what == "store, scratch in ~/.local/share/scratchflow on `aws`"
    assert "`ssh aws 'rm -rf ~/.local/share/scratchflow'`" in notes.how
    (profile,) = left(settings, found(entries=entries[:3]))
    assert "profile" in profile.what


def test_what_is_on_this_machine_is_named_when_it_is_there(
    settings: Settings, places: dict[str, Path]
) -> None:
    for place in places.values():
        (place / "agent").mkdir(parents=True)
    here = left(settings, found())[1:]
    commands = [shlex.split(one.how.strip("`")) for one in here]
    assert commands == [["rm", "-rf", str(places[kind])] for kind in ("DATA", "STATE", "CACHE")]
    (places["DATA"] / "store").mkdir()
    work = left(settings, found())[1]
    assert "snapshots of profile `local`" in work.what
    assert work.how.endswith("gone for good")


def test_what_goes_with_an_agent_on_this_very_machine_is_not_left(
    tmp_path: Path, places: dict[str, Path]
) -> None:
    settings = ToldCluster(tmp_path, {}, profile='login = "local"').settings
    (places["DATA"] / "agent").mkdir(parents=True)
    assert not any(str(places["DATA"]) in one.what for one in left(settings, found()))
    (places["DATA"] / "store").mkdir()
    assert any(str(places["DATA"]) in one.what for one in left(settings, found()))


def test_without_a_cluster_nothing_of_one_is_named(tmp_path: Path) -> None:
    settings = ToldCluster(tmp_path, {}, profile='scheduler = "none"').settings
    assert [one.what for one in left(settings, None) if "snapshot" in one.what] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/scratchflow.sh"),
        ("zsh", ".zfunc/_scratchflow"),
        ("fish", ".config/fish/completions/scratchflow.fish"),
    ],
)
def test_what_install_completion_wrote_is_named_and_can_be_removed(
    settings: Settings, tmp_path: Path, shell: str, file: str
) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    argv = [sys.executable, "-m", "scratchflow", "--install-completion", shell]
    subprocess.run(argv, env=environment, check=True, capture_output=True)
    path = tmp_path / "home" / file
    assert path.is_file()
    (one,) = [one for one in left(settings, None) if "'s completion" in one.what]
    assert str(path) in one.what
    subprocess.run(one.how.split("`")[1], shell=True, check=True)  # noqa: S602 - as a person types it
    assert not path.exists()
    if shell == "bash":
        rc = (tmp_path / "home/.bashrc").read_text()
        assert one.how.split("`")[3] in rc.splitlines()


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
        ("/fsx/s", found(WorkspaceTrace("/fsx/s", "w", 1)), ["1 snapshot in /fsx/s/w", "the work"]),
        ("/fsx/s", found(WorkspaceTrace("/fsx/s", "w", 0)), ["a store without snap", "the work"]),
        ("/fsx/s", found(WorkspaceTrace("/fsx/s", "other", 5)), []),
        ("/h/$USER/${HOME}", found(), []),
        ("$PROJECT/s", found(), ["its snapshots, if there are any", "the work"]),
        ("/fsx/$USERS", found(), ["its snapshots, if there are any", "the work"]),
        ("/fsx/s", None, ["its snapshots, if there are any", "the work"]),
    ],
)
def test_of_a_removed_profile_only_what_may_be_there_is_named(
    settings: Settings, store: str, traces: Traces | None, begins: list[str]
) -> None:
    profile = msgspec.structs.replace(settings.profile, store=store)
    lines = list(left_of_profile(msgspec.structs.replace(settings, profile=profile), traces, {}))
    assert len(lines) == len(begins)
    assert all(line.startswith(begin) for line, begin in zip(lines, begins, strict=True))


def test_no_command_is_offered_that_removes_what_another_profile_has_too(
    settings: Settings,
) -> None:
    traces = found(WorkspaceTrace(STORE, "w", 1))
    second = msgspec.structs.replace(settings.profile, store="/fsx/second")
    snapshots, workspace = left_of_profile(settings, traces, {"second": second})
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


def test_the_copy_of_the_ssh_config_is_named(settings: Settings, tmp_path: Path) -> None:
    config = tmp_path / "my ssh" / "config"
    config.parent.mkdir()
    profile = msgspec.structs.replace(settings.profile, ssh_config=str(config))
    settings = msgspec.structs.replace(settings, profile=profile)
    assert not any("ssh config" in one.what for one in left(settings, found()))
    copy = config.with_name("config.scratchflow-bak")
    copy.write_text("Host mine\n")
    (one,) = [one for one in left(settings, found()) if "ssh config" in one.what]
    assert shlex.split(one.how.strip("`")) == ["rm", str(copy)]


def test_the_auto_backup_of_the_profile_local_is_named_while_it_runs(
    settings: Settings, places: dict[str, Path]
) -> None:
    workspace = Workspace(places["DATA"] / "scratch", "work")
    write_base(workspace, places["DATA"] / "store", "20260101T000000Z-abcdef")
    with (workspace.state / LOOP_LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "`scratchflow -p local clear`" in " ".join(
            one.how for one in left(settings, found())
        )
    assert not any("auto-backup" in one.what for one in left(settings, found()))


def test_what_submitted_jobs_made_is_named_with_the_snapshots_it_lies_beside(
    settings: Settings,
) -> None:
    _, snapshots, _ = left(settings, found(WorkspaceTrace(STORE, "w", 13, (), 9)))
    assert snapshots.what.startswith("13 snapshots and the records and outputs of 9 jobs in ")


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
    hows = [one.how.partition("`")[0] for one in shown if "rm -rf" in one.how]
    assert hows == [
        "only when job 45 has ended, which saves there: ",
        "only when job 37 has ended, which may need it: ",
        "",
        "only when job 45 has ended, which may need it: ",
        "only when job 45 has ended, which may need it: ",
        "only when job 37 has ended, which may need it: ",
        "only when jobs 45, 37 have ended, which may need it: ",
    ]
    free = left_behind(settings, traces, {"lab": lab}, all_profiles=True)
    assert not any("only when" in one.how for one in free)


def _commands(shown: list[LeftBehind]) -> str:
    return "\n".join(one.how for one in shown if "rm -rf" in one.how)


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
    snapshots, _, copies = _commands(shown).splitlines()
    assert "ada's store/w" in shlex.split(snapshots.split("`")[1])[-1]
    assert "`rm -rf /scratch/ada/w /scratch/ada/.scratchflow/w` in a job on each" in copies
    kept = [one.what for one in shown if one.how.startswith("still used by profile `mini`; ")]
    assert kept[0] == "9 snapshots in /fsx/ada's store/work on `aws`, of profile `mini`"
    assert kept[1] == "/scratch/ada/work on the scratch of n2"
    assert [what.split()[0] for what in kept[2:]] == ["copies", "what", "store", "notes", "what", "the"]  # fmt: skip
    says = "`scratchflow -p mini setup --remove --all` says how to remove it"
    assert all(one.how.endswith(says) for one in shown if "still used" in one.how)
    (places["DATA"] / "store").mkdir()
    (local,) = [one for one in left(settings, traces, mini=mini) if "`local`" in one.what]
    assert local.how == f"still used by profile `local`; {says}"
    every = left_behind(settings, traces, {"mini": mini}, all_profiles=True)
    assert not any("still used" in one.how for one in every)
    assert "`rm -rf /scratch/ada/work /scratch/ada/w /scratch/ada/.scratchflow`" in _commands(every)


def test_a_workspace_of_no_profile_is_removed_only_if_no_other_profile_uses_it(
    settings: Settings,
) -> None:
    """`--set workspace=p2` works with each profile of that store and scratch."""
    mini = msgspec.structs.replace(settings.profile, workspace="work")
    traces = found(WorkspaceTrace(STORE, "p2", 2, ("n1",)), WorkspaceTrace(STORE, "w", 1, ("n1",)))
    doubt = "only if profile `mini` does not use it: "
    shown = [one.how for one in left(settings, traces, mini=mini) if "rm -rf" in one.how]
    assert [how.startswith(doubt) for how in shown] == [True, False, True, True, False]
    assert "`rm -rf /scratch/ada/p2 /scratch/ada/.scratchflow/p2`" in shown[2]
    assert "`rm -rf /scratch/ada/env`" in shown[3]
    assert "`rm -rf /scratch/ada/w /scratch/ada/.scratchflow/w`" in shown[4]
    assert "only if" not in _commands(left(settings, traces))


def test_of_all_profiles_the_copies_on_a_scratch_of_their_own_are_named(settings: Settings) -> None:
    other = msgspec.structs.replace(settings.profile, store="/fsx/other", scratch="/scratch/ada/b")
    away = msgspec.structs.replace(other, login="far", scratch="/else")
    traces = found(
        WorkspaceTrace(STORE, "w", 1, ("n1",)),
        WorkspaceTrace("/fsx/other", "w", 3, ("n2",), jobs=1),
    )
    others = {"other": other, "away": away}
    every = left_behind(settings, traces, others, all_profiles=True)
    (copies,) = [one for one in every if "/scratch/ada/b/w" in one.how]
    assert copies.what == "copies of the workspace and our notes on the scratch of n2"
    assert "`rm -rf /scratch/ada/b/w /scratch/ada/b/.scratchflow` in a job on each" in copies.how
    assert any("/scratch/ada/b/jobs" in one.how for one in every)
    assert "/else" not in _commands(every)
    assert "/scratch/ada/b" not in _commands(left(settings, traces, other=other))


def test_a_workspace_of_no_profile_in_the_store_of_another_profile_alone_is_not_removed(
    settings: Settings,
) -> None:
    other = msgspec.structs.replace(settings.profile, store="/fsx/other")
    traces = found(
        WorkspaceTrace(STORE, "w", 1, ("n1",)),
        WorkspaceTrace("/fsx/other", "w", 3, ("n1",)),
        WorkspaceTrace("/fsx/other", "p2", 2, ("n2",)),
    )
    shown = left(settings, traces, other=other)
    assert "p2" not in _commands(shown)
    kept = {one.what for one in shown if one.how.startswith("still used by profile `other`; ")}
    assert "2 snapshots in /fsx/other/p2 on `aws`" in kept
    assert "/scratch/ada/p2 on the scratch of n2" in kept
    elsewhere = msgspec.structs.replace(other, scratch="/local/ada")
    shown = left(settings, traces, other=elsewhere)
    assert "/fsx/other/p2" not in _commands(shown)
    every = left_behind(settings, traces, {"other": other}, all_profiles=True)
    assert "/fsx/other/p2" in _commands(every)


@pytest.mark.parametrize(
    ("theirs", "is_used"),
    [
        ({"scratch": "/scratch/$USER"}, True),
        ({"scratch": "/scratch/${USER}/"}, True),
        ({"scratch": "$SCRATCH"}, True),
        ({"scratch": "/scratch", "workspace": "ada"}, True),
        ({"scratch": "/other", "backup": {"also": ["data"]}}, False),
        ({"workspace": "x", "backup": {"also": ["w/data"]}}, True),
        ({"workspace": "x", "environment": {"venv": "./w/env"}}, True),
        ({"workspace": "x", "environment": {"venv": "/scratch/$USER/w"}}, True),
        ({"workspace": "x", "environment": {"venv": "~/w", "conda": "w"}}, False),
        ({"workspace": "w2"}, False),
        ({"scratch": "~/w"}, False),
        ({"login": "lab"}, False),
    ],
)
def test_a_place_that_may_be_another_profiles_is_not_removed(
    settings: Settings, theirs: dict[str, Any], is_used: bool
) -> None:
    plain = {"login": "aws", "store": "/else", "scratch": "/scratch/ada", "workspace": "w"}
    other = msgspec.convert({**plain, **theirs}, Profile)
    shown = left(settings, found(WorkspaceTrace(STORE, "w", 1, ("n1",))), other=other)
    assert ("rm -rf /scratch/ada/w " not in _commands(shown)) == is_used


def test_where_a_profile_of_another_machine_saves_is_not_guessed(settings: Settings) -> None:
    in_use = InUse([ElsewhereShown(profile="far", job_id=8, state="pending")])
    for traces in (None, found(WorkspaceTrace(STORE, "w", 1))):
        job, _, snapshots = left_behind(settings, traces, {}, in_use=in_use)
        assert job.what == "job 8 of profile `far`, which waits in Slurm's queue"
        assert snapshots.how.startswith("only when job 8 has ended, which may need it: `ssh aws ")
