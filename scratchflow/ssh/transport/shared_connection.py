"""Shared connections: one ssh that logged in once, ridden by all that follow (ControlMaster).

Ours lie in a directory of our own. One of the user's, at the ControlPath of their config, is
ridden when it lives and never ended.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.name_digest import name_digest
from scratchflow.process.waiting import looks
from scratchflow.ssh.config.names import is_quotable
from scratchflow.ssh.config.resolve import ResolvedHost

# A unix socket's path has to fit into 104 bytes (108 on Linux); while it is made ssh adds a dot
# and 16 characters.
MAX_PATH_BYTES = 104 - 17 - 1
CHECK_TIMEOUT_S = 5.0
_GONE_EVERY_S = 0.05


class Master(msgspec.Struct, frozen=True):
    """A shared connection's place, whether or not anything is there."""

    path: str
    is_ours: bool

    @property
    def options(self) -> list[str]:
        """What makes ssh ride it; for one of the user's their own config does."""
        return ["-o", f"ControlPath={self.path}"] if self.is_ours else []

    @property
    def asked_note(self) -> Path:
        """Is there when somebody had to be asked for this connection, and would be asked again without it."""
        return Path(f"{self.path}.asked")

    def is_alive(self, host: ResolvedHost) -> bool:
        """Whether it answers; a dead socket or a hung process does not."""
        return self._tell("check", host) == 0

    def end(self, host: ResolvedHost) -> None:
        """Ends it with everything that rides it; only ever one of ours."""
        if self.is_ours:
            self._tell("exit", host)

    def _tell(self, word: str, host: ResolvedHost) -> int:
        config = ["-F", str(host.config_file)] if host.config_file else []
        try:
            return subprocess.run(
                ["ssh", *config, "-O", word, *self.options, "--", host.name],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CHECK_TIMEOUT_S,
                check=False,
            ).returncode
        except (OSError, subprocess.TimeoutExpired):
            return 255


def live_master_of_user(host: ResolvedHost) -> Master | None:
    """The shared connection that the user's own config keeps to this host, if it lives."""
    if not host.control_path or not Path(host.control_path).exists():
        return None
    master = Master(host.control_path, is_ours=False)
    return master if master.is_alive(host) else None


def our_master(chain: Sequence[ResolvedHost], environment: Mapping[str, str]) -> Master | None:
    """Where our shared connection for this host belongs; None when no private short path exists."""
    name = _name_for(chain)
    for directory in _directories(environment):
        path = directory / name
        fits = len(os.fsencode(path)) <= MAX_PATH_BYTES
        if fits and is_quotable(str(path)) and " " not in str(path) and _make_private(directory):
            return Master(str(path), is_ours=True)
    return None


def note_asking(chain: Sequence[ResolvedHost], environment: Mapping[str, str]) -> None:
    """Remembers that a login to this host takes somebody who answers: what else goes there may ride ours."""
    master = our_master(chain, environment)
    if master is not None:
        with suppress(
            OSError
        ):  # a full disk costs another question, not the login that has just worked
            master.asked_note.touch(mode=0o600)


def shared_where_asked(
    chain: Sequence[ResolvedHost], environment: Mapping[str, str]
) -> Master | None:
    """Our shared connection, alive or not, to a host that asks whoever logs in; None where a key is enough."""
    master = our_master(chain, environment)
    return master if master is not None and master.asked_note.exists() else None


def end_ours(chain: Sequence[ResolvedHost], environment: Mapping[str, str]) -> None:
    """Ends our shared connection to this host.

    Our directory stays: another command may be about to put its own connection there.
    """
    master = our_master(chain, environment)
    if master is None:
        return
    place = Path(master.path)
    if place.exists():
        master.end(chain[-1])
        for _ in looks(CHECK_TIMEOUT_S, _GONE_EVERY_S):
            if not place.exists():
                break
    with suppress(OSError):
        master.asked_note.unlink(missing_ok=True)


def _name_for(chain: Sequence[ResolvedHost]) -> str:
    """A name for exactly this way to exactly this host: an alias that was repointed has another."""
    way = [(hop.hostname, hop.port, hop.user, hop.host_key_alias, hop.name) for hop in chain]
    config = str(chain[-1].config_file)
    return name_digest(repr((way, config)).encode())


def _directories(environment: Mapping[str, str]) -> Iterator[Path]:
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime:
        yield Path(runtime) / "scratchflow"
    import tempfile  # only where there is no such place, or none that will do

    yield Path(tempfile.gettempdir()) / f"scratchflow-{os.getuid()}"


def _make_private(directory: Path) -> bool:
    """Makes the directory, or sees that the one there is ours alone: /tmp is everybody's."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        status = directory.lstat()
    except OSError:
        return False
    is_private = status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
    return stat.S_ISDIR(status.st_mode) and is_private
