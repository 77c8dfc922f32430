"""Our tmux server on the login host: one session a profile, with the window `node`.

The server has a socket of its own (`tmux -L scratchflow`), so nothing here can see or end the user's
other sessions. It reads his `~/.tmux.conf`, as he works in it.

Commands are given to tmux as arguments, never typed into a shell and never as one string, which tmux
would hand to a shell. `remain-on-exit` keeps a window after its command ended: what `salloc` said
stays on the screen for the user, and is read from there by us. That needs no file, no wrapper and
no pipe; `salloc` is the window's own process and is hung up with it, and the shell under it keeps a
terminal as stderr. The one weakness of the way, words lost at the very end, tmux_window.py makes good.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, Run
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.process.child import Completed

if TYPE_CHECKING:
    from libtmux import Server

SOCKET = "scratchflow"
WINDOW = "node"

_PROBE_S = 10.0
_PROFILE_OPTION = "@scratchflow_profile"
# For `printf`: the exit code, and twice the key that tmux listens to.
_ENDED = "The command has ended with exit code %s. %s d leaves, %s & closes this window"
# Of a window: `run --detach` has opened it, in this job (or `here`, without a cluster).
_RUN_OPTION = "@scratchflow_run"
# tmux allows no `:` in a session's name. The window's is last: the user's own may hold anything.
_FIELDS = (
    "session_name",
    _PROFILE_OPTION,
    _RUN_OPTION,
    "pane_id",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
)
_FORMAT = ":".join(f"#{{{field}}}" for field in (*_FIELDS, "window_name"))
_NO_SERVER = ("no server running", "No such file or directory", "Connection refused")
# The last is what `list-panes` hears of a server whose last session has just ended.
_ON_ITS_WAY_OUT = ("server exited", "lost server", "no sessions", "no current target")
# In a pane: `exit` is how people leave who know nothing of tmux.
_OWN_SESSION = 'tmux display-message -p -t "$TMUX_PANE" "#{session_id}"'
_DETACH = f'tmux detach-client -s "$({_OWN_SESSION})" 2>/dev/null'
_START_TRIES, _START_PAUSE_S = 10, 0.1


class Pane(msgspec.Struct, frozen=True):
    """The pane in which a profile's `salloc` or shell runs."""

    session: str
    profile: str
    pane_id: str
    pid: int
    dead: bool
    exit_code: int | None
    """None while it runs, and after it was ended by a signal."""
    window: str
    run: str = ""
    """The job in which `run --detach` started what runs here, or `here`; empty for any other pane."""


