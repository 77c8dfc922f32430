"""Logging in with the system's ssh: leaves a shared connection behind, or says why it cannot."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Mapping

from scratchflow.model.errors.ssh import AuthNeeded, ConnectionLost
from scratchflow.process.child import counted
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.base import LOGIN_COMMAND
from scratchflow.ssh.transport.log_files import log_file
from scratchflow.ssh.transport.openssh_words import failure

# Long enough for several hops with 10 s each; for a person with a second factor to find.
LOGIN_TIMEOUT_S = 40.0
# What is still wanted after all keys were shown; a key that was one of two factors is not in it.
_KEY_WANTED = re.compile(r"Permission denied \([^)]*publickey")
INTERACTIVE_TIMEOUT_S = 180.0


def log_in(
    options: list[str],
    sharing: list[str],
    host: ResolvedHost,
    environment: Mapping[str, str],
    *,
    interactive: bool,
) -> None:
    """Runs `true` on the host, so that the shared connection stays behind.

    `true` and not `-N`: when two of us do this at once, the second rides the first one's
    connection and ends, where `-N` would stay for ever.
    """
    code, said = _try(options + sharing, host, environment, interactive=interactive)
    if code == 255 and not interactive and (host.proxy_jump or host.proxy_command):
        # A connection to be shared hides what its hops say: only one that is not tells the reason.
        alone = ["-o", "ControlMaster=no", "-o", "ControlPath=none"]
        code, said = _try(options + alone, host, environment, interactive=False)
    if code is None and interactive:
        raise AuthNeeded(host=host.name, reason="nobody answered", command=LOGIN_COMMAND)
    if code is None:
        raise ConnectionLost(host=host.name, reason=f"no answer within {LOGIN_TIMEOUT_S:g} s")
    if code == 255:
        raise failure(host, said, "")


def key_is_refused(host: ResolvedHost, environment: Mapping[str, str]) -> bool:
    """Whether the host would take a key, but none of those here. Asks nothing, shares no connection."""
    config = ["-F", str(host.config_file)] if host.config_file else []
    settings = (
        "BatchMode=yes",
        "PreferredAuthentications=publickey",
        "ControlMaster=no",
        "ControlPath=none",
        "RemoteCommand=none",
        "ConnectTimeout=10",
    )
    options = [word for setting in settings for word in ("-o", setting)]
    code, said = _try([*config, "-T", *options], host, environment, interactive=False)
    return code == 255 and bool(_KEY_WANTED.search(said))


def _try(
    options: list[str], host: ResolvedHost, environment: Mapping[str, str], *, interactive: bool
) -> tuple[int | None, str]:
    """ssh's exit code, None when it took too long, and all that it and its hops said."""
    # Files, not pipes: the connection that stays behind would hold a pipe open.
    with log_file() as log, log_file() as said:
        with said.open("wb") as stderr:

            def start() -> subprocess.Popen[bytes]:
                words = ["-E", str(log), "-o", "LogLevel=INFO", "--", host.name, "true"]
                return subprocess.Popen(
                    ["ssh", *options, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    env=environment,
                    # Without a terminal there is nobody to ask; with one, ssh needs it.
                    start_new_session=not interactive,
                )

            process = counted(start)
            code = _wait(process, INTERACTIVE_TIMEOUT_S if interactive else LOGIN_TIMEOUT_S)
        return code, "\n".join(file.read_text("utf-8", "replace") for file in (said, log))


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    # One that shares our terminal's group must be ended alone.
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)
    if process.poll() is None:
        process.kill()
        process.wait()
