"""What scratchflow relies on Slurm for: the fake and a real cluster both pass these tests."""

from __future__ import annotations

from typing import Protocol

import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.jobs import cancel, job, job_named, our_jobs
from scratchflow.cluster.slurm.nodes import complete_node, nodes, partitions
from scratchflow.cluster.slurm.overlap import has_overlap, srun_version
from scratchflow.model.allocation import RunningAllocation, with_node
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationMissing,
    AllocationPending,
    AllocationRefused,
)
from scratchflow.model.errors.slurm import SlurmUnreachable


class World(Protocol):
    """A cluster of three nodes with the partitions `debug` (10 minutes at most) and `gpu`."""

    @property
    def slurm(self) -> Slurm: ...

    def allocate(
        self,
        profile: str = "aws",
        *,
        wait_s: float = 30,
        keep_waiting: bool = False,
        node: str = "",
        **options: object,
    ) -> RunningAllocation:
        """`slurm_submit.allocate` with these options, and the whole node."""

    def now(self) -> float: ...

    def job_by_hand(self, name: str) -> int:
        """A running job that the user started without us."""

    def scancel(self, job_id: int) -> None: ...

    def drain(self, node: str, reason: str) -> None: ...

    def cancel_while_pending(self, profile: str, node: str) -> None:
        """Runs `allocate`, and cancels its job from elsewhere as soon as it waits."""

    def stop_controller(self) -> None: ...

    def start_controller(self) -> None: ...


def states(world: World, profile: str | None = None) -> list[str]:
    return [found.state for found in our_jobs(world.slurm, profile)]


