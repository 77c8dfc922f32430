"""The request for a node: which one, or a warm one first, or any."""

from __future__ import annotations

import secrets

import msgspec

from scratchflow.cluster.command import command_environment
from scratchflow.cluster.slurm.nodes import find_node
from scratchflow.cluster.slurm.nodes import nodes as slurm_nodes
from scratchflow.cluster.slurm.salloc import DirectHolder, Holder
from scratchflow.cluster.slurm.submit import Request, allocate
from scratchflow.cluster.slurm.wait import Patience
from scratchflow.cluster.tmux.window import WindowHolder
from scratchflow.login.hold.waiting import submission
from scratchflow.login.host import LoginHost
from scratchflow.login.nodes import warm_nodes
from scratchflow.login.refusal import cannot_be_met, explained, foreseen
from scratchflow.login.request_limits import NODE
from scratchflow.login.warm import best_warm_node
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.allocation import AllocationPending, AllocationRefused
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.requests import Hold
from scratchflow.reach.node import cpus_are_bound, steps_overlap

WARM_WAIT_S = 20.0
"""How long a warm node is waited for: any other one costs a full restore, which is minutes at most."""


class Ask(msgspec.Struct, frozen=True):
    """A request for a node; `left` are those that are held and not wanted again."""

    login: LoginHost
    asked: Hold
    left: tuple[str, ...]
    avoided: str = ""

    def for_one(self) -> RunningAllocation:
        """A node; AllocationRefused names the option that Slurm cannot meet, and the limit."""
        wanted = self.node()
        try:
            return self._warm_or_any(wanted)
        except AllocationRefused as error:
            raise explained(self.login, wanted, self._typed(wanted), error, self.left) from error

    def foreseen(self) -> str:
        """Why Slurm would refuse this, with the next step; empty when nothing is known against it."""
        wanted = self.node()
        return foreseen(self.login, wanted, self._typed(wanted), self.left)

    def _typed(self, wanted: str) -> dict[str, str]:
        named = {NODE: f"--node {self.asked.node}"} if wanted else {}
        return {**self.asked.typed, **named}

    def _warm_or_any(self, wanted: str) -> RunningAllocation:
        asked, login = self.asked, self.login
        warm = "" if wanted or not asked.warm else self.warm_choice()
        if warm:
            login.remark(f"`{warm}` is warm: asking for it first, then for any node")
            try:
                return self._allocate(warm, Patience(_at_most(WARM_WAIT_S, asked.wait_s)))
            except AllocationPending:
                why = "is not free at present"
            except AllocationRefused:
                if cannot_be_met(login):
                    raise
                why = "cannot be had for this request"
            login.remark(f"`{warm}`, which still holds a copy, {why}; asking for any node")
        return self._allocate(wanted, _patience(asked))

    def prefers(self, node: str | None) -> bool:
        """Whether a node was only taken because it is warm."""
        return not self.asked.node and node in warm_nodes(
            self.login.settings, self.login.environment
        )

    def node(self) -> str:
        """The node by its full name, if one was asked for."""
        if not self.asked.node:
            return ""
        node = find_node(self.login.slurm, self.asked.node)
        if node in self.left:
            problem = f"`{node}` is the node that is held already"
            raise UsageInvalid(problem=problem, command="scratchflow hop")
        return node

    def warm_choice(self) -> str:
        """The best warm node that has room, unless the profile has a choice of its own."""
        options = self.login.profile.slurm
        if options.nodelist or options.nodes != 1:
            return ""
        warm = warm_nodes(self.login.settings, self.login.environment)
        for unwanted in [*self.left, self.avoided]:
            warm.pop(unwanted, None)
        return best_warm_node(warm, slurm_nodes(self.login.slurm), options) if warm else ""

    def request(self, node: str) -> Request:
        """What `salloc` is asked."""
        profile = self.login.profile
        options = profile.slurm
        if (self.left or self.avoided) and (not node or options.nodes > 1):
            exclude = ",".join(filter(None, [options.exclude, *self.left, self.avoided]))
            options = msgspec.structs.replace(options, exclude=exclude)
        return Request(
            profile=self.login.settings.name,
            options=options,
            token=secrets.token_hex(4),
            detached=self.is_detached,
            node=node,
            shell=self.login.shell,
            overlap=steps_overlap(self.login.environment),  # asked before a node is at stake
            binding=cpus_are_bound(self.login.environment),
            directory=self.login.start_directory(None),
        )

    @property
    def is_detached(self) -> bool:
        """While another node is held, our window is that one's; and a node has no window."""
        is_wanted = self.login.profile.hold == "detached"
        return is_wanted or bool(self.left) or self.login.is_in_a_job

    def _allocate(self, node: str, patience: Patience) -> RunningAllocation:
        return allocate(self.request(node), submission(self.login, self._holder(), patience))

    def _holder(self) -> Holder:
        """Who holds the job: `salloc` in our tmux window, or a detached one if there is no tmux."""
        login = self.login
        if self.left or (self.is_detached and not login.has_tmux):
            return DirectHolder(command_environment(login.environment))
        return WindowHolder(login.tmux, login.settings.name, login.profile.tmux_session)


def _at_most(seconds: float, wait_s: float | None) -> float:
    return seconds if wait_s is None else min(seconds, wait_s)


def _patience(asked: Hold) -> Patience:
    return Patience(asked.wait_s, asked.keep_waiting)
