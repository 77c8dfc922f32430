"""A small web server for tests of `serve`: on a unix socket or on a port, with a page as large as one likes."""

from __future__ import annotations

import hashlib
import http.client
import socket
from pathlib import Path

PROGRAM = """\
import http.server, socketserver, sys, os

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        size = int(self.path[1:] or 0)
        body = (os.uname().nodename.encode() + b" " + os.environ.get("GREETING", "").encode()) if not size else None
        self.send_response(200)
        self.send_header("Content-Length", str(size or len(body)))
        self.end_headers()
        if body is not None:
            self.wfile.write(body)
        block = bytes(range(256)) * 256
        while body is None and size:
            self.wfile.write(block[:size])
            size -= min(size, len(block))

    def log_message(self, *_):
        pass

class OnSocket(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def get_request(self):
        request, _ = super().get_request()
        return request, ("local", 0)

class OnPort(socketserver.ThreadingTCPServer):
    daemon_threads = True

where = sys.argv[1]
server = OnSocket(where, Handler) if "/" in where else OnPort(("127.0.0.1", int(where)), Handler)
server.serve_forever()
"""


def write_program(directory: Path) -> Path:
    """The server as a file."""
    file = directory / "pages.py"
    file.write_text(PROGRAM)
    return file


def page(port: int, path: str = "/", *, timeout_s: float = 30) -> bytes:
    """What a local port answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def digest_of_page(size_bytes: int) -> str:
    """SHA-256 of the page of that size."""
    block = bytes(range(256)) * 256
    whole, rest = divmod(size_bytes, len(block))
    digest = hashlib.sha256()
    for _ in range(whole):
        digest.update(block)
    digest.update(block[:rest])
    return digest.hexdigest()


def is_open(port: int) -> bool:
    """Whether anybody listens on a local port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
