"""Secrets of a spec go into no record."""

from __future__ import annotations

from scratchflow.experiments.spec import without_secrets


def test_variables_that_look_like_secrets_are_named_and_left_out() -> None:
    kept, [remark] = without_secrets({"A": "1", "WANDB_API_KEY": "hush"}, "env")
    assert kept == {"A": "1"}
    assert remark.key == "env.WANDB_API_KEY"
    assert "hush" not in remark.fate
