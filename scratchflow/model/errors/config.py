"""The configuration of this machine: its file, its profiles, and `setup`, which writes them."""

from __future__ import annotations

from typing import ClassVar

from scratchflow.model.errors.base import ScratchflowError


class ConfigMissing(ScratchflowError):
    """The configuration file that was asked for is not there."""

    code = "config.missing"
    exit_code = 10
    message = "there is no configuration file at `{path}`"
    hint = (
        "check `--config` and SCRATCHFLOW_CONFIG; `scratchflow config path` shows the usual place"
    )


class ConfigUnreadable(ScratchflowError):
    """The configuration file is there but cannot be read as text."""

    code = "config.unreadable"
    exit_code = 10
    message = "cannot read the configuration file `{path}`: {reason}"
    hint = "it has to be a TOML text file that you may read; `ls -ld {path:sh}` shows what it is"


class ConfigUnwritable(ScratchflowError):
    """The configuration file cannot be written; it is unchanged."""

    code = "config.unwritable"
    exit_code = 10
    message = "cannot write the configuration file `{path}`: {reason}"
    hint = "the file is unchanged; check permissions and free space, then try again"


class ConfigSyntax(ScratchflowError):
    """The configuration file is not valid TOML."""

    code = "config.syntax"
    exit_code = 10
    message = "`{path}`, line {line}, column {column}: {problem}"
    hint = "correct that line; https://toml.io has the rules"


class ConfigUnknownKey(ScratchflowError):
    """A key in the configuration does not exist."""

    code = "config.unknown_key"
    exit_code = 10
    message = 'unknown key "{key}" in {origin}{suggestion}'
    hint = "`scratchflow config show` lists every key with its value"


class ConfigBadValue(ScratchflowError):
    """A value in the configuration has the wrong type or form."""

    code = "config.bad_value"
    exit_code = 10
    message = "`{key}` ({origin}): {problem}"
    hint = "correct it there; for the file `scratchflow config set` does it"
    _by_origin: ClassVar = {
        "what you typed": "the file is unchanged; run it again with another value",
        "--set": "give `--set` another value",
    }

    @property
    def shown_hint(self) -> str:
        """Whoever typed the value has it before them; the others are told where it is."""
        ours = self._by_origin.get(self.fields["origin"]) if self._agent_hint is None else None
        return ours or super().shown_hint


class PathNameUnset(ScratchflowError):
    """A path holds a name that is not set where the path is used."""

    code = "config.name_unset"
    exit_code = 10
    message = "`{key}` is `{path}`, but `${name}` is not set {where}{similar}"
    hint = "use a name that is set there, or write the path out{more}"


class ImportUnreadable(ScratchflowError):
    """The file to import settings from cannot be read as mrunner's configuration."""

    code = "config.import_unreadable"
    exit_code = 10
    message = "cannot import `{path}`: {problem}"
    hint = "it has to be mrunner's `config.yaml`, usually in ~/.config/mrunner; nothing was changed"


class ConfigNoProfile(ScratchflowError):
    """The profile that was asked for does not exist."""

    code = "config.no_profile"
    exit_code = 10
    message = 'there is no profile "{name}"{suggestion}'
    hint = "profiles here: {known}"


class ConfigProfileNeeded(ScratchflowError):
    """Several profiles, none of them the default."""

    code = "config.profile_needed"
    exit_code = 10
    message = "`{path}` has several profiles and no default"
    hint = "choose with `--profile`, or `scratchflow config set default_profile NAME`; profiles here: {known}"


class ClusterMissing(ScratchflowError):
    """No cluster is set up on this machine, and nobody said that it is to be used by itself."""

    code = "config.no_cluster"
    exit_code = 10
    message = "no cluster is set up on this machine yet"
    hint = (
        "`scratchflow up LOGIN` sets one up (LOGIN as you type it after `ssh`); "
        "`scratchflow up --local` works on this machine alone"
    )


class SetupIncomplete(ScratchflowError):
    """A check of the set-up failed; nothing was written on this machine."""

    code = "setup.incomplete"
    exit_code = 10
    message = (
        "`{login}` is not set up: see the lines with ✗ above ({failed}); nothing was saved here"
    )
    hint = "{remedy}"


class SetupCancelled(ScratchflowError):
    """The user was asked whether to save the profile, and said no."""

    code = "setup.cancelled"
    exit_code = 2
    message = "nothing was saved"
    is_choice = True
    hint = "`scratchflow setup {login}` asks again"


class SchedulerMissing(ScratchflowError):
    """The profile has no cluster behind it."""

    code = "config.no_scheduler"
    exit_code = 10
    message = 'profile "{profile}" has no cluster: its scheduler is "none"'
    hint = "`scratchflow setup LOGIN` adds a cluster; `-p NAME` chooses a profile that has one"


class NameOfThisMachine(ScratchflowError):
    """A cluster was to be set up under the name of the built-in profile."""

    code = "config.name_of_this_machine"
    exit_code = 10
    message = "`{name}` is the profile of this machine; a cluster of that name would hide it and its snapshots"
    hint = "leave `-p {name}` out, or choose another name: `scratchflow setup {login} --name NAME`"


class NotSetUp(ScratchflowError):
    """The cluster has no agent, and this machine is not set up for it, or not any more."""

    code = "setup.missing"
    exit_code = 10
    message = "profile `{profile}` is not set up on this machine, and `{host}` has no agent"
    hint = "`scratchflow setup -p {profile}` sets it up"
