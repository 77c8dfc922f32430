"""What the last `run` found out, for the next one: the way to the node, the job, the directory.

Nothing depends on it: whatever does not fit is passed over, and the far end checks the job. Little is imported
here: `run` must start fast.
"""

from __future__ import annotations

import os

from scratchflow import __version__

TYPE_CHECKING = False  # `typing` itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLES = ("SCRATCHFLOW_PROFILE", "SCRATCHFLOW_CONFIG", "XDG_CONFIG_HOME", "HOME", "PATH")
_MOST_BYTES = 1 << 16
_END = b"end"


class WarmRun:
    """One way to one node. `outer` and `carrier` are words of a command, see `far_words.Way`.

    `config` is the file that said so, `shared` the socket of the shared connection, if it goes over one. `current` is
    the cluster's note of the job that is worked in, see `login/current_job.py`.
    """

    def __init__(  # noqa: PLR0913 - a record; a dataclass takes longer to define than `run` may
        self,
        *,
        config: str,
        shared: str,
        node: str,
        job_id: str,
        directory: str,
        sourced: str,
        current: str,
        outer: list[str],
        carrier: list[str],
        quotes: bool,
    ) -> None:
        self.config, self.shared = config, shared
        self.node, self.job_id, self.directory, self.sourced = node, job_id, directory, sourced
        self.current = current
        self.outer, self.carrier, self.quotes = outer, carrier, quotes


def write_warm_run(warm: WarmRun, environment: Mapping[str, str]) -> None:
    """Notes it; a disk that cannot be written costs the speed only."""
    path = _path(environment)
    if not path:
        return
    fields = [
        *_key(warm.config, environment),
        warm.config,
        warm.shared,
        warm.node,
        warm.job_id,
        warm.directory,
        warm.sourced,
        warm.current,
        "quotes" if warm.quotes else "",
        str(len(warm.outer)),
        *warm.outer,
        *warm.carrier,
    ]
    content = b"\0".join([*(os.fsencode(field) for field in fields), _END])
    from scratchflow.disk.memo import write_memo

    try:
        write_memo(path, content)
    except OSError:
        return


def read_warm_run(environment: Mapping[str, str]) -> WarmRun | None:
    """What was noted, if it was noted for these settings on this machine and the connection may live."""
    path = _path(environment)
    try:
        # Whatever lies there, a FIFO too, is read without waiting.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            content = os.read(descriptor, _MOST_BYTES)
        finally:
            os.close(descriptor)
        fields = [os.fsdecode(field) for field in content.split(b"\0")]
        count = len(_VARIABLES) + 4
        config, shared, node, job_id, directory, sourced, current = fields[count : count + 7]
        quotes, outers = fields[count + 7 : count + 9]
        if fields[-1] != "end" or fields[:count] != _key(config, environment):
            return None
        if shared:
            os.stat(shared)
        words = fields[count + 9 : -1]
        outer_count = int(outers)
    except (OSError, ValueError, IndexError):
        return None
    return WarmRun(
        config=config,
        shared=shared,
        node=node,
        job_id=job_id,
        directory=directory,
        sourced=sourced,
        current=current,
        outer=words[:outer_count],
        carrier=words[outer_count:],
        quotes=bool(quotes),
    )


def forget_warm_run(environment: Mapping[str, str]) -> None:
    """It did not fit any more."""
    _remove(_path(environment))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _key(config: str, environment: Mapping[str, str]) -> list[str]:
    """What has to be the same: this scratchflow, this machine, the variables and the configuration file."""
    try:
        status = os.stat(config)
        file = f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"
    except OSError:
        file = "none"
    stamp = __version__
    variables = [environment.get(name, "") for name in _VARIABLES]
    return ["2", stamp, os.uname().nodename, file, *variables]


def _path(environment: Mapping[str, str]) -> str:
    state = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(environment.get("HOME", ""), ".local/state")
    return os.path.join(state, "scratchflow", "run-way") if os.path.isabs(state) else ""
