"""Every key of mrunner's contexts becomes a setting, or is named with the reason why not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.config.mrunner import Context, Fate, read_mrunner
from scratchflow.config.yaml_text import parse_yaml
from scratchflow.model.errors.config import ImportUnreadable

# The keys of its documented Slurm context, with values of our own.
DOCUMENTED = """
contexts:
  cpu:
    account: grant1
    backend_type: slurm
    cmd_type: srun
    context_name: cpu
    modules_to_load:
    - tools/python/3.6.5
    - tools/openmpi/3.0.0
    neptune: true
    partition: plgrid
    resources:
      cpu: 2
      mem: 5G
    slurm_url: alice@login.example
    storage_dir: /net/groups/lab
    user_id: al
    venv: /home/alice/env
current_context: cpu
"""

# Every key that its documentation, its releases and their two spellings know.
ALL_KEYS = [
    "name",
    "context_name",
    "type",
    "backend_type",
    "slurm_url",
    "user_id",
    "storage_dir",
    "storage",
    "scratch_dir",
    "scratch_subdir",
    "scratch_dir_name",
    "partition",
    "account",
    "time",
    "ntasks",
    "cpu",
    "gpu",
    "mem",
    "nodes",
    "num_nodes",
    "qos",
    "nodelist",
    "exclude_nodes",
    "sbatch_options",
    "modules_to_load",
    "after_module_load_cmd",
    "venv",
    "conda",
    "singularity_container",
    "prolog_cmd",
    "resources",
    "requirements_file",
    "requirements",
    "tags",
    "cmd_type",
    "log_output_path",
    "cache_dir",
    "cache_dir_name",
    "project_scratch_dir",
    "grid_scratch_dir",
    "experiment_scratch_dir",
    "grid_logs_dir_name",
    "grid_configs_dir_name",
    "neptune",
    "env",
    "exclude",
    "paths_to_copy",
    "cwd",
    "cmd",
    "project",
    "shebang",
    "registry_url",
    "google_project_id",
    "tpu",
]


def context(**keys: Any) -> Context:
    table = {"slurm_url": "me@host", **keys}
    [found] = read_mrunner({"contexts": {"c": table}}, "f").contexts
    return found


def fate(key: str, **keys: Any) -> Fate:
    [found] = [one for one in context(**keys).fates if one.key == key]
    return found


def test_the_documented_context_becomes_a_profile() -> None:
    file = read_mrunner(parse_yaml(DOCUMENTED, "f"), "f")
    [found] = file.contexts
    assert (found.name, found.not_ours, file.current, file.others) == ("cpu", "", "cpu", [])
    assert found.settings == {
        "slurm.account": "grant1",
        "scheduler": "slurm",
        "environment.modules": ["tools/python/3.6.5", "tools/openmpi/3.0.0"],
        "slurm.partition": "plgrid",
        "login": "alice@login.example",
        "store": "/net/groups/lab/scratchflow",
        "environment.venv": "/home/alice/env",
        "slurm.cpus_per_task": 2,
        "slurm.mem": "5G",
    }
    assert {one.key for one in found.fates if not one.is_taken} == {
        "cmd_type",
        "neptune",
        "user_id",
    }


@pytest.mark.parametrize("key", ALL_KEYS)
def test_every_key_that_mrunner_knows_is_known_here(key: str) -> None:
    told = context(**{key: "slurm"}).fates
    [one] = [one for one in told if one.key == key]
    assert "no release of mrunner" not in one.reason


@pytest.mark.parametrize(
    ("keys", "settings"),
    [
        ({"time": "8:00:00"}, {"slurm.time": "8:00:00"}),
        ({"time": "59"}, {"slurm.time": "59"}),
        ({"qos": "hi", "nodelist": "n1"}, {"slurm.qos": "hi", "slurm.nodelist": "n1"}),
        ({"exclude_nodes": "n[1-3]"}, {"slurm.exclude": "n[1-3]"}),
        ({"cpu": "8", "ntasks": "4"}, {"slurm.cpus_per_task": 2, "slurm.ntasks": 4}),
        ({"gpu": "2"}, {"slurm.gpus": 2}),
        ({"gpu": "0", "nodes": "2"}, {"slurm.gpus": 0, "slurm.nodes": 2}),
        ({"gpu": "2", "num_nodes": "2"}, {"slurm.gres": "gpu:2", "slurm.nodes": 2}),
        ({"gpu": "v100:1"}, {"slurm.gres": "gpu:v100:1"}),
        ({"sbatch_options": ["--a=b c", "-C v100"]}, {"slurm.extra": ["--a=b", "c", "-C", "v100"]}),
        ({"modules_to_load": "a/1 b/2"}, {"environment.modules": ["a/1", "b/2"]}),
        ({"after_module_load_cmd": "x; y"}, {"environment.after_modules": "x; y"}),
        ({"prolog_cmd": "a\nb\n"}, {"environment.prologue": "a && b"}),
        ({"conda": "torch"}, {"environment.conda": "torch"}),
        ({"env": {"A": "1"}}, {"environment.variables.A": "1"}),
        ({"resources": "mem=2G cpu=4"}, {"slurm.mem": "2G", "slurm.cpus_per_task": 4}),
        ({"storage_dir": "$PROJECT/x/"}, {"store": "$PROJECT/x/scratchflow"}),
    ],
)
def test_keys_become_settings(keys: dict[str, Any], settings: dict[str, Any]) -> None:
    assert context(**keys).settings == {"login": "me@host", **settings}


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("time", "soon", "Slurm's own"),
        ("mem", "much", "a size like"),
        ("cpu", "two", "`two` is no whole number"),
        ("cpu", "0", ">= 1"),
        ("nodes", ["1"], "stands where one value belongs"),
        ("storage_dir", "relative", "absolute path"),
        ("partition", None, "it is empty"),
        ("modules_to_load", None, "it is empty"),
        ("resources", {}, "it is empty"),
        ("resources", "many", "where a table of keys belongs"),
        ("prolog_cmd", "if a\nthen b\nfi", "`source FILE`"),
        ("account", "a\nb", "control characters"),
        ("modules_to_laod", "a", "did you mean `modules_to_load`?"),
        ("singularity_container", "/x.sif", "`singularity exec`"),
        ("context_name", "other", "mrunner calls this context `c`"),
    ],
)
def test_what_becomes_no_setting_has_a_reason(key: str, value: Any, reason: str) -> None:
    found = fate(key, **{key: value})
    assert reason in found.reason
    assert not found.is_taken
    assert found.settings == {}


def test_of_two_keys_for_one_setting_the_one_outside_of_resources_counts() -> None:
    keys = {"resources": {"cpu": "2"}, "cpu": "4"}
    assert fate("cpu", **keys).settings == {"slurm.cpus_per_task": 4}
    assert fate("resources.cpu", **keys).reason == "`cpu` says it already"


def test_secrets_are_neither_taken_nor_shown() -> None:
    found = fate("env.WANDB_API_KEY", env={"WANDB_API_KEY": "hush"})
    assert (found.value, found.is_taken) == ("***", False)
    assert "hush" not in repr(context(env={"WANDB_API_KEY": "hush"}))


def test_cores_that_the_tasks_do_not_share_evenly_are_told() -> None:
    assert fate("cpu", cpu="9", ntasks="4").reason == "9 cores for 4 tasks, 1 left over"


def test_a_port_is_told_because_it_belongs_into_the_ssh_config() -> None:
    found = fate("slurm_url", slurm_url="me@host:2222")
    assert found.settings == {"login": "me@host"}
    assert "port 2222" in found.reason


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"backend_type": "kubernetes"}, "Kubernetes"),
        ({"type": "kubernetes"}, "Kubernetes"),
        ({"backend_type": "local"}, "built-in profile `local`"),
        ({"backend_type": "pbs"}, "`pbs` is not known"),
        ({"slurm_url": "<username>@host"}, "names no login host: `<username>@host`"),
        ({"slurm_url": None}, "names no login host"),
    ],
)
def test_a_context_that_is_not_ours_says_why_and_names_its_keys(
    keys: dict[str, Any], words: str
) -> None:
    found = context(**keys, partition="p")
    assert words in found.not_ours
    assert found.settings == {}
    assert {one.key for one in found.fates} == {"slurm_url", "partition", *keys}


def test_contexts_may_be_a_list_of_named_tables() -> None:
    listed = [{"name": "a", "type": "slurm", "slurm_url": "h"}]
    [found] = read_mrunner({"contexts": listed}, "f").contexts
    assert (found.name, found.not_ours) == ("a", "")


def test_keys_beside_the_contexts_are_named() -> None:
    [other] = read_mrunner({"contexts": {}, "curent_context": "x"}, "f").others
    assert "did you mean `current_context`?" in other.reason


def test_a_context_in_use_that_is_no_name_is_told() -> None:
    file = read_mrunner({"contexts": {}, "current_context": ["a"]}, "f")
    assert (file.current, [one.key for one in file.others]) == ("", ["current_context"])


@pytest.mark.parametrize(
    "document",
    [None, "text", ["a"], {}, {"contexts": "x"}, {"contexts": {"a": "x"}}, {"contexts": [{}]}],
)
def test_other_documents_are_refused(document: Any) -> None:
    with pytest.raises(ImportUnreadable):
        read_mrunner(document, "f")


SCALAR = st.text(max_size=8) | st.none()
VALUE = (
    SCALAR | st.lists(SCALAR, max_size=3) | st.dictionaries(st.text(max_size=5), SCALAR, max_size=3)
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(ALL_KEYS) | st.text(max_size=8), VALUE))
def test_no_key_is_lost_whatever_stands_in_a_context(table: dict[str, Any]) -> None:
    [found] = read_mrunner({"contexts": {"c": table}}, "f").contexts
    told = {one.key for one in found.fates}
    inside = {key: f"{key}." for key in ("env", "resources")}
    for key in table:
        assert key in told or any(one.startswith(inside.get(key, "\0")) for one in told)
    assert all(one.is_taken or one.reason or found.not_ours for one in found.fates)