class Tmux:
    """tmux on this host. TmuxFailed wherever it is missing or refuses; `host` is for messages.

    What only asks goes through `run`, which has a time limit. Before anything else the server is asked for a sign of
    life: libtmux itself would wait for ever.
    """

    def __init__(self, run: Run, host: str, socket: str = SOCKET) -> None:
        self._run = run
        self._host = host
        self._socket = socket
        self._server: Server | None = None

    def pane(self, profile: str) -> Pane | None:
        """The profile's pane `node`, or None; the oldest one if the user has split the window."""
        ours = [pane for pane in self._panes() if (pane.profile, pane.window) == (profile, WINDOW)]
        return min(ours, key=lambda pane: int(pane.pane_id[1:]), default=None)

    def pane_with_id(self, pane_id: str) -> Pane | None:
        """That pane, whatever the user has renamed or moved meanwhile; None when it is gone."""
        return next((pane for pane in self._panes() if pane.pane_id == pane_id), None)

    def session(self, profile: str) -> str | None:
        """The name of the profile's session, if it lives."""
        found = [pane.session for pane in self._panes() if pane.profile == profile]
        return found[0] if found else None

    def ensure(
        self,
        profile: str,
        session: str,
        argv: Sequence[str],
        *,
        renew_unused: bool = False,
        is_over: Callable[[str], bool] = lambda _: False,
    ) -> Pane:
        """The profile's window with a live command in it: the one that runs, or else this one.

        With `renew_unused` also in place of a shell that nobody has used yet. `is_over` says of a
        command that still runs whether it is about to end.
        """
        pane = self.pane(profile)
        if pane is None:
            return self.start(profile, session, argv)
        if self._wants_start(pane, renew_unused=renew_unused, is_over=is_over):
            return self.restart(pane, argv)
        return pane

    def would_start(
        self,
        profile: str,
        *,
        renew_unused: bool = False,
        is_over: Callable[[str], bool] = lambda _: False,
    ) -> bool:
        """Whether `ensure` would start its command now."""
        pane = self.pane(profile)
        return pane is None or self._wants_start(pane, renew_unused=renew_unused, is_over=is_over)

    def _wants_start(
        self, pane: Pane, *, renew_unused: bool, is_over: Callable[[str], bool]
    ) -> bool:
        is_unwanted = pane.dead or (renew_unused and self._is_unused(pane))
        return is_unwanted or is_over(self._command(pane))

    def _command(self, pane: Pane) -> str:
        """What was started in the pane."""
        wanted = "#{pane_start_command}"
        return "\n".join(self._cmd("display-message", "-p", "-t", pane.pane_id, wanted))

    def _is_unused(self, pane: Pane) -> bool:
        """Whether no terminal has ever shown the session, and the window does not hold the job.

        An old tmux that does not know when a session was shown has no `version` either.
        """
        wanted = "#{version}:#{session_last_attached}:#{session_attached}:#{pane_start_command}"
        shown = self._cmd("display-message", "-p", "-t", pane.pane_id, wanted)
        version, last, attached, command = (shown[0] if shown else ":::").split(":", 3)
        was_shown = not version or last or attached != "0"
        return not was_shown and "salloc" not in command

    def start(self, profile: str, session: str, argv: Sequence[str]) -> Pane:
        """Runs the command in a window `node` of its own, in place of an earlier one."""
        before = self.pane(profile)
        name = self.session(profile) or self._opened_session(profile, session, argv)
        if name is not None:
            where = ["-t", f"={name}:", "-n", WINDOW]
            self._cmd("new-window", *where, "--", *_quoted(argv), *_window_options(f"={name}:"))
        if before is not None:
            self.kill_pane(before.pane_id)
        pane = self.pane(profile)
        if pane is None:
            raise self._failed("the window was closed as soon as it was opened")
        return pane

    def show_beside(self, profile: str, window: str, argv: Sequence[str]) -> None:
        """Opens a further window of the profile's session for a command; nothing without a session."""
        name = self.session(profile)
        if name is None:
            return
        if any(pane.session == name and pane.window == window for pane in self._panes()):
            self._cmd("kill-window", "-t", f"={name}:={window}")
        # `-d`: the user goes on looking at what he looks at.
        where = ["-d", "-t", f"={name}:", "-n", window]
        self._cmd("new-window", *where, "--", *_quoted(argv))

    def detached(self, profile: str) -> list[Pane]:
        """The panes in which a command of `run --detach` runs."""
        panes = self._panes()
        return [pane for pane in panes if pane.profile == profile and pane.run and not pane.dead]

    def open_window(self, profile: str, name: str, argv: Sequence[str], *, run: str) -> str:
        """Runs the command in a new window of the profile's session, which stays when it has ended.

        `run` is the job, or `here`.
        The window's name: the one asked for, with a number behind it when there is such a window.
        """
        session = self.session(profile)
        if session is None:
            raise self._failed(f'profile "{profile}" has no session')
        taken = {pane.window for pane in self._panes() if pane.session == session}
        free = (f"{name}-{number}" for number in range(2, len(taken) + 3))
        window = next(word for word in (name, *free) if word not in taken)
        target = f"={session}:={window}"
        where = ["-t", f"={session}:", "-n", window]
        mark = [";", "set-option", "-w", "-t", target, _RUN_OPTION, run]
        # tmux's own words would push the first line of a short output out of sight. Before version 3.3 there is no such
        # option (`-q`), and it says "Pane is dead".
        mark += [";", "set-option", "-w", "-q", "-t", target, "remain-on-exit-format", ""]
        command = _quoted(_telling_its_end(argv))
        self._cmd("new-window", *where, "--", *command, *_window_options(target), *mark)
        return window

    def restart(self, pane: Pane, argv: Sequence[str]) -> Pane:
        """Runs another command in the same window; whatever still runs there is ended."""
        self._cmd("respawn-pane", "-k", "-t", pane.pane_id, "--", *_quoted(argv))
        return self.pane(pane.profile) or pane

    def text(self, pane: Pane) -> str:
        """What stands in the pane, with its wrapped lines joined."""
        return "\n".join(self._cmd("capture-pane", "-p", "-J", "-S", "-", "-t", pane.pane_id))

    def kill_pane(self, pane_id: str) -> None:
        """Closes one pane; with its last pane a window goes, and with that a session."""
        if self.pane_with_id(pane_id) is None:
            return
        try:
            self._cmd("kill-pane", "-t", pane_id)
        except TmuxFailed:
            if self.pane_with_id(pane_id) is not None:  # else another run was quicker
                raise

    def kill(self, profile: str) -> bool:
        """Ends the profile's session and what runs in it; False when there was none."""
        name = self.session(profile)
        if name is not None:
            self._cmd("kill-session", "-t", f"={name}")
        return name is not None

    def attach_argv(self, profile: str) -> list[str]:
        """What a terminal runs to show the session."""
        name = self.session(profile)
        if name is None:
            raise self._failed(f'profile "{profile}" has no session')
        return ["tmux", "-L", self._socket, "attach-session", "-t", f"={name}"]

    def _opened_session(self, profile: str, session: str, argv: Sequence[str]) -> str | None:
        """Opens the session with the command in it; its name when another run was quicker."""
        for tries_left in reversed(range(_START_TRIES)):
            try:
                self._new_session(profile, session, argv)
            except TmuxFailed:
                name = self.session(profile)
                if name is not None:
                    return name
                if not tries_left:
                    raise
                time.sleep(_START_PAUSE_S)
            else:
                return None
        return None

    def _new_session(self, profile: str, session: str, argv: Sequence[str]) -> None:
        name = self._free_name(profile, session)
        target = f"={name}:"
        # The user's configuration may end what nobody looks at; ours is looked at now and then.
        lasting = ["set-option", "-s", "exit-unattached", "off", ";"]
        lasting += ["set-option", "-g", "destroy-unattached", "off", ";"]
        # tmux runs one list of commands without a break, so a command that fails at once still
        # finds `remain-on-exit` set when it is buried.
        opened = ["new-session", "-d", "-s", name, "-n", WINDOW, "-x", "200", "-y", "50"]
        owned = [";", "set-option", "-t", target, _PROFILE_OPTION, profile]
        command = ["--", *_quoted(argv), *owned, *_window_options(target)]
        for _ in range(_START_TRIES):
            if self._ask("start-server", ";", *lasting, *opened, *command) is not None:
                return
            time.sleep(_START_PAUSE_S)  # an old server is still on its way out
        raise self._failed("its server does not start")

    def _free_name(self, profile: str, session: str) -> str:
        """The session's name; with the profile's beside it when another profile has it already."""
        taken = {pane.session for pane in self._panes()}
        name, longer = (text.replace(".", "_") for text in (session, f"{session}-{profile}"))
        return longer if name in taken else name

    def _panes(self) -> list[Pane]:
        panes = self._listed()
        if any(pane.dead and pane.exit_code is None and _exists(pane.pid) for pane in panes):
            # tmux may miss the end of a command that ends at once, and then keeps it as a zombie
            # without an exit code until another child of its ends. This is one.
            self._ask("run-shell", "true")
            panes = self._listed()
        return panes

    def _listed(self) -> list[Pane]:
        # `-u`: our locale is C, in which tmux would write `_` for what is not ASCII.
        done = self._bounded("-u", "list-panes", "-a", "-F", _FORMAT)
        lines = self._answer(done.returncode, done.text.split("\n"), done.error_text)
        return [
            _pane(fields)
            for line in lines or ()
            if len(fields := line.split(":", len(_FIELDS))) > len(_FIELDS)
        ]

    def _cmd(self, *arguments: str) -> list[str]:
        done = self._ask(*arguments)
        if done is None:
            raise self._failed("its server has gone")
        return done

    def _ask(self, *arguments: str) -> list[str] | None:
        """The lines of the answer; None when no server runs."""
        done = self._connected().cmd(*arguments)
        return self._answer(done.returncode, list(done.stdout), " ".join(done.stderr))

    def _answer(self, code: int, lines: list[str], said: str) -> list[str] | None:
        if code == 0:
            return lines
        if any(words in said for words in (*_NO_SERVER, *_ON_ITS_WAY_OUT)):
            return None
        raise self._failed(said.strip() or f"exit code {code}")

    def _bounded(self, *arguments: str) -> Completed:
        """What tmux says to a question, within a time limit. Never for what could start the server: it would inherit our locale."""
        try:
            return self._run(["tmux", "-L", self._socket, *arguments], _PROBE_S)
        except CommandMissing as error:
            raise self._failed("there is no `tmux` on its PATH") from error
        except CommandUnanswered as error:
            raise self._failed(str(error)) from error

    def _connected(self) -> Server:
        self._bounded("list-sessions")
        if self._server is None:
            from libtmux import Server

            self._server = Server(socket_name=self._socket)
        return self._server

    def _failed(self, reason: str) -> TmuxFailed:
        return TmuxFailed(host=self._host, reason=reason)


