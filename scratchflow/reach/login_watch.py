"""Notices an agent on the login host that stands still, although the connection to it lives.

ssh notices a dead connection by itself. A process that was stopped, or that waits for a disk which does not
answer, keeps its connection: it is looked after over the same one.
"""

from __future__ import annotations

from scratchflow.model.errors.agent import AgentSilent
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import CommandTimedOut
from scratchflow.reach.watch import PROBE_S, SILENT_S, UNSURE, WELL, Seen, Watch
from scratchflow.ssh.transport.base import Transport

_AT_FIRST = Seen("unsure", "it has not said a word yet")


class LoginWatch(Watch):
    """The transport to the login host."""

    _name = "login-watch"

    def __init__(
        self,
        login: Transport,
        *,
        silent_s: float = SILENT_S,
        probe_s: float = PROBE_S,
        quiet_s: float = 0.0,
    ) -> None:
        super().__init__(login, silent_s=silent_s, probe_s=probe_s, quiet_s=quiet_s)

    def silence(self) -> AgentSilent | None:
        """Why the stream was ended from here, if it was."""
        if self.given_up is None:
            return None
        if self._agent is None:
            way_on = f"`ssh {self.host}` shows whether the host answers; then run the command again"
            return AgentSilent(host=self.host, reason=self.given_up, way_on=way_on)
        pid = self._agent.pid
        way_on = (
            f"`ssh {self.host} kill -CONT {pid}` lets it notice that nobody listens any more, and end; "
            "then run the command again: it finishes or undoes what this one began"
        )
        return AgentSilent(host=self.host, reason=f"{self.given_up}, process {pid}", way_on=way_on)

    def _look(self) -> Seen:
        if self._agent is None:
            return _AT_FIRST
        try:
            done = self._inner.run_beside(self._looks.argv(self._agent), timeout_s=self._probe_s)
        except CommandTimedOut:
            return UNSURE
        except ScratchflowError:
            return WELL  # the transport itself tells a connection that broke
        return WELL if done is None else self._looks.read(done)
