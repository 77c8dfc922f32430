"""The flags for a node: what they accept, what they say otherwise, and what they ask Slurm for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from scratchflow.cli import node_request as module
from scratchflow.cli.call import Call
from scratchflow.cli.node_request import node_request, slurm_table
from scratchflow.cli.node_wanted import NodeRequest
from scratchflow.cli.options import asked
from scratchflow.cli.verbs import parse
from scratchflow.config.remembered import recall, remember
from scratchflow.config.settings import Settings, load_settings
from scratchflow.dispatch.noted import note
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.events import Event
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.time_limit import time_limit_s

CONFIG = """
[profiles.aws]
store = "/fsx/s"
[profiles.aws.slurm]
partition = "dev"
gpus = 1
cpus_per_task = 8
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("config", "state", "data"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.delenv("SCRATCHFLOW_CONFIG", raising=False)
    monkeypatch.delenv("SCRATCHFLOW_PROFILE", raising=False)
    (tmp_path / "config/scratchflow").mkdir(parents=True)
    (tmp_path / "config/scratchflow/config.toml").write_text(CONFIG)
    return tmp_path


def understood(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[Settings, NodeRequest]:
    """What `hop` with these words would ask for."""
    found: list[tuple[Settings, NodeRequest]] = []

    def look(context: typer.Context) -> NodeRequest:
        request = node_request(context)
        found.append((load_settings(asked(context), {}), request))
        return request

    monkeypatch.setattr("scratchflow.cli.hop.node_request", look)
    parse(["hop", *words])
    return found[0]


@pytest.mark.parametrize("verb", ["allocate", "up", "hop"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--time 8x",
            "`--time` takes `90m`, `8h` or `2d`, or Slurm's own `8:00:00`, `2-12`, or `90` for minutes",
        ),
        ("--time 0", "`--time` takes"),
        ("--time 0h", "`--time` takes"),
        (
            "--gpus a100:",
            "`--gpus` takes a number, or a type and a number like `a100:2`, not `a100:`",
        ),
        ("--gpus a100:0", "`--gpus` takes"),
        ("--gpus a,b:2", "`--gpus` takes"),
        ("--gpus 4:2", "`--gpus` takes"),
        ("--gpus -1", "`--gpus` takes a number"),
        ("--cpus 0", "`--cpus` takes a number, 1 or more, not `0`"),
        ("--cpus 1.5", "`--cpus` takes a number"),
        ("--mem 32Q", "`--mem` takes a size like `512M`, `32G` or `1.5T`, not `32Q`"),
        ("--mem 0", "`--mem` takes a size"),
        ("--partition a\x1bb", r"`--partition` takes a name, not `a\\x1bb`"),
        ("--wait soon", "`--wait` takes a duration like `90s`, `30m`"),
        ("--last", '`--last`: no earlier allocation of profile "aws" is known on this machine'),
    ],
)
def test_a_wrong_value_is_refused_with_the_right_form(verb: str, words: str, said: str) -> None:
    with pytest.raises(UsageInvalid) as caught:
        parse([verb, *words.split(" ")])
    assert said.replace("\\\\", "\\") in str(caught.value)
    assert f"scratchflow {verb} --help" in caught.value.shown_hint


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        ("--time 90m", "time", "01:30:00"),
        ("--time 2d", "time", "2-00:00:00"),
        ("--time 8:00:00", "time", "8:00:00"),
        ("--time 2-12", "time", "2-12"),
        ("--time 90", "time", "90"),
        ("--time unlimited", "time", "unlimited"),
        ("--gpus 0", "gpus", 0),
        ("--gpus 2", "gpus", 2),
        ("--cpus 04", "cpus_per_task", 4),
        ("--mem 1.5T", "mem", "1.5T"),
        ("--partition long", "partition", "long"),
        ("--partition=", "partition", ""),
        ("--account def-me", "account", "def-me"),
        ("--qos high", "qos", "high"),
        ("--constraint a100&nvlink", "constraint", "a100&nvlink"),
        ("--set slurm.gpus=4 --gpus 2", "gpus", 2),
    ],
)
def test_a_flag_beats_the_profile(
    monkeypatch: pytest.MonkeyPatch, words: str, key: str, value: Any
) -> None:
    settings, _ = understood(monkeypatch, *words.split())
    assert getattr(settings.profile.slurm, key) == value
    untouched = {"partition": "dev", "gpus": 1, "cpus_per_task": 8, "account": ""}
    untouched.pop(key, None)
    assert {name: getattr(settings.profile.slurm, name) for name in untouched} == untouched


@pytest.mark.parametrize(
    ("words", "wait_s", "stays"),
    [
        ("", 600, False),
        ("--wait 1h", 3600, False),
        ("--keep-waiting", None, True),
        ("--wait 5s --keep-waiting", 5, True),
    ],
)
def test_how_long_is_waited(
    monkeypatch: pytest.MonkeyPatch, words: str, wait_s: int | None, stays: bool
) -> None:
    settings, request = understood(monkeypatch, *words.split())
    hold = request.hold(settings, dry_run=False)
    assert (hold.wait_s, hold.keep_waiting) == (wait_s, stays)


