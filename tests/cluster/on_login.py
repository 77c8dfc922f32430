"""Runs on the login host, as the agent will: `python3 on_login.py '{"do": "allocate", …}'`.

Prints JSON lines: its process id, every state it sees, and last the allocation or the error.
"""

import json
import os
import signal
import socket
import sys
from typing import Any

import msgspec

from scratchflow.cluster.command import command_environment, local_run
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.salloc import DirectHolder, Holder
from scratchflow.cluster.slurm.submit import Request, Submission, allocate
from scratchflow.cluster.slurm.wait import Patience
from scratchflow.cluster.tmux import no_scheduler as none
from scratchflow.cluster.tmux.server import Tmux
from scratchflow.cluster.tmux.window import NodeShell, WindowHolder, show_node
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.profile import SlurmOptions

ENVIRONMENT = command_environment(os.environ)
RUN = local_run(ENVIRONMENT)
HOST = socket.getfqdn()
SHELL = "/bin/bash"


def tell(**fields: object) -> None:
    sys.stdout.write(json.dumps(msgspec.to_builtins(fields)) + "\n")
    sys.stdout.flush()


def do_allocate(asked: dict[str, Any]) -> RunningAllocation:
    profile, hold, session = asked["profile"], asked["hold"], asked["session"]
    tmux = Tmux(RUN, HOST)
    holder: Holder = DirectHolder(ENVIRONMENT)
    if hold != "direct":
        holder = WindowHolder(tmux, profile, session)
    request = Request(
        profile=profile,
        options=msgspec.convert(asked["options"], SlurmOptions),
        token=asked["token"],
        detached=hold != "tmux",
        node=asked["node"],
        shell=SHELL,
    )
    patience = Patience(asked["wait_s"], asked["keep_waiting"])
    slurm = Slurm(RUN, os.environ["USER"], HOST)
    submission = Submission(slurm, holder, patience, watch=lambda seen: tell(seen=seen))
    got = allocate(request, submission)
    # From here on the job is known to whoever asked, and an interruption is no reason to end it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hold == "window":
        show_node(tmux, profile, session, got, NodeShell([SHELL, "-l"]))
    return got


def do_show(asked: dict[str, Any]) -> str:
    got = msgspec.convert(asked["allocation"], RunningAllocation)
    return show_node(
        Tmux(RUN, HOST), asked["profile"], asked["session"], got, NodeShell([SHELL, "-l"])
    ).pane_id


def do_kill(asked: dict[str, Any]) -> bool:
    return Tmux(RUN, HOST).kill(asked["profile"])


def do_none(asked: dict[str, Any]) -> list[Any]:
    tmux, profile = Tmux(RUN, HOST), asked["profile"]
    first = none.allocate(tmux, profile, asked["session"], "login", [SHELL, "-l"])
    second = none.allocation(tmux, profile, "login")
    return [first, second, none.release(tmux, profile), none.allocation(tmux, profile, "login")]


def main() -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tell(pid=os.getpid())
    asked = json.loads(sys.argv[1])
    try:
        tell(done=globals()[f"do_{asked['do']}"](asked))
    except ScratchflowError as error:
        tell(error=error.code, fields=error.fields)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
