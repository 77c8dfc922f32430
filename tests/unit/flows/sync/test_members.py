"""Which of two homes an error is about; `test_sync.py` has what the members of a star are refused for."""

from __future__ import annotations

from typing import cast

import pytest

from scratchflow.dispatch.cluster import Cluster
from scratchflow.flows.sync.members import Member
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.sync import SyncBusy
from scratchflow.model.results.sync import SyncSide

SEEN = SyncSide(host="l1", home="/h", home_id="1", program="u", version="2.52")
UNI = Member("uni", cast("Cluster", None), [], "login.uni", SEEN)


@pytest.mark.parametrize(
    ("error", "is_named"),
    [
        (ConnectionLost(host="login.uni", reason="x"), True),
        (ConnectionLost(host="login.aws", reason="x"), False),
        (SyncBusy(profile="uni"), True),
        (SyncBusy(profile="aws"), False),
    ],
)
def test_an_error_names_the_profile_or_its_login_host(
    error: ScratchflowError, is_named: bool
) -> None:
    assert UNI.is_named_in(error) == is_named
