"""What runs for the user: `run` and `shell`, the environment around them, the editor."""

from __future__ import annotations

from scratchflow.model.errors.base import EndedBySignal, ScratchflowError


class RunCut(ScratchflowError):
    """The connection was lost while the command of `run`, or a `shell`, was running."""

    code = "run.cut"
    exit_code = 14
    message = "the connection to `{node}` was lost while {what} ran: {reason}"
    hint = "{what_now}"
    retryable = True


class RunDirectoryMissing(ScratchflowError):
    """The directory that `run --cwd` names is not there."""

    code = "run.no_directory"
    exit_code = 30
    message = "there is no directory `{path}` on `{node}`, or it may not be entered"
    hint = "`--cwd` is taken from the workspace; `scratchflow run -- ls` shows what is there"


class RunProgramMissing(ScratchflowError):
    """The program that `run --detach` names cannot be started."""

    code = "run.no_program"
    exit_code = 30
    message = "`{program}` cannot be started on `{node}`: {reason}"
    hint = "check its name and path: `scratchflow run -- CMD` shows the same; nothing was started"


class EditorMissing(ScratchflowError):
    """The editor's own command is not on the PATH, or does not open."""

    code = "editor.missing"
    exit_code = 40
    message = "{problem}"
    hint = "in VS Code, run `Shell Command: Install 'code' command in PATH`; `scratchflow open --print` gives a link, `scratchflow shell` opens a shell there"


class EnvironmentFailed(ScratchflowError):
    """A module, conda environment or venv could not be set up."""

    code = "environment.failed"
    exit_code = 40
    message = "the environment could not be set up: {reason}"
    hint = "{remedy}"


class LayerFailed(ScratchflowError):
    """A module, environment, variable or line of the profile's `[environment]` failed on the node."""

    code = "environment.layer_failed"
    exit_code = 40
    message = "`{layer}` failed on {node} at `{name}`: {words}"
    hint = "{remedy}"

    @property
    def lies_beneath_scratch(self) -> bool:
        """Whether it is an environment that a job has only if a snapshot has it."""
        is_environment = self.fields["layer"] in {"environment.venv", "environment.conda"}
        return is_environment and not str(self.fields["name"]).startswith(("/", "~", "$"))


class CommandSignalled(EndedBySignal):
    """A signal ended `run` or `shell`, and with it the user's own command on the node."""

    code = "run.signal_ended"
    hint = "the command was your own: see what it has done before you run it again"
    retryable = False