def then_detach(argv: Sequence[str], before: str = "") -> list[str]:
    """The command, and at its end every terminal that shows it is given back to its user.

    The window stays: `ensure` fills it again. `before` is a line of shell to run before that.
    """
    steps = ['"$@"', *([before] if before else []), _DETACH]
    return ["/bin/sh", "-c", "; ".join(steps), "sh", *argv]


def _telling_its_end(argv: Sequence[str]) -> list[str]:
    """The command with a shell around it: it tells how the command ended, and how to get away from there.

    Then it closes the terminal, and ends a moment later. Up to version 3.4 tmux is deaf to the end of a child while it
    notes in utmp that a terminal has closed, and so would never learn the exit code. The first `trap` keeps Ctrl-C from the
    shell, not from the command; the second is for tmux, which hangs up when the terminal has been closed.
    """
    steps = [
        "trap : INT QUIT",
        '"$@"',
        "code=$?",
        "trap '' HUP",
        'key=$(tmux show-options -gqv prefix 2>/dev/null) && [ "$key" ] || key=C-b',
        f'printf \'\\r\\n{_ENDED}\\r\\n\' "$code" "$key" "$key"',
        "exec </dev/null >/dev/null 2>&1",
        "sleep 0.2",
        'exit "$code"',
    ]
    return ["/bin/sh", "-c", "; ".join(steps), "sh", *argv]


def _window_options(target: str) -> list[str]:
    kept = [";", "set-option", "-w", "-t", target, "remain-on-exit", "on"]
    return [*kept, ";", "set-option", "-w", "-t", target, "allow-rename", "off"]


def _quoted(argv: Sequence[str]) -> list[str]:
    """The command as tmux's arguments: to tmux a `;` at an argument's end separates two commands.

    Two arguments at least: a single one is a shell's to interpret.
    """
    if len(argv) < 2:
        raise ValueError("tmux would give a single word to a shell")
    return [f"{word[:-1]}\\;" if word.endswith(";") else word for word in argv]


def _pane(fields: list[str]) -> Pane:
    session, profile, run, pane_id, pid, dead, status, window = fields
    return Pane(
        session=session,
        profile=profile,
        pane_id=pane_id,
        pid=int(pid),
        dead=dead == "1",
        exit_code=int(status) if dead == "1" and status.isdigit() else None,
        window=window,
        run=run,
    )


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
