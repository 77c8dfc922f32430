"""A tunnel of `serve` against `ssh -L` to the same socket of the same node: a large download, and a burst of requests.

Both get the same server and the same client, in turns, in one run. A ratio is how fast ours is, the other way being 1.
Needs root: it starts a minicluster of its own and removes it at the end.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from allocate import Cluster

ROUNDS = 7
LARGE_BYTES = 200_000_000
SMALL_BYTES = 3_000
AT_ONCE = 100
LIMIT = 0.7
OURS, BY_HAND = "scratchflow serve", "ssh -L"
SERVER = """\
import http.server, socketserver, sys

BLOCK = bytes(range(256)) * 256

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        left = int(self.path[1:] or 1)
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        while left:
            left -= self.wfile.write(BLOCK[:left])

    def log_message(self, *_):
        pass

class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 128

    def get_request(self):
        return super().get_request()[0], ("local", 0)

Server(sys.argv[1], Handler).serve_forever()
"""


def download(port: int) -> None:
    """One large page."""
    _ask_all(port, 1, LARGE_BYTES)


def burst(port: int) -> None:
    """Many small pages, all asked for at once."""
    _ask_all(port, AT_ONCE, SMALL_BYTES)


def _ask_all(port: int, count: int, size_bytes: int) -> None:
    """Asks so often at once and reads every answer to its end; one that is not whole ends the benchmark."""
    selector = selectors.DefaultSelector()
    heard: dict[int, int] = {}
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        connection.sendall(f"GET /{size_bytes} HTTP/1.0\r\n\r\n".encode())
        connection.settimeout(0)
        selector.register(connection, selectors.EVENT_READ)
        heard[connection.fileno()] = 0
    while selector.get_map():
        for key, _ in selector.select():
            answer = key.fileobj
            assert isinstance(answer, socket.socket)
            piece = answer.recv(1 << 20)
            heard[key.fd] += len(piece)
            if not piece:
                selector.unregister(answer)
                answer.close()
    if min(heard.values()) < size_bytes:
        sys.exit(f"an answer of {size_bytes} bytes was cut short: {min(heard.values())}")


@contextmanager
def both(cluster: Cluster) -> Iterator[dict[str, int]]:
    """The local ports of the two ways."""
    cluster.scratchflow("up", "--node", "1")
    write = f"open('bench.py', 'w').write({SERVER!r})"
    cluster.scratchflow("run", "--", "python3", "-c", write)
    words = ["serve", "--name", "bench", "--json", "--", "python3", "bench.py", "{socket}"]
    said = json.loads(cluster.scratchflow(*words).splitlines()[-1])["data"]
    ours = int(said["url"].split(":")[2].partition("/")[0])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        by_hand: int = probe.getsockname()[1]
    forward = f"127.0.0.1:{by_hand}:{said['server']['socket']}"
    argv = ["ssh", "-F", str(cluster.config), "-N", "-L", forward, "compile_machine"]
    with subprocess.Popen(argv, env=cluster.environment, stdin=subprocess.DEVNULL) as ssh:
        try:
            _wait_for(by_hand)
            yield {OURS: ours, BY_HAND: by_hand}
        finally:
            ssh.terminate()
            cluster.scratchflow("serve", "stop", "--all")


def _wait_for(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    sys.exit("ssh -L does not listen")


def measure(what: Callable[[int], None], ports: dict[str, int]) -> dict[str, float]:
    """Best wall time of each, interleaved, so that a slow moment hits all alike."""
    best = dict.fromkeys(ports, float("inf"))
    for _ in range(ROUNDS):
        for name, port in ports.items():
            started = time.perf_counter()
            what(port)
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def main() -> int:
    """Prints the table; exit 1 when a ratio is under its limit."""
    if os.geteuid() != 0:
        sys.exit("this benchmark needs root: it starts a Slurm cluster in namespaces")
    is_slow = False
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        cluster = Cluster(Path(directory))
        try:
            cluster.start()
            with both(cluster) as ports:
                print(f"{'what':<28} {'ours ms':>8} {'ssh -L ms':>10} {'ratio':>6} {'limit':>6}")
                names = {
                    f"{LARGE_BYTES // 1_000_000} MB in one answer": download,
                    f"{AT_ONCE} requests at once": burst,
                }
                for name, what in names.items():
                    best = measure(what, ports)
                    ratio = best[BY_HAND] / best[OURS]
                    is_slow = is_slow or ratio < LIMIT
                    ours, theirs = best[OURS] * 1000, best[BY_HAND] * 1000
                    print(f"{name:<28} {ours:8.1f} {theirs:10.1f} {ratio:6.2f} {LIMIT:6.1f}")
        finally:
            cluster.stop()
    return 1 if is_slow else 0


if __name__ == "__main__":
    sys.exit(main())
