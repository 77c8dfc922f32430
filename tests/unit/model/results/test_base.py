"""Results come back from another machine as the class that was sent."""

from __future__ import annotations

import msgspec

from scratchflow.model.results.checks import Check, ChecksDone


def test_a_result_travels_and_passes_over_what_a_newer_agent_adds() -> None:
    done = ChecksDone(checks=[Check(name="store", ok=False, detail="gone", fix="mount it")])
    data = msgspec.to_builtins(done)
    data["checks"][0]["later"] = 1
    assert msgspec.convert({**data, "later": [2]}, ChecksDone) == done
