"""Which of two homes an error is about; `test_sync.py` has what the members of a star are refused for."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller, Cluster
from scratchflow.flows.sync import members as module
from scratchflow.flows.sync.members import Member, member
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.errors.sync import SyncBusy
from scratchflow.model.profile import SyncOptions
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


def test_a_login_host_that_does_not_answer_ends_it_before_anything_hangs_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent() -> None:
        raise ConnectionLost(host="login.uni", reason="no answer within 20 s")

    def asked(*_: Any) -> Any:
        raise AssertionError("asked over a connection on which nobody answers")

    config = tmp_path / "config.toml"
    config.write_text('[profiles.uni]\nlogin = "login.uni"\nstore = "/s"\n')
    shared = SimpleNamespace(argv=lambda **_: ["ssh"], require_answer=silent)
    monkeypatch.setattr(module, "share_login", lambda *_, **__: nullcontext(shared))
    monkeypatch.setattr(module, "cluster_of", asked)
    caller = Caller(Asked(config=str(config)), {"HOME": str(tmp_path), "USER": "u"})
    options = SyncOptions(profiles=["uni", "aws"], folders=["p"])
    with (
        pytest.raises(ConnectionLost, match="no answer within 20 s"),
        member("uni", options, [], caller, lambda _: None),
    ):
        pass
