"""Words of `submit` that cannot be meant so are refused before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.submit import shown_submitted
from scratchflow.cli.verbs import parse
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.results.jobs import Submitted, TaskPlanned


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a batch script"),
        (["--"], "name a batch script"),
        (["--", ""], "first word after `--` is empty"),
        (["--", " ", "x"], "first word after `--` is empty"),
        ([""], "beneath the workspace"),
        (["../x.sh"], "beneath the workspace"),
        (["--grid", "lr=0.1", "0.01", "--", "true"], "`0.01` stands before `--`"),
        (["--collect", "a", "b", "--", "true"], "`--collect a --collect b`"),
        (["job.sh", "--", "x"], "`job.sh` stands before `--`"),
        (["--max-parallel", "-1", "--", "true"], "`--max-parallel` takes a number, 1 or more"),
        (["--max-parallel", "0", "--", "true"], "`--max-parallel` takes a number, 1 or more"),
        (["--continue", "0", "--", "true"], "`--continue` takes a number, 1 or more"),
        (
            ["train.py", "--lr", "0.1"],
            "such option: --lr; `scratchflow submit -- python train.py --lr 0.1` gives it",
        ),
        (
            ["--grid", "a=1", "--dry-run", "scripts/x.sh", "1", "-x"],
            "; `scratchflow submit --grid a=1 --dry-run -- bash scripts/x.sh 1 -x` gives it",
        ),
        (["job.sh", "--tme", "1"], "bash job.sh --tme 1` gives .*; or did you mean `--time`"),
        (["--tme", "1", "train.py"], "; did you mean `--time`"),
        (["--nodes", "0", "--", "true"], "`--nodes` takes a number, 1 or more"),
    ],
)
def test_a_line_that_names_nothing_to_run_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(UsageInvalid, match=said):
        parse(["submit", *words])


def test_a_dry_run_shows_what_each_task_runs() -> None:
    done = Submitted(
        job="j",
        number=None,
        name="n",
        tasks=12,
        snapshot="s",
        command=["sbatch", "--comment=a b"],
        runs=["python", "train.py"],
        script_slurm={"time": "2", "mem": "1G"},
        first=[
            TaskPlanned(task=0, parameters={"lr": 0.1}),
            TaskPlanned(task=3, parameters={"lr": 0.01}),
        ],
        dry_run=True,
        saves_first=True,
    )
    assert [str(line) for line in shown_submitted(done)] == [
        "would save the workspace first: it has changes that are in no snapshot",
        "would run: sbatch '--comment=a b'",
        "  which runs: python train.py",
        "  its `#SBATCH` lines ask for: time=2 mem=1G",
        "  task 0: lr=0.1",
        "  task 3: lr=0.01",
        "  … and 10 tasks more",
    ]
