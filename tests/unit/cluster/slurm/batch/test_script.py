"""The batch script keeps the job's output apart from the agent's, and reads the user's own lines as Slurm does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scratchflow.cluster.slurm.batch.script import (
    batch_script,
    holding_option,
    interpreter,
    job_name_in,
    may_get_several_nodes,
    never_again_option,
    option_of_ours,
    resource_words,
    resources_in,
    sbatch_lines,
    unusable_option,
    words_of,
)

SCRIPT = """\
#!/bin/bash -l
#SBATCH --job-name=mine   # a remark
#SBATCH -G 2

# more
#SBATCH --mem 4G
module load python
#SBATCH --time=1
"""


def test_a_hostile_path_is_only_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "it's $(touch x) `y`"
    odd.mkdir()
    (odd / "request").write_text("asked\n")
    agent = ["sh", "-c", 'read -r line; echo "$line" >&8; echo err >&9; echo log', "sh", "$(z)"]
    script = tmp_path / "script"
    script.write_text(batch_script(agent, f"{odd}/request", f"{odd}/log", ["#SBATCH --mem=1"]))
    done = subprocess.run(["sh", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("asked\n", "err\n")
    assert (odd / "log").read_text() == "log\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([odd.name, "script"])


def test_lines_are_read_up_to_the_first_command() -> None:
    lines = sbatch_lines(SCRIPT)
    assert lines == ["#SBATCH --job-name=mine   # a remark", "#SBATCH -G 2", "#SBATCH --mem 4G"]
    assert job_name_in(lines) == "mine"
    assert job_name_in(["#SBATCH -J other"]) == "other"
    assert job_name_in(["#SBATCH -Jthis", "#SBATCH -HJother"]) == "other"
    assert job_name_in(["#SBATCH --mem=1"]) == ""


def test_the_first_line_names_the_interpreter_as_the_kernel_reads_it() -> None:
    assert interpreter(SCRIPT) == ["/bin/bash", "-l"]
    assert interpreter("#!/usr/bin/env -S python -u\n") == ["/usr/bin/env", "-S python -u"]
    assert interpreter("echo\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "--array=0-3",
        "--array 0-3",
        "-a 0-3",
        "-a0-3",
        "--arr=1",
        "--mem=1 --array=2",
        "-W",
        "--wait",
        "-HW",
        "-vQsOHW",
        "-HWN2",
        "-Ha0-3",
        "-QV",
        "-sh",
        "-u",
        "--wr=x",
        "--vers",
        "--te",
        "--usa",
        "--he",
    ],
)
def test_options_that_no_record_would_know_are_found(line: str) -> None:
    assert unusable_option(words_of([f"#SBATCH {line}"]))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--arr=1", "make an array"),
        ("-W", "`scratchflow logs -f JOB`"),
        ("--test-only", "`scratchflow submit --dry-run`"),
        ("--version", "makes no job"),
        ("-V", "makes no job"),
        ("--help", "makes no job"),
    ],
)
def test_each_of_them_has_its_own_reason(option: str, words: str) -> None:
    word, why = unusable_option(["--mem=1", option]) or ("", "")
    assert word == option
    assert words in why


@pytest.mark.parametrize(
    "option",
    [
        "--output=x",
        "-ox",
        "-J",
        "--job=x",
        "--j=x",
        "--signal=B:INT",
        "-D/",
        "-QJx",
        "-Hox",
        "--ou=x",
    ],
)
def test_options_that_ours_overrule_are_found(option: str) -> None:
    assert option_of_ours(["--mem=1", option])
    assert unusable_option([option]) is None


@pytest.mark.parametrize(
    "line",
    [
        "-A account",
        "--account=a",
        "--mem=4G",
        "--wait-all-nodes=1",
        "--exclude=n1",
        "--export-file=x",
        "-CW",
        "-HNW",
        "-pHW",
        "-HAW",
        "-kW",
        "-wWaV",
        "-H -s -O",
        "--comment=-W",
        "",
    ],
)
def test_other_options_are_passed_on(line: str) -> None:
    words = words_of([f"#SBATCH {line}"])
    assert (unusable_option(words), option_of_ours(words)) == (None, None)


def test_a_signal_that_comes_before_anybody_listens_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "request").write_text("")
    agent = ["sh", "-c", "kill -USR1 $$; echo alive >&8"]
    script = batch_script(agent, f"{tmp_path}/request", f"{tmp_path}/log")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "alive\n"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("--time=3 -p debug", {"time": "3", "partition": "debug"}),
        ("-c2 --mem 4G", {"cpus_per_task": "2", "mem": "4G"}),
        ("-N 2-4", {"nodes": "2-4"}),
        ("--export=NONE --licenses=x -J name", {}),
        ("--mem", {"mem": ""}),
        ("-HN2 -sc4", {"nodes": "2", "cpus_per_task": "4"}),
        ("-QN 2", {"nodes": "2"}),
        ("-Ntwo", {"nodes": "two"}),
        (
            "--part=a --acco b --cpus-per-t=4 --qo=q",
            {"partition": "a", "account": "b", "cpus_per_task": "4", "qos": "q"},
        ),
        ("--cons=c --nodel=n1 --exclud=n2", {"constraint": "c", "nodelist": "n1", "exclude": "n2"}),
        ("--gpus-per-node=1 --mem-per-cpu=1 --time-min=1 --ntasks-per-node=2 --nodefile=f", {}),
    ],
)
def test_resources_of_a_script_are_known_by_key(line: str, found: dict[str, str]) -> None:
    assert resources_in(words_of([f"#SBATCH {line}"])) == found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--mem=1G", "-H"], "-H"),
        (["--hold"], "--hold"),
        (["--ho"], "--ho"),
        (["--help"], ""),
        (["--hint=x", "--comment=-H"], ""),
        (["--h"], ""),
        (["-QH"], "-QH"),
        (["-QHN1"], "-QHN1"),
        (["-JH"], ""),
    ],
)
def test_an_option_that_holds_the_job_is_found(words: list[str], found: str) -> None:
    assert holding_option(words) == found


@pytest.mark.parametrize(
    ("option", "several"),
    [
        ("-N1", False),
        ("-HN1", False),
        ("-HN2", True),
        ("-Ntwo", True),
        ("-QN1-2", True),
        ("-H", False),
    ],
)
def test_several_nodes_are_found_in_options_that_run_together(option: str, several: bool) -> None:
    assert may_get_several_nodes([option]) == several


def test_the_option_that_sets_a_resource_is_told_as_it_was_typed() -> None:
    assert resource_words(["-HN2", "-n", "8", "--mem=1"]) == {
        "nodes": "-HN2",
        "ntasks": "-n 8",
        "mem": "--mem=1",
    }


@pytest.mark.parametrize("option", ["--no-requeue", "--no-r"])
def test_an_option_that_forbids_to_queue_again_is_found(option: str) -> None:
    assert never_again_option(["--mem=1", option]) == option
