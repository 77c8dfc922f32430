"""Real TensorBoard and JupyterLab for the nodes, and what looks at their pages: Chromium, and a kernel's own protocol."""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

from tests.cluster.minicluster import Minicluster, run

# What the tests install: by name, from PyPI.
PACKAGES = ("tensorboard", "setuptools<81", "jupyterlab")
VENV = "/home/alice/pages"
# TensorBoard writes its own logs: no framework is needed.
WRITE_SCALARS = """
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
writer = EventFileWriter("runs/first")
for step in range(20):
    value = Summary.Value(tag="scratchflow_loss", simple_value=1 / (step + 1))
    writer.add_event(Event(wall_time=1e9 + step, step=step, summary=Summary(value=[value])))
writer.close()
"""


def install_pages(minicluster: Minicluster, directory: Path) -> None:
    """A venv in alice's home that has both. It is filled here: the nodes have no internet."""
    made = directory / "made"
    run(["/usr/bin/python3", "-m", "venv", str(made)])
    run([str(made / "bin/pip"), "install", "--quiet", *PACKAGES])
    minicluster.run("exec", "-u", "alice", "login", "python3", "-m", "venv", "--without-pip", VENV)
    there = minicluster.shared(VENV)
    for part in ("lib", "share", "etc"):
        if (made / part).exists():
            shutil.copytree(made / part, there / part, dirs_exist_ok=True, symlinks=True)
    minicluster.exec("login", "chown", "-R", "alice:", VENV)


def rendered(url: str, directory: Path) -> str:
    """The page after its scripts have run, in headless Chromium."""
    argv = [
        *("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        f"--user-data-dir={directory / 'chromium'}",
        *("--window-size=1400,900", "--virtual-time-budget=30000", "--timeout=60000", "--dump-dom"),
        url,
    ]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    return done.stdout


def cell_output(port: int, token: str, code: str) -> str:
    """What a cell prints, run by a new kernel through the same address that a browser uses."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"token {token}"}
    connection.request("POST", "/api/kernels", body="{}", headers=headers)
    kernel = json.loads(connection.getresponse().read())["id"]
    connection.close()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as channel:
        _upgrade(channel, f"/api/kernels/{kernel}/channels", port, token)
        _send(channel, _execute_request(code))
        while True:
            message = json.loads(_receive(channel))
            if message["msg_type"] == "stream":
                return str(message["content"]["text"])
            assert message["msg_type"] != "error", message


def _execute_request(code: str) -> dict[str, Any]:
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}}
    header = {
        "msg_id": "1",
        "msg_type": "execute_request",
        "session": "s",
        "username": "",
        "version": "5.3",
    }
    return {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "content": {**content, "allow_stdin": False, "stop_on_error": True},
        "channel": "shell",
        "buffers": [],
    }


def _upgrade(channel: socket.socket, path: str, port: int, token: str) -> None:
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        f"Authorization: token {token}",
    ]
    channel.sendall("\r\n".join([*lines, "", ""]).encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += _exactly(channel, 1)
    assert b" 101 " in answer.splitlines()[0], answer


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    payload, mask = json.dumps(message).encode(), os.urandom(4)
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
    channel.sendall(b"\x81\xfe" + struct.pack(">H", len(payload)) + mask + masked)


def _receive(channel: socket.socket) -> bytes:
    """The next text message; a ping needs no answer for so short a while."""
    while True:
        kind, size = _exactly(channel, 2)
        if size == 126:
            size = struct.unpack(">H", _exactly(channel, 2))[0]
        elif size == 127:
            size = struct.unpack(">Q", _exactly(channel, 8))[0]
        payload = _exactly(channel, size)
        if kind & 0x0F == 1:
            return payload


def _exactly(channel: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = channel.recv(count - len(found))
        assert piece, "the connection ended"
        found += piece
    return found
