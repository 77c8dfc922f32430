"""A real Slurm keeps the contract, with the real `salloc` under it."""

import pytest

from tests.contract.slurm_contract import SlurmContract

from .login import LoginHost


@pytest.fixture
def world(login: LoginHost) -> LoginHost:
    return login


class TestRealSlurm(SlurmContract):
    pass
