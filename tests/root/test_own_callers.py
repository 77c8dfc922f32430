"""A tunnel's local port on a host with many users: its own user and root get through, nobody else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

OWNER, STRANGER, ROOT = 54321, 54322, 0
_LISTEN = """
import socket
from scratchflow.reach.tunnel.own_callers import own_callers
with socket.create_server(("127.0.0.1", 0)) as listener:
    is_own_caller = own_callers(listener)
    print(listener.getsockname()[1], is_own_caller is not None, flush=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            print(is_own_caller(connection), flush=True)
"""
_CALL = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as caller:
    caller.recv(1)
"""


@contextmanager
def listening() -> Iterator[tuple[str, Iterator[str]]]:
    """The owner's process: its port, and what it says of each caller."""
    argv = [sys.executable, "-c", _LISTEN]
    with subprocess.Popen(argv, user=OWNER, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port, knows = process.stdout.readline().split()
        assert knows == "True"
        try:
            yield port, process.stdout
        finally:
            process.kill()


def test_only_its_user_and_root_are_let_in() -> None:
    with listening() as (port, said):
        answers = {}
        for uid in (OWNER, STRANGER, ROOT):
            subprocess.run([sys.executable, "-c", _CALL, port], user=uid, check=True)
            answers[uid] = next(said).strip()
    assert answers == {OWNER: "True", STRANGER: "False", ROOT: "True"}
