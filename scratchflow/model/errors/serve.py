"""`serve` and `tunnel`."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


class ServerFailed(ScratchflowError):
    """The program that `serve` started ended before it listened."""

    code = "serve.failed"
    exit_code = 40
    message = "`{name}` ended on `{node}` before it answered ({how}): {words}"
    hint = "`scratchflow run -- cat {log:sh}` shows all it printed"


class ServerSilent(ScratchflowError):
    """The program that `serve` started does not listen where it was told to."""

    code = "serve.silent"
    exit_code = 40
    message = (
        "`{name}` does not listen on {where} on `{node}` after {seconds} s, and was ended: {words}"
    )
    hint = "it has to listen where its words say; `scratchflow run -- cat {log:sh}` shows all it printed"
    retryable = True


class ServerStuck(ScratchflowError):
    """A server could not be started on the node, or not be ended there."""

    code = "serve.stuck"
    exit_code = 24
    message = "could not start or end `{name}` on `{node}`: {reason}"
    hint = "try again; `scratchflow doctor` looks at the node"
    retryable = True


class ServerNotInstalled(ScratchflowError):
    """The program that `serve` was to start is not there."""

    code = "serve.not_installed"
    exit_code = 40
    message = "there is no {program} on `{node}` in the environment of the profile"
    hint = "{remedy}"


class ServerMissing(ScratchflowError):
    """Nothing of that name is served."""

    code = "serve.unknown"
    exit_code = 2
    message = "nothing is served as `{name}`"
    hint = "`scratchflow serve list` shows what is"


class ServerTaken(ScratchflowError):
    """Another program is served under that name."""

    code = "serve.name_taken"
    exit_code = 2
    message = "another program is served as `{name}` on `{node}`"
    hint = "`scratchflow serve stop {name}` ends it; `--name` gives the new one another name"


class TunnelFailed(ScratchflowError):
    """The local port could not be opened, or does not reach the node."""

    code = "tunnel.failed"
    exit_code = 14
    message = "no tunnel to {to}: {reason}"
    hint = "try again; `scratchflow doctor` looks at the way to the node"
    retryable = True