class SlurmContract:
    def test_an_allocation_runs_on_a_node_and_is_found_again_by_its_profile(
        self, world: World
    ) -> None:
        got = world.allocate(node="node-2", time="8:00")
        assert got.state == "running"
        assert (got.nodes, got.node, got.partition) == (("node-2",), "node-2", "debug")
        assert got.cause is None
        assert got.start_estimate is None
        assert with_node(our_jobs(world.slurm, "aws")) == [got]
        found = job_named(world.slurm, got.name)
        assert found is not None
        assert found.granted() == got
        assert our_jobs(world.slurm, "other") == []

    def test_the_end_is_in_seconds_since_1970_whatever_the_time_zone(self, world: World) -> None:
        got = world.allocate(time="8:00")
        assert got.end_time is not None
        assert got.start_time is not None
        assert got.end_time - got.start_time == 8 * 60
        assert abs(got.start_time - world.now()) < 120

    def test_a_request_that_must_wait_says_why_and_is_withdrawn_at_the_limit(
        self, world: World
    ) -> None:
        world.allocate("first", node="node-1")
        with pytest.raises(AllocationPending) as caught:
            world.allocate("second", node="node-1", wait_s=1)
        assert "waits for a node to become free (Resources)" in str(caught.value)
        assert "withdrawn" in caught.value.shown_hint
        assert states(world, "second") == []
        assert states(world, "first") == ["running"]

    def test_with_keep_waiting_it_stays_in_the_queue(self, world: World) -> None:
        world.allocate("first", node="node-1")
        with pytest.raises(AllocationPending) as caught:
            world.allocate("second", node="node-1", wait_s=1, keep_waiting=True)
        assert "stays in the queue" in caught.value.shown_hint
        (waiting,) = our_jobs(world.slurm, "second")
        assert (waiting.state, waiting.nodes, waiting.end_time) == ("pending", (), None)
        assert waiting.reason_text

    def test_a_reason_that_never_clears_is_refused_at_once(self, world: World) -> None:
        # Slurm first says only that the partition does not fit, and later which limit it is.
        with pytest.raises(AllocationRefused, match=r"Partition(TimeLimit|Config)"):
            world.allocate(time="30-0", wait_s=3600)
        assert states(world) == []

    def test_a_drained_node_is_worth_waiting_for(self, world: World) -> None:
        world.drain("node-3", "fan is broken")
        with pytest.raises(AllocationPending, match="ReqNodeNotAvail"):
            world.allocate(node="node-3", wait_s=1)
        (node,) = [node for node in nodes(world.slurm) if node.name == "node-3"]
        assert (node.state, node.available, node.cpus_free) == ("drained", False, 0)
        assert "fan is broken" in node.reason

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"partition": "nosuch"}, "Invalid partition name specified"),
            ({"nodelist": "node-77"}, "Invalid node name specified"),
        ],
    )
    def test_a_refusal_is_told_in_slurms_own_words(
        self, world: World, options: dict[str, str], words: str
    ) -> None:
        with pytest.raises(AllocationRefused, match=words):
            world.allocate(**options)  # type: ignore[arg-type]  # of the options only
        assert states(world) == []

    def test_a_request_cancelled_by_somebody_else_has_ended(self, world: World) -> None:
        with pytest.raises(AllocationEnded, match="cancelled"):
            world.cancel_while_pending("aws", "node-1")

    def test_a_job_cancelled_by_hand_has_ended_and_is_no_longer_found(self, world: World) -> None:
        got = world.allocate()
        world.scancel(got.job_id)
        seen = job(world.slurm, got.job_id, got.name)
        assert seen.state in {"completing", "ended"}
        assert states(world, "aws") in ([], ["completing"])

    def test_cancel_ends_our_own_job_and_may_be_repeated(self, world: World) -> None:
        got = world.allocate()
        cancel(world.slurm, got.job_id, "aws")
        cancel(world.slurm, got.job_id, "aws")
        assert job(world.slurm, got.job_id, got.name).state in {"completing", "ended"}

    @pytest.mark.parametrize("name", ["mine", "scratchflow:other:abc", "x|scratchflow:aws:abc"])
    def test_cancel_leaves_every_other_job_alone(self, world: World, name: str) -> None:
        theirs = world.job_by_hand(name)
        with pytest.raises(AllocationMissing):
            cancel(world.slurm, theirs, "aws")
        assert job(world.slurm, theirs, name).state == "running"

    def test_a_job_slurm_never_heard_of_has_ended_for_unknown_reasons(self, world: World) -> None:
        gone = job(world.slurm, 65000, "scratchflow:aws:abc")
        assert (gone.state, gone.cause) == ("ended", "forgotten")

    def test_a_number_given_to_another_job_is_not_ours(self, world: World) -> None:
        theirs = world.job_by_hand("mine")
        gone = job(world.slurm, theirs, "scratchflow:aws:abc")
        assert (gone.state, gone.cause) == ("ended", "forgotten")

    def test_names_of_other_jobs_do_no_harm(self, world: World) -> None:
        world.job_by_hand("a|b\x1fscratchflow:aws:abc")
        world.job_by_hand("two\nlines")
        assert our_jobs(world.slurm) == []

    def test_without_the_controller_nothing_is_said_to_have_ended(self, world: World) -> None:
        got = world.allocate()
        world.stop_controller()
        try:
            with pytest.raises(SlurmUnreachable, match="does not answer"):
                job(world.slurm, got.job_id, got.name)
            with pytest.raises(SlurmUnreachable):
                world.allocate()
        finally:
            world.start_controller()
        assert job(world.slurm, got.job_id, got.name).state == "running"

    def test_nodes_tell_what_is_free(self, world: World) -> None:
        before = {node.name: node for node in nodes(world.slurm)}
        world.job_by_hand("mine")
        after = {node.name: node for node in nodes(world.slurm)}
        assert list(after) == ["node-1", "node-2", "node-3"]
        assert sum(node.cpus_free for node in after.values()) < 12
        assert {node.state for node in before.values()} == {"idle"}
        assert {node.state for node in after.values()} == {"idle", "partly used"}
        assert (after["node-2"].gpus, after["node-1"].gpus) == (2, 0)
        assert after["node-2"].partitions == ("debug", "gpu")
        assert after["node-2"].memory_bytes == 4000 * 1024**2
        assert complete_node("2", after) == "node-2"

    def test_partitions_tell_their_limits(self, world: World) -> None:
        debug, gpu = partitions(world.slurm)
        assert (debug.name, debug.default, debug.up, debug.max_time_s) == ("debug", True, True, 600)
        assert (gpu.name, gpu.default, gpu.max_time_s) == ("gpu", False, 4 * 3600)
        assert debug.nodes == ("node-1", "node-2", "node-3")

    def test_srun_says_whether_steps_can_overlap_and_starts_nothing(self, world: World) -> None:
        assert has_overlap(world.slurm) is True
        assert srun_version(world.slurm).startswith("slurm")
        assert our_jobs(world.slurm) == []
