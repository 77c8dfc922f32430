"""Words of `submit` that cannot be meant so are refused before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.verbs import parse
from scratchflow.model.errors.base import UsageInvalid


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
        (["job.sh", "--", "x"], "`job.sh` stands before `--`"),
        (["--max-parallel", "-1", "--", "true"], "1 or more"),
    ],
)
def test_a_line_that_names_nothing_to_run_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(UsageInvalid, match=said):
        parse(["submit", *words])
