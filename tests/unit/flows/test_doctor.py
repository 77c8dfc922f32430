"""`doctor` looks at every link in turn; one that is broken is told with its fix, and ends what hangs on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scratchflow.flows import doctor as module
from scratchflow.flows.alias import places_of
from scratchflow.flows.doctor import doctor
from scratchflow.model.errors.agent import AgentMissing
from scratchflow.model.errors.allocation import NodeFailed
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.errors.ssh import AliasUnverified, ConnectionLost
from scratchflow.model.results.checks import Check, ChecksDone
from scratchflow.ssh.config.alias import point_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.include import apply, plan_install
from scratchflow.ssh.transport.local import LocalTransport
from tests.unit.flows.told import ToldCluster, give, job, seen

ON_LOGIN = ChecksDone(checks=[Check(name="slurm", ok=True, detail="answers")])
ON_NODE = ChecksDone(checks=[Check(name="scratch", ok=True, detail="/scratch")])


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`doctor` on a cluster with these answers; a login host is reached unless told otherwise."""

    def look(alias: str = "", **changed: Any) -> list[Check]:
        reach = changed.pop("reach", None)
        answers = {"check": ON_LOGIN, "look": seen(job(1)), "check node": ON_NODE}
        answers |= {name.replace("_", " "): answer for name, answer in changed.items()}
        cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
        if alias:
            target = AliasTarget("p", alias, "ada", "aws")
            apply(plan_install(places_of(cluster.settings)))
            point_alias(places_of(cluster.settings), "compile_machine", target)

        @contextmanager
        def reach_login(*_: object, **__: object) -> Iterator[LocalTransport]:
            if reach:
                raise reach
            yield LocalTransport()

        monkeypatch.setattr(module, "reach_login", reach_login)
        return doctor(cluster.caller, cluster.emit).checks

    return look


def amiss(checks: list[Check]) -> list[str]:
    return [check.name for check in checks if not check.ok]


def test_every_link_is_looked_at_in_turn(look: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "verify", lambda *_, **__: None)
    checks = look(alias="node-1")
    names = [check.name for check in checks]
    assert names == ["config", "login", "slurm", "allocation", "alias", "ssh", "scratch"]
    assert amiss(checks) == []


def test_a_login_host_out_of_reach_ends_the_list_with_the_reason(look: Any) -> None:
    checks = look(reach=ConnectionLost(host="aws", reason="no route"))
    assert [check.name for check in checks] == ["config", "login"]
    assert "no route" in checks[-1].detail
    assert checks[-1].fix


def test_without_an_agent_the_rest_is_still_looked_at(look: Any) -> None:
    missing = AgentMissing(host="aws", reason="not found")
    checks = look(check=missing, look=SlurmUnreachable(host="aws", reason="down"))
    assert amiss(checks) == ["agent", "allocation"]


def test_what_status_warns_of_is_a_check_that_fails(look: Any) -> None:
    assert amiss(look(look=seen(None, "session.lost"), alias="node-1")) == ["session.lost", "alias"]


def test_an_alias_that_does_not_work_and_a_node_that_is_silent_are_both_told(
    look: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def verify(*_: object, **__: object) -> None:
        raise AliasUnverified(alias="a", node="node-1", reason="refused")

    monkeypatch.setattr(module, "verify", verify)
    checks = look(alias="node-1", check_node=NodeFailed(node="node-1", reason="silent"))
    assert amiss(checks) == ["ssh", "node"]
    assert all(check.fix for check in checks if not check.ok)


def test_without_a_node_nothing_is_asked_of_it(look: Any) -> None:
    checks = look(look=seen(job(2, "pending")), check_node=AssertionError())
    assert "scratch" not in {check.name for check in checks}
    assert "none" in [check.detail for check in checks if check.name == "allocation"]