def held(**more: Any) -> NodeHeld:
    values: dict[str, Any] = {
        "job_id": 4,
        "node": "node-1",
        "partition": "dev",
        "end_time": None,
        "reused": False,
        "warm": None,
        "user": "u",
        "host_keys": [],
        "session": None,
    }
    return NodeHeld(**{**values, **more})


def test_last_asks_for_what_was_granted_last(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    settings, _ = understood(monkeypatch, "--gpus", "3", "--mem", "9G")
    note(settings, held())
    later = CONFIG.replace("gpus = 1", "gpus = 0").replace("cpus", "# cpus")
    (home / "config/scratchflow/config.toml").write_text(later)
    again, _ = understood(monkeypatch, "--last")
    assert again.profile.slurm == settings.profile.slurm
    less, _ = understood(monkeypatch, "--last", "--gpus", "1")
    assert (less.profile.slurm.gpus, less.profile.slurm.mem) == (1, "9G")


@pytest.mark.parametrize("more", [{"reused": True}, {"dry_run": True}])
def test_only_a_new_allocation_is_remembered(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    settings, _ = understood(monkeypatch)
    note(settings, held(**more))
    assert recall("aws").slurm is None


def test_a_memory_that_no_longer_fits_is_none(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    remember("aws", slurm={"gpus": "many"})
    with pytest.raises(UsageInvalid, match="no earlier allocation"):
        understood(monkeypatch, "--last")
    (home / "state/scratchflow/profiles/aws.json").write_text("{")
    with pytest.raises(UsageInvalid, match="no earlier allocation"):
        understood(monkeypatch, "--last")


def test_a_profile_without_slurm_refuses_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    settings, request = understood(monkeypatch, "-p", "local", "--gpus", "1")
    with pytest.raises(SchedulerMissing):
        request.hold(settings, dry_run=False)
    plain, nothing = understood(monkeypatch, "-p", "local")
    assert nothing.hold(plain, dry_run=True).dry_run


def test_a_node_that_is_held_already_says_that_flags_are_unused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[Event] = []
    _, request = understood(monkeypatch, "--gpus", "2", "--time", "1h")
    request.say_if_unused(said.append, "node-1", 7)
    assert "`scratchflow hop --time 1h --gpus 2` moves" in getattr(said[0], "message", "")
    _, plain = understood(monkeypatch)
    plain.say_if_unused(said.append, "node-1", 7)
    assert len(said) == 1


def test_names_that_a_shell_would_act_on_are_not_remembered() -> None:
    remember("aws", nodes=("node-1", "$(reboot)", "a b", "`x`", "-p", "node-1"))
    assert recall("aws").nodes == ("node-1",)


def test_every_resource_flag_is_an_option() -> None:
    parameters = module._resources.__annotations__
    assert module.KEYS.keys() == parameters.keys() - {"return"}
    assert isinstance(parse(["allocate", "--dry-run"]), Call)


@pytest.mark.parametrize("line", ["allocate", "up", "hop", "submit -- true", "jobs rerun 7"])
def test_the_verbs_that_ask_for_resources_take_the_same_flags(line: str) -> None:
    verb, separator, command = line.partition(" -- ")
    flags = ["--time", "8h", "--gpus", "1", "--cpus", "2", "--mem", "3G", "--partition", "p"]
    more = ["--account", "a", "--qos", "q", "--constraint", "c"]
    rest = ["--", command] if separator else []
    assert isinstance(parse([*verb.split(), *flags, *more, *rest]), Call)


def test_what_setup_would_write_is_kept_apart_from_what_is_for_this_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, request = understood(monkeypatch, "--partition", "gpu", "--gpus", "2")
    assert request.of_profile == {"slurm.partition": "gpu"}


def test_gpus_of_a_type_are_asked_for_in_one_way_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, request = understood(monkeypatch, "--set", "slurm.gpus=4", "--gpus", "a100:2")
    slurm = settings.profile.slurm
    assert (slurm.gres, slurm.gpus) == ("gpu:a100:2", 0)
    assert request.typed["slurm.gres"] == "--gpus a100:2"


def test_flags_become_a_table_with_numbers_where_the_profile_has_them() -> None:
    flags = {"gpus": "a100:2", "cpus": "8", "mem": "32G"}
    table = {"gres": "gpu:a100:2", "gpus": 0, "cpus_per_task": 8, "mem": "32G"}
    assert slurm_table(flags) == table
    assert slurm_table({"gpus": "2"}) == {"gpus": 2}


@pytest.mark.parametrize("verb", ["up", "hop", "allocate", "submit"])
def test_the_help_says_what_a_bare_number_of_time_means(verb: str) -> None:
    call = parse([verb, "--help"])
    assert "How long: `8h`; `8` is 8 min; memory: `32G`.\n" in call.flow(lambda _: None).help
    assert time_limit_s("8") == 8 * 60
