"""A store that a variable of the login shell names, when that variable gets another value."""

from __future__ import annotations

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster


@pytest.mark.slow
def test_snapshots_where_the_store_was_before_are_told(
    ready: Laptop, minicluster: Minicluster
) -> None:
    def names(place: str) -> None:
        script = f"sed -i /PROJECT/d ~alice/.profile; echo 'export PROJECT={place}' >> ~alice/.profile; chown alice: ~alice/.profile; mkdir -p {place}; chown alice: {place}"
        minicluster.exec("login", "sh", "-c", script)

    def told() -> list[str]:
        problems = ready.data("status")["problems"]
        return [one["name"] for one in problems if one["name"] == "store.moved"]

    names("/fsx/alice/first")
    ready.data("config", "set", "store", "$PROJECT/store")
    ready.data("up", "--node", "1")
    ready.data("clear")
    assert told() == []
    names("/fsx/alice/second")
    assert told() == ["store.moved"]
    warned = ready.run("up", "--node", "1")
    assert "there are some of this workspace in `/fsx/alice/first/store`" in " ".join(
        warned.stderr.split()
    )
    ready.data("backup")
    assert told() == []
    ready.data("clear")
