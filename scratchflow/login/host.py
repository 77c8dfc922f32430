"""What operations on the login host work with: Slurm, tmux, the shared home, the event stream.

What only some of them need is imported where it is used: to list jobs takes less time than all of that.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scratchflow.cluster.command import command_environment, local_run
from scratchflow.cluster.slurm.client import Slurm, this_slurm
from scratchflow.cluster.this_host import home_of, job_id, login_host, role
from scratchflow.config.settings import Settings
from scratchflow.model.allocation import OPEN, Allocation, RunningAllocation
from scratchflow.model.events import Emit, Log, Warned
from scratchflow.model.profile import Profile
from scratchflow.process.waiting import SYSTEM_CLOCK, Clock
from scratchflow.workspace.path_names import is_of_the_account, names_to_find
from scratchflow.workspace.workspace import Workspace, find_workspace, workspace_as_written

if TYPE_CHECKING:
    from scratchflow.cluster.tmux.host import SessionNote
    from scratchflow.cluster.tmux.server import Tmux

_FALLBACK_SHELL = "/bin/sh"


class LoginHost(msgspec.Struct, frozen=True):
    """This machine, in its role of login host of one profile."""

    settings: Settings
    environment: Mapping[str, str]
    emit: Emit
    clock: Clock = SYSTEM_CLOCK

    @property
    def profile(self) -> Profile:
        """The profile in force."""
        return self.settings.profile

    @property
    def user(self) -> str:
        """The name of the account here; on the nodes it is the same."""
        return pwd.getpwuid(os.getuid()).pw_name

    @property
    def shell(self) -> str:
        """The user's own shell."""
        shell = pwd.getpwuid(os.getuid()).pw_shell
        return shell if os.access(shell, os.X_OK) else _FALLBACK_SHELL

    def workspace_of(self, held: Allocation | None) -> Workspace:
        """The workspace on the node of this job; with its path as written while nobody can say where that is."""
        written, job = self.profile.scratch, held.job_id if held else None
        if self.profile.scheduler == "none" or is_of_the_account(written):
            return find_workspace(self.profile, self.environment)
        from scratchflow.workspace.job_scratch import noted_scratch

        node = held.node if held and held.node else ""
        noted = noted_scratch(self.home, self.settings.name, written, job, node)
        is_inside = job is not None and job_id(self.environment) == job
        if not noted and not (is_inside and not names_to_find(written, self.environment)):
            return workspace_as_written(self.profile)
        return find_workspace(self.profile, self.environment, scratch=noted)

    def start_directory(self, held: Allocation | None) -> str:
        """Where a shell on the node starts: the workspace, as far as this host can tell."""
        path = str(self.workspace_of(held).path)
        return path if os.path.isabs(path) else ""

    def scratch_of(self, held: RunningAllocation, *, again: bool = False) -> str:
        """Where this job has its scratch, asked of its node if need be; empty when the profile alone says it."""
        from scratchflow.reach.job_scratch import scratch_of_job

        return scratch_of_job(
            self.settings, held, self.environment, self.slurm, self.emit, again=again
        )

    @property
    def home(self) -> Path:
        """The home that login hosts and nodes share."""
        return home_of(self.environment)

    @property
    def host(self) -> str:
        """The name of this login host, by which others of the pool reach it."""
        return login_host()

    @property
    def slurm(self) -> Slurm:
        """Slurm as this user sees it from here."""
        return this_slurm(self.environment)

    @property
    def is_in_a_job(self) -> bool:
        """Whether this is a node in the role of the login host: a tmux server here would stay when the job goes."""
        return self.profile.scheduler == "slurm" and role(self.environment) == "node"

    @property
    def has_tmux(self) -> bool:
        """Whether there is a tmux whose server may run on this host."""
        import shutil

        return (
            not self.is_in_a_job
            and shutil.which("tmux", path=self.environment.get("PATH")) is not None
        )

    @property
    def tmux(self) -> Tmux:
        """Our own tmux server on this host."""
        from scratchflow.cluster.tmux.server import Tmux

        return Tmux(local_run(command_environment(self.environment)), self.host)

    def has_ended(self, job: int | str) -> bool:
        """Whether the profile's job of this number or name is over. A name that is not in the queue may be yet to come."""
        from scratchflow.cluster.slurm.jobs import our_jobs

        jobs = our_jobs(self.slurm, self.settings.name, ended=True)
        found = [one for one in jobs if job in {one.job_id, one.name}]
        return all(one.state not in OPEN for one in found) and (bool(found) or isinstance(job, int))

    def note_session(self, session: str) -> None:
        """Notes that the profile's session is on this host. If the home is full, only the note is lost."""
        from scratchflow.cluster.tmux.host import SessionNote, note_session

        note = SessionNote(host=self.host, session=session)
        try:
            note_session(self.home, self.settings.name, note)
        except OSError as error:
            message = f"`{self.home}` cannot be written ({error.strerror}); another login host will not find the session"
            self.caution("tmux.not_noted", message)

    def forget_session(self) -> None:
        """There is no session any more."""
        from scratchflow.cluster.tmux.host import forget_session

        try:
            forget_session(self.home, self.settings.name)
        except OSError as error:
            self.caution("tmux.not_noted", f"`{self.home}` cannot be written ({error.strerror})")

    def session_elsewhere(self) -> SessionNote | None:
        """The profile's session on another login host; None when it is on this one.

        The note lies in the user's home, but its words go to ssh and tmux: only names pass.
        """
        from scratchflow.cluster.tmux.host import read_session_note
        from scratchflow.ssh.config.names import is_login, is_name

        note = read_session_note(self.home, self.settings.name)
        if note is None or note.host == self.host:
            return None
        return note if is_login(note.host) and is_name(note.session) else None

    def remark(self, message: str, *, for_terminal: bool = False) -> None:
        """Logs one line."""
        self.emit(Log(level="info", message=message, for_terminal=for_terminal))

    def caution(self, code: str, message: str) -> None:
        """Reports a warning."""
        self.emit(Warned(code=code, message=message))
