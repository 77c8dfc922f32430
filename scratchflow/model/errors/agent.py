"""scratchflow on the cluster: missing, of another version, silent, not understood; and what is streamed to it."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


class AgentSilent(ScratchflowError):
    """The agent on the login host does not move any more, though the connection to it lives."""

    code = "agent.silent"
    exit_code = 14
    message = "scratchflow on `{host}` gave no answer and was given up: {reason}"
    hint = "{way_on}"
    retryable = True


class StreamBroken(ScratchflowError):
    """Files that were sent from one machine to another did not arrive whole."""

    code = "stream.broken"
    exit_code = 14
    message = "the transfer did not arrive whole: {reason}"
    hint = "nothing of it was kept; check the network, then run it again"
    retryable = True


class AgentMissing(ScratchflowError):
    """The host has no agent of this scratchflow, or it cannot be started there."""

    code = "agent.missing"
    exit_code = 40
    message = "the agent on `{host}` does not answer: {reason}"
    hint = "`scratchflow setup` installs it"


class AgentMismatch(ScratchflowError):
    """The agent is of another version than the scratchflow that asks it; it did nothing."""

    code = "agent.mismatch"
    exit_code = 40
    message = "the agent on `{host}` is scratchflow {agent}, and scratchflow {asking} asked it"
    hint = "`scratchflow setup` installs the one that fits, beside the other"


class AgentGarbled(ScratchflowError):
    """What came from the agent is not what an agent says."""

    code = "agent.garbled"
    exit_code = 14
    message = "the agent on `{host}` cannot be understood: {reason}"
    hint = "run it again; if it stays so, something on `{host}` writes between the agent's lines, or `scratchflow setup` has to install it anew"


class RequestRefused(ScratchflowError):
    """An agent was asked for something that it does not know, or not like this."""

    code = "agent.request_refused"
    exit_code = 2
    message = "the agent cannot do this: {reason}"
    hint = "`scratchflow setup` brings the agent to this version"


class PythonMissing(ScratchflowError):
    """The host has no Python that the agent can run with."""

    code = "agent.no_python"
    exit_code = 40
    message = "no Python on `{host}` can run the agent: {reasons}"
    hint = 'it needs Python 3.10 or newer; name the module that brings one in `[profiles.{profile}.environment]`, like `modules = ["python/3.11"]`'


class LoginShellUnusable(ScratchflowError):
    """The host lets us in, but its login shell does not run what it is given; nothing was put there."""

    code = "agent.login_shell"
    exit_code = 40
    message = "the login shell on `{host}` does not run our commands: {reason}"
    hint = "`ssh {host} true` has to end with exit code 0: in `~/.bashrc` and the like, whatever reads input, exits or starts another shell belongs behind a test for a terminal, `[ -t 0 ]`"


class BundleFailed(ScratchflowError):
    """The agent for a cluster's platform could not be put together on this machine."""

    code = "agent.bundle_failed"
    exit_code = 40
    message = "cannot put the agent for {platform} together: {reason}"
    hint = "{remedy}"


class InstallFailed(ScratchflowError):
    """The agent could not be installed; one that was there before still works."""

    code = "agent.install_failed"
    exit_code = 40
    message = "cannot install the agent on `{host}`: {reason}"
    hint = "run it again: it starts afresh; `ssh {host}` and a look at `~/.local/share/scratchflow` shows more"
    retryable = True


class FarError(ScratchflowError):
    """An agent failed in a way that only its own, newer scratchflow has a code for."""

    code = "agent.far_error"
    exit_code = 1
    message = "{problem}"
    hint = "{next_step}"
