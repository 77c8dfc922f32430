"""Installs the agent on a cluster, and removes it.

Over there every scratchflow has a directory of its own, `~/.local/share/scratchflow/agent/<name>`,
and is only ever called by that name: laptops with different versions do not meet. The far side of
each step is in `there/`; it needs a Python and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from scratchflow.agent.delivery.cache import BundleCache
from scratchflow.agent.delivery.needs import needs_for
from scratchflow.agent.delivery.probe import FoundPython, Host, fitting_pythons, probe, script
from scratchflow.agent.delivery.source import agent_name
from scratchflow.agent.name import note_agent_name
from scratchflow.model.errors.agent import BundleFailed, InstallFailed
from scratchflow.model.errors.store import TargetFull
from scratchflow.model.events import Emit, Log, Progress
from scratchflow.model.text import last_line
from scratchflow.model.units import format_size
from scratchflow.process.child import Completed
from scratchflow.ssh.transport.base import Transport

# An agent that nobody started for so long is removed by the next installation.
KEEP_UNUSED_S = 30 * 86400
_CHECK_TIMEOUT_S = 300
_INSTALL_TIMEOUT_S = 900
# The unpacked files, and room for the ones they replace.
_NEEDED_KIB = 64 << 10
_MARK = b"scratchflow-unpack\t"
# One line each, for login shells that cannot carry more; the rest comes over stdin.
_READ_SCRIPT = "import sys;exec(sys.stdin.buffer.read(int(sys.argv[1])))"


class Installed(msgspec.Struct, frozen=True):
    """An agent that answers: where it is, what runs it, and whether it was there already."""

    path: str
    python: str
    was_there: bool
    removed: list[str]


def install(
    transport: Transport,
    *,
    profile_name: str,
    modules: Sequence[str] = (),
    cache: BundleCache | None = None,
    emit: Emit = lambda _: None,
    keep_unused_s: float = KEEP_UNUSED_S,
    on_trial: bool = False,
) -> Installed:
    """Makes this scratchflow's agent run on the host; changes nothing when it does already.

    When the best Python there cannot be served, the next is tried; the first failure is told.
    One that is brought `on_trial` goes with `end_trial`, unless it is installed for good before.
    """
    note_agent_name()  # the one that is brought, should another have been noted
    emit(Progress(phase="looking at the cluster"))
    host = probe(transport, modules)
    _require_space(host)
    failures: list[BundleFailed | InstallFailed] = []
    for python in fitting_pythons(host, transport, profile_name):
        try:
            options = ["--keep-unused-s", str(keep_unused_s), *(["--on-trial"] if on_trial else [])]
            return _install_for(transport, python, cache or BundleCache.of_user(), emit, options)
        except (BundleFailed, InstallFailed) as error:
            failures.append(error)
            emit(Log(level="debug", message=f"not with {python.executable}: {error}"))
    raise failures[0]


def uninstall(transport: Transport) -> None:
    """Removes every agent of the user from the host, whichever laptop brought it."""
    done = transport.run(["sh", "-s"], stdin=script("uninstall.sh"), timeout_s=_CHECK_TIMEOUT_S)
    if done.returncode:
        raise InstallFailed(host=transport.host, reason=f"it stays there: {last_line(done.stderr)}")


def end_trial(transport: Transport) -> bool:
    """Removes this scratchflow's agent from the host if it is only on trial; whether it was."""
    argv = ["sh", "-s", "--", agent_name()]
    done = transport.run(argv, stdin=script("end_trial.sh"), timeout_s=_CHECK_TIMEOUT_S)
    if done.returncode:
        raise InstallFailed(host=transport.host, reason=f"it stays there: {last_line(done.stderr)}")
    return b"scratchflow-trial\tended" in done.stdout


def _install_for(
    transport: Transport, python: FoundPython, cache: BundleCache, emit: Emit, options: list[str]
) -> Installed:
    answer = _tell(transport, python, ["--check", *options], b"")
    was_there = answer["state"] == "present"
    if not was_there:
        answer = _send(transport, python, cache, emit, options)
    return Installed(
        path=str(answer["path"]),
        python=python.executable,
        was_there=was_there,
        removed=[str(name) for name in answer.get("removed", [])],
    )


def _send(
    transport: Transport, python: FoundPython, cache: BundleCache, emit: Emit, more: list[str]
) -> dict[str, Any]:
    # Late: every command asks an agent, and hardly any has to bring one.
    import hashlib

    from scratchflow.agent.delivery.bundle import make_bundle

    emit(Progress(phase="putting the agent together"))
    archive = make_bundle(python.target(), cache).content
    start, run = script("start.sh"), script("run.py")
    content = start + run + archive
    emit(Progress(phase="sending the agent", bytes_total=len(content)))
    options = {
        "--start-bytes": len(start),
        "--run-bytes": len(run),
        "--archive-bytes": len(archive),
        "--sha256": hashlib.sha256(content).hexdigest(),
    }
    words = [*(str(word) for option in options.items() for word in option), *more]
    return _tell(transport, python, words, content)


def _tell(
    transport: Transport, python: FoundPython, words: list[str], content: bytes
) -> dict[str, Any]:
    """Runs our unpacking script over there and reads its one line."""
    source = script("unpack.py")
    argv = [python.executable, "-I", "-S", "-c", _READ_SCRIPT, str(len(source)), *words]
    argv += ["--name", agent_name(), "--tag", python.target().tag, "--python", python.executable]
    argv += ["--modules", *(need.module for need in needs_for(python.version))]
    if python.library_path:
        argv = ["env", f"LD_LIBRARY_PATH={python.library_path}", *argv]
        argv += ["--library-path", python.library_path]
    timeout_s = _INSTALL_TIMEOUT_S if content else _CHECK_TIMEOUT_S
    done = transport.run(argv, stdin=source + content, timeout_s=timeout_s)
    answer = _parse_answer(transport, done)
    if answer.get("full"):
        raise TargetFull(path=transport.host, reason=answer["error"])
    if "error" in answer:
        raise InstallFailed(host=transport.host, reason=answer["error"])
    return answer


def _parse_answer(transport: Transport, done: Completed) -> dict[str, Any]:
    line = done.stdout.rpartition(_MARK)[2].partition(b"\n")[0] if _MARK in done.stdout else b""
    try:
        answer = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError:
        said = last_line(done.stderr) or f"exit code {done.returncode}"
        raise InstallFailed(host=transport.host, reason=said) from None
    if not answer.keys() & {"error", "state"}:
        raise InstallFailed(host=transport.host, reason="it answers in an unknown way")
    return answer


def _require_space(host: Host) -> None:
    if host.home_free_kib is not None and host.home_free_kib < _NEEDED_KIB:
        free, needed = format_size(host.home_free_kib << 10), format_size(_NEEDED_KIB << 10)
        raise TargetFull(path=host.home, reason=f"the agent needs {needed}, {free} are free")
