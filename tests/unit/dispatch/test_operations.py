"""Every operation in the table is a function that exists and takes what the table says it takes."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import get_type_hints

import pytest

from scratchflow.dispatch.operations import ON_LOGIN, ON_NODE, OnLogin, OnNode, function_of
from scratchflow.login.host import LoginHost
from scratchflow.model.results import RESULTS_BY_OP
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier


@pytest.mark.parametrize("do", [*ON_NODE, *ON_LOGIN])
def test_it_takes_its_arguments_last_and_gives_its_result(do: str) -> None:
    operation: OnNode | OnLogin = ON_NODE.get(do) or ON_LOGIN[do]
    function = function_of(operation)
    first = [NodeContext, Notifier] if isinstance(operation, OnNode) else [LoginHost]
    hints = get_type_hints(function)
    parameters = list(inspect.signature(function).parameters.values())
    wanted, further = parameters[: len(first) + 1], parameters[len(first) + 1 :]
    assert [hints[one.name] for one in wanted] == [*first, operation.arguments]
    assert all(one.default is not inspect.Parameter.empty for one in further)
    assert hints["return"] is RESULTS_BY_OP[do]


def test_no_operation_is_both_the_nodes_and_the_login_hosts() -> None:
    assert not ON_NODE.keys() & ON_LOGIN.keys()


def test_reading_the_table_loads_nothing_that_does_the_work() -> None:
    program = (
        "import sys, scratchflow.dispatch.operations\n"
        "rooms = ('node', 'login', 'reach', 'agent', 'cluster', 'ssh', 'store', 'archive')\n"
        "print(*(name for name in sys.modules if name.split('.')[1:2] in [[room] for room in rooms]"
        " and name.startswith('scratchflow.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
