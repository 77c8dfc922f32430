"""The transport that uses the system's ssh: whatever ssh can do, FIDO keys and Kerberos included."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scratchflow.model.errors.ssh import CommandTimedOut, ConnectionLost
from scratchflow.process.child import Completed
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.base import (
    ALIVE_COUNT,
    ALIVE_INTERVAL_S,
    CONNECT_TIMEOUT_S,
    ENDED_BY_SIGNAL,
    Feed,
    Stream,
    Transport,
    far_command,
)
from scratchflow.ssh.transport.child import ChildStream, run_carried
from scratchflow.ssh.transport.log_files import log_file
from scratchflow.ssh.transport.shared_connection import Master, live_master_of_user, our_master

KEEP_S = 8 * 3600
# To ask whether a shared connection lives is a process of its own: not again for what follows at once.
_TRUSTED_S = 1.0
# Around everything that may ask on the terminal.
Question = Callable[[], contextlib.AbstractContextManager[None]]


class OpenSshTransport(Transport):
    """Runs `ssh` for each command, over one shared connection that logs in once.

    The shared connection outlives this object by `keep_s` of idleness, so that a second factor
    is asked for once a day; with 0 it ends on `close`. With `interactive` ssh may ask on the
    terminal while it logs in; otherwise nothing ever asks. Without `shared` each command logs in by itself.
    """

    def __init__(
        self,
        chain: Sequence[ResolvedHost],
        *,
        environment: Mapping[str, str],
        interactive: bool = False,
        keep_s: int = KEEP_S,
        reason: str = "",
        question: Question = contextlib.nullcontext,
        shared: bool = True,
        master: Master | None = None,
    ) -> None:
        self._question = question
        self._is_shared = shared
        self._target = chain[-1]
        self.host = self._target.name
        self.reason = reason or "as set"
        self._environment = ssh_environment(environment)
        self._fallback = our_master(chain, environment) if shared else None
        self._interactive = interactive
        self._keep_s = keep_s
        self._master = master if shared else None
        self._alive_at_s = time.monotonic() if self._master else float("-inf")
        if shared and master is None:
            self._master = live_master_of_user(self._target) or self._fallback

    def connect(self) -> None:
        """Logs in, unless a shared connection lives."""
        if time.monotonic() - self._alive_at_s < _TRUSTED_S or self._lives_on():
            return
        self._master = self._fallback  # one of the user's that ended is theirs to start again
        if self._master is None or self._master.is_alive(self._target):
            return
        from scratchflow.ssh.transport.openssh_login import log_in

        with self._question() if self._interactive else contextlib.nullcontext():
            log_in(
                self._options(batch=not self._interactive),
                _master_options(self._master, self._keep_s or 60),
                self._target,
                self._environment,
                interactive=self._interactive,
            )
        self._alive_at_s = time.monotonic()

    def require_answer(self, timeout_s: float) -> None:
        """ConnectionLost when the host does not answer: a shared connection lives on for a while after the host is gone."""
        try:
            self.run(["true"], timeout_s=timeout_s)
        except CommandTimedOut:
            reason = f"no answer within {timeout_s:g} s"
            raise ConnectionLost(host=self.host, reason=reason) from None

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        command = far_command(argv)
        self.connect()
        return self._run(argv, command, stdin, timeout_s)

    def run_beside(self, argv: Sequence[str], *, timeout_s: float) -> Completed | None:
        may_run = self._lives_on() or not self._is_shared
        return self._run(argv, far_command(argv), None, timeout_s) if may_run else None

    def _run(
        self, argv: Sequence[str], command: bytes, stdin: bytes | None, timeout_s: float
    ) -> Completed:
        with log_file() as log:
            done = run_carried(
                self.host,
                argv,
                self._argv(command, log),
                stdin=stdin,
                timeout_s=timeout_s,
                environment=self._environment,
            )
            code = self._meaning(done.returncode, done.stderr, log)
        return Completed(code, done.stdout, done.stderr)

    def stream(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        feed: Feed | None = None,
        hold_stdin: bool = False,
    ) -> Stream:
        command = far_command(argv)
        self.connect()
        resources = contextlib.ExitStack()
        log = resources.enter_context(log_file())
        return ChildStream(
            self._argv(command, log),
            stdin=stdin,
            feed=feed,
            hold_stdin=hold_stdin,
            environment=self._environment,
            at_end=lambda code, stderr: self._meaning(code, stderr, log),
            at_close=resources.close,
        )

    def describe(self) -> str:
        shared = ""
        if self._master:
            shared = f", over {'a' if self._master.is_ours else 'your'} shared connection"
        return f"openssh to {self.host}{shared} ({self.reason})"

    @property
    def shared_path(self) -> str:
        """The socket of the shared connection; empty when there is none."""
        return self._master.path if self._master else ""

    def foreground_argv(self, *, terminal: bool) -> list[str]:
        """`ssh` up to the command, for whoever gives it stdin, stdout and stderr of its own; connect first.

        It says nothing itself: its stderr is the far command's.
        """
        options = self._options(batch=True, terminal=terminal)
        share = self._master.options if self._master else ["-o", "ControlPath=none"]
        quiet = ["-o", "LogLevel=QUIET"]
        return ["ssh", *options, *quiet, "-o", "ControlMaster=no", *share, "--", self.host]

    def terminal_code(self, code: int) -> int:
        """What an ssh made of `foreground_argv` exited with, in a terminal; ConnectionLost when that is ssh's own.

        ssh has one code for both. While the shared connection lives, it is the command's.
        """
        if code == 255 and not self._lives_on():
            raise ConnectionLost(host=self.host, reason="it was cut while a command ran")
        return code

    def close(self) -> None:
        if self._keep_s == 0:
            self.end_master()

    def end_master(self) -> None:
        """Ends the shared connection, and with it whatever runs over it; never the user's own."""
        if self._master:
            self._master.end(self._target)

    def _argv(self, command: bytes, log: Path) -> list[str | bytes]:
        # DEBUG2 is where ssh says whether the far command ended, or only the connection.
        about = ["-E", str(log), "-o", "LogLevel=DEBUG2"]
        share = self._master.options if self._master else ["-o", "ControlPath=none"]
        return [
            "ssh",
            *self._options(batch=True),
            *about,
            "-o",
            "ControlMaster=no",
            *share,
            "--",
            self.host,
            command,
        ]

    def _options(self, *, batch: bool, terminal: bool = False) -> list[str]:
        config = self._target.config_file
        settings = [
            f"BatchMode={'yes' if batch else 'no'}",
            f"ConnectTimeout={CONNECT_TIMEOUT_S}",
            f"ServerAliveInterval={ALIVE_INTERVAL_S}",
            f"ServerAliveCountMax={ALIVE_COUNT}",
            # What a config may ask for an interactive login, and what would break a plain command.
            f"RequestTTY={'force' if terminal else 'no'}",
            "RemoteCommand=none",
            "PermitLocalCommand=no",
            "ClearAllForwardings=yes",
            "ForwardX11=no",
            "EscapeChar=none",  # in a terminal, Enter and `~.` are keys like others
        ]
        options = [word for setting in settings for word in ("-o", setting)]
        kind = "-tt" if terminal else "-T"
        return [*(["-F", str(config)] if config else []), kind, *options]

    def _meaning(self, code: int, stderr: bytes, log: Path) -> int:
        """The far command's own return code; raises when it is ssh that failed."""
        if code != 255:
            return code
        from scratchflow.ssh.transport.openssh_words import (
            failure,
            got_through,
            read_signal,
            read_status,
        )

        said = log.read_text("utf-8", "replace")
        if read_status(said):
            return code
        # Over a shared connection nobody reports a signal: the connection living on is the sign.
        if read_signal(said) or ("mux_client" in said and self._lives_on()):
            return ENDED_BY_SIGNAL
        self._alive_at_s = float("-inf")
        # Once a command runs, stderr is its own, and could say anything.
        hops = "" if got_through(said) else stderr.decode("utf-8", "replace")
        raise failure(self._target, said, hops)

    def _lives_on(self) -> bool:
        is_alive = self._master is not None and self._master.is_alive(self._target)
        self._alive_at_s = time.monotonic() if is_alive else float("-inf")
        return is_alive


def ssh_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for ssh: nothing in it can make ssh open a window to ask.

    The hops of a ProxyJump do not inherit BatchMode. Without a terminal, which a child of ours
    has not, and without these, they cannot ask either.
    """
    asking = {"DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS"}
    kept = {name: value for name, value in environment.items() if name not in asking}
    return {**kept, "SSH_ASKPASS_REQUIRE": "never"}


def _master_options(master: Master, keep_s: int) -> list[str]:
    return ["-o", "ControlMaster=auto", "-o", f"ControlPersist={keep_s}", *master.options]
