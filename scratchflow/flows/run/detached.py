"""`run --detach`: a command that is left alone, once it is known that it can start."""

from __future__ import annotations

import os

from scratchflow.flows.run.start import Start, not_too_long
from scratchflow.model.errors.run import RunProgramMissing
from scratchflow.model.requests import RunDetached
from scratchflow.model.results.run import RunPlace, RunWindow
from scratchflow.process.carried_all import Far, carry_all
from scratchflow.process.far_words import followed_argv, kill_argv

# What a shell says of a command that it cannot start, in the environment that the command would have.
_NOT_STARTED = {126: "it is not executable", 127: "there is no such program"}
_CAN_START = b"""\
case $1 in
*/*) [ -e "$1" ] || exit 127; [ -x "$1" ] && [ ! -d "$1" ] || exit 126 ;;
*) command -v "$1" >/dev/null || exit 127 ;;
esac
"""


def _require_program(start: Start, place: RunPlace) -> None:
    """RunProgramMissing when the command cannot be started: once it is left alone, nobody sees that."""
    program, node = start.wanted.command[0], start.found.node
    way, token = start.way(start.found.argv), os.urandom(16).hex()
    words = [b"sh", b"-c", _CAN_START, b"sh", os.fsencode(program)]
    directory, sourced = os.fsencode(start.directory(place)), os.fsencode(place.sourced)
    argv = way.argv(followed_argv(token, directory, sourced, words))
    look = Far(node, argv, token, lambda group, name: way.argv(kill_argv(group, name)))
    with not_too_long():
        code = carry_all([look], start.environment)[node].code
    if code in _NOT_STARTED:
        raise RunProgramMissing(program=program, node=node, reason=_NOT_STARTED[code])


def leave(start: Start, place: RunPlace) -> RunWindow:
    """Starts it in a window of our session, where it outlives us."""
    command = start.wanted.command
    _require_program(start, place)
    name = os.path.basename(command[0]) if command else "shell"
    program = "".join(letter for letter in name if letter.isascii() and letter.isalnum())[:20]
    request = RunDetached(argv=tuple(start.in_terminal(place)), program=program or "run")
    return start.cluster.on_login("run detached", request, RunWindow)
