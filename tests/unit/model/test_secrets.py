"""Variables that hold secrets are known by their names."""

from __future__ import annotations

import pytest

from scratchflow.model.secrets import is_secret_name


@pytest.mark.parametrize("name", ["WANDB_API_KEY", "NEPTUNE_API_TOKEN", "db_password", "MySecret"])
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "PATH", "CCACHE_DIR"])
def test_other_names(name: str) -> None:
    assert not is_secret_name(name)
