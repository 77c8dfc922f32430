"""What a command line asks of Slurm: which node, and how long to wait for it."""

from __future__ import annotations

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.events import Emit, Event, Log, State
from scratchflow.model.requests import Hold
from scratchflow.model.text import printable


class NodeRequest(msgspec.Struct, frozen=True):
    """What the flags of the request say; those of resources are part of the settings by now."""

    node: str = ""
    warm: bool = True
    wait_s: int | None = None
    keep_waiting: bool = False
    flags: tuple[str, ...] = ()
    """The resource flags that were given, as typed: `--gpus 2`."""
    typed: dict[str, str] = {}
    """The same by key, with what `--set` says."""
    of_profile: dict[str, str] = {}
    """What `setup` would write of them into a profile that is not there yet, by key."""

    def hold(self, settings: Settings, *, dry_run: bool) -> Hold:
        """The request as the login host gets it."""
        if self.flags and settings.profile.scheduler == "none":
            raise SchedulerMissing(profile=settings.name)
        wait_s: float | None = self.wait_s
        if wait_s is None and not self.keep_waiting:
            wait_s = settings.profile.wait.seconds
        return Hold(
            node=self.node,
            warm=self.warm,
            wait_s=wait_s,
            keep_waiting=self.keep_waiting,
            dry_run=dry_run,
            typed=self.typed,
        )

    def foretold(self) -> Hold:
        """The request of a dry run, for which no profile needs to be there."""
        return Hold(node=self.node, warm=self.warm, dry_run=True)

    def say_if_unused(self, emit: Emit, node: str | None, job_id: int | None) -> None:
        """A node that is held already has the resources it was granted with."""
        if not self.flags:
            return
        flags = " ".join(self.flags)
        message = (
            f"`{flags}` was not used: `{node}` is held already, as job {job_id};"
            f" `scratchflow hop {flags}` moves to a node like that"
        )
        emit(Log(level="info", message=message))

    def saying_if_not_sent(self, emit: Emit) -> Emit:
        """`emit`, which also says when an earlier request is waited for instead of this one."""
        node = [f"--node {printable(self.node)}"] if self.node else []
        unsent = " ".join([*self.flags, *node])

        def watch(event: Event) -> None:
            nonlocal unsent
            emit(event)
            if unsent and isinstance(event, State) and event.resumed and event.state == "pending":
                message = (
                    f"`{unsent}` is not sent to Slurm: job {event.job_id} is in the queue already;"
                    " `scratchflow clear --pending` withdraws it"
                )
                emit(Log(level="info", message=message))
                unsent = ""

        return watch
