"""Runs a command as ssh does, and dies when so many bytes of its output have passed: a link that is cut."""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def main(left: int, argv: list[str]) -> None:
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        down, up = process.stdin.fileno(), process.stdout.fileno()
        threading.Thread(target=_copy, args=(down,), daemon=True).start()
        while left > 0 and (piece := os.read(up, min(left, 4096))):
            os.write(1, piece)
            left -= len(piece)
        os._exit(1)


def _copy(down: int) -> None:
    while piece := os.read(0, 65536):
        while piece:
            piece = piece[os.write(down, piece) :]
    os.close(down)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
