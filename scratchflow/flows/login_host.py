"""What a flow that works on the login host has there: Slurm, tmux, the shared home, somebody who listens."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scratchflow.cluster.command import command_environment, local_run
from scratchflow.cluster.slurm import Slurm
from scratchflow.cluster.tmux import Tmux
from scratchflow.cluster.tmux_host import SessionNote, note_session, read_session_note
from scratchflow.cluster.whereami import login_host
from scratchflow.config.settings import Settings
from scratchflow.model.events import Emit, Log, Warned
from scratchflow.model.profile import Profile

_FALLBACK_SHELL = "/bin/sh"


@dataclass(frozen=True)
class LoginHost:
    """This machine, in its role of login host of one profile."""

    settings: Settings
    environment: Mapping[str, str]
    emit: Emit

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

    @property
    def home(self) -> Path:
        """The home that login hosts and nodes share."""
        return Path(self.environment.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)

    @property
    def host(self) -> str:
        """This one of a pool, by the name the others know it by."""
        return login_host()

    @property
    def slurm(self) -> Slurm:
        """Slurm as this user sees it from here."""
        run = local_run(command_environment(self.environment))
        return Slurm(run=run, user=self.user, host=socket.gethostname())

    @property
    def has_tmux(self) -> bool:
        """Whether there is a tmux at all."""
        return shutil.which("tmux", path=self.environment.get("PATH")) is not None

    @property
    def tmux(self) -> Tmux:
        """Our own tmux server on this host."""
        return Tmux(local_run(command_environment(self.environment)), self.host)

    def note_session(self, session: str) -> None:
        """Remembers that the profile's session lives here."""
        note_session(self.home, self.settings.name, SessionNote(host=self.host, session=session))

    def session_elsewhere(self) -> str | None:
        """The other login host that the profile's session was put on; None when it is this one."""
        note = read_session_note(self.home, self.settings.name)
        return note.host if note and note.host != self.host else None

    def remark(self, message: str) -> None:
        """Something worth a line."""
        self.emit(Log(level="info", message=message))

    def caution(self, code: str, message: str) -> None:
        """Something the user should know."""
        self.emit(Warned(code=code, message=message))
