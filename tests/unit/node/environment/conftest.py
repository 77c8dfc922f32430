"""One home for each test."""

from pathlib import Path

import pytest

from tests.unit.node.environment.node_home import NodeHome


@pytest.fixture
def at_node(tmp_path: Path) -> NodeHome:
    return NodeHome(tmp_path)
