"""A real Slurm keeps the contract, with the real `salloc` under it."""

import pytest

from tests.cluster.login import LoginHost
from tests.contract.slurm_contract import SlurmContract


@pytest.fixture
def world(login: LoginHost) -> LoginHost:
    return login


class TestRealSlurm(SlurmContract):
    pass
