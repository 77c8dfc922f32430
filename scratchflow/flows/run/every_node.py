"""`run --all`: a command on every node of the job."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from scratchflow.cluster.slurm.step_refused import is_refused
from scratchflow.flows.run.ended import cut_error, ended_with_job, is_ended_by_others, job_end
from scratchflow.flows.run.start import AGAIN_S, REFUSED_S, Start, last_words
from scratchflow.model.errors.allocation import OtherNodeFailed
from scratchflow.model.errors.base import OutputFailed
from scratchflow.model.errors.run import RunDirectoryMissing
from scratchflow.model.results.base import NodeFailure
from scratchflow.model.results.run import OtherCarrier, RunPlace
from scratchflow.process.carried import Outcome
from scratchflow.process.carried_all import Far, carry_all
from scratchflow.process.far_words import kill_argv


class EveryNode:
    """One command on every node of the job, without input, each line of output with its node's name."""

    def __init__(self, start: Start, place: RunPlace) -> None:
        for failed in place.failed:  # before anything runs: on all of them or on none
            raise _failed_there(failed)
        self._start = start
        found = start.found
        self._places = {found.node: place, **place.others}
        first = OtherCarrier(node=found.node, argv=found.argv)
        self._carriers = {one.node: one.argv for one in [first, *found.others]}

    def codes(self) -> dict[str, int]:
        """The exit code of each, by node. What was lost, or never started, is an error."""
        outcomes = self._followed(list(self._carriers))
        until = time.monotonic() + REFUSED_S
        while (again := _not_let_in(outcomes)) and time.monotonic() < until:
            time.sleep(AGAIN_S)
            outcomes |= self._followed(again)
        codes = {node: self._meaning(node, outcomes[node]) for node in self._carriers}
        if any(map(is_ended_by_others, outcomes.values())) and (ended := self._job_end()):
            self._start.cluster.emit(ended_with_job(ended))
        return codes

    def _followed(self, nodes: list[str]) -> dict[str, Outcome]:
        return carry_all([self._far(node) for node in nodes], self._start.environment)

    def _far(self, node: str) -> Far:
        way = self._start.way(self._carriers[node])
        token = os.urandom(16).hex()
        argv = way.argv(self._start.followed(self._places[node], token))
        return Far(node, argv, token, lambda group, name: way.argv(kill_argv(group, name)))

    def _meaning(self, node: str, outcome: Outcome) -> int:
        if outcome.no_directory:
            raise RunDirectoryMissing(path=self._start.directory(self._places[node]), node=node)
        if outcome.unwritten:
            raise OutputFailed(error=outcome.unwritten)
        if outcome.code is not None:
            return outcome.code
        if outcome.signals:
            return 128 + outcome.signals[-1]
        if outcome.started:
            raise cut_error(outcome, node, self._job_end())
        raise self._start.silent(node, outcome)

    def _job_end(self) -> str:
        return job_end(self._start.cluster, self._start.found.job_id)


def _failed_there(failed: NodeFailure) -> OtherNodeFailed:
    error = OtherNodeFailed(node=failed.node, reason=failed.message, next_step=failed.hint)
    error.exit_code = failed.exit_code
    return error


def _not_let_in(outcomes: Mapping[str, Outcome]) -> list[str]:
    """The nodes on which Slurm gave the job no step yet."""
    return [
        node
        for node, one in outcomes.items()
        if not one.started and not one.signals and is_refused(last_words(one))
    ]
