"""Runs TensorBoard on a unix socket: it has no such option itself. `python THIS SOCKET LOGDIR`.

The Python of the user's environment runs this, so nothing of scratchflow is imported.
"""

import importlib
import signal
import sys
from typing import Any


def main(path: str, logs: str) -> None:
    """Serves the logs on the socket until a signal comes."""
    program: Any = importlib.import_module("tensorboard.program")
    default: Any = importlib.import_module("tensorboard.default")
    serving: Any = importlib.import_module("werkzeug.serving")

    class OnSocket:
        """What TensorBoard expects of a server."""

        def __init__(self, app: Any, _: Any) -> None:
            self._server = serving.make_server("unix://" + path, 0, app, threaded=True)
            self.serve_forever = self._server.serve_forever

        def get_url(self) -> str:
            return "unix://" + path

        def print_serving_message(self) -> None:
            """Nobody reads it."""

    board = program.TensorBoard(plugins=default.get_plugins(), server_class=OnSocket)
    # Its own data server would listen on a port, where every user of the node could read the logs.
    board.configure(argv=["tensorboard", "--logdir", logs, "--load_fast", "false"])
    # Not `main`, which leaves a note of the logs in /tmp, and wants a port for it.
    board.launch()
    signal.pause()


if __name__ == "__main__":
    sys.path.pop(0)  # our own directory: its modules would stand before the user's
    main(*sys.argv[1:])
