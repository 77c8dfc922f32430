"""Every way a command can fail, and what the user can do about it.

One class per failure: the class *is* its stable code, exit code, message and hint. Scripts may
rely on `code` and `exit_code`; wording may change. `schema/errors.json` and
`docs/reference/errors.md` are generated from here.
"""

from __future__ import annotations

import signal
from typing import ClassVar

from scratchflow.model.text import printable


class ScratchflowError(Exception):
    """A failure that was foreseen: it has a code, an exit code, and a next step."""

    code: str
    exit_code: int
    message: ClassVar[str]
    hint: ClassVar[str]
    retryable: bool = False
    bug: ClassVar[bool] = False
    _agent_hint: str | None = None

    def __init__(self, **fields: object) -> None:
        # Fields hold foreign text (file names, Slurm's words): escaped once, here.
        self.fields = {name: printable(value) for name, value in fields.items()}
        super().__init__(self.message.format_map(self.fields))

    @property
    def shown_hint(self) -> str:
        """The next step, with the fields of this failure filled in."""
        if self._agent_hint is not None:
            return self._agent_hint
        return self.hint.format_map(self.fields)

    @classmethod
    def field_names(cls) -> set[str]:
        """The fields that message and hint need."""
        from string import Formatter  # for the documentation; not for every start

        parsed = [*Formatter().parse(cls.message), *Formatter().parse(cls.hint)]
        return {name for _, name, _, _ in parsed if name}


class InternalBug(ScratchflowError):
    """scratchflow itself failed in a way nobody foresaw."""

    code = "internal.bug"
    exit_code = 1
    message = "internal error: {error}"
    hint = "this is a bug in scratchflow; please report it with {report}"
    bug = True


class OutputFailed(ScratchflowError):
    """Standard output could not be written (full disk, closed descriptor)."""

    code = "output.failed"
    exit_code = 1
    message = "cannot write the output: {error}"
    hint = "free some space, or send the output elsewhere"


class ClockUnusable(ScratchflowError):
    """The machine's clock shows a time that no snapshot, lock or log can carry."""

    code = "clock.unusable"
    exit_code = 10
    message = "this machine's clock shows a year after 2262 or before 1677; nothing was done"
    hint = (
        "`date` shows what it is set to; set it right, or ask your cluster's staff, then try again"
    )


class UsageInvalid(ScratchflowError):
    """The command line was not understood."""

    code = "usage.invalid"
    exit_code = 2
    message = "{problem}"
    hint = "`{command} --help` shows what is possible"


class ParameterInvalid(ScratchflowError):
    """A parameter of an experiment, or a place for one in its command, is not possible."""

    code = "usage.parameter"
    exit_code = 2
    message = "`{given}`: {problem}"
    hint = "nothing was submitted; a value that holds a comma stands in double quotes"


class SpecInvalid(ScratchflowError):
    """The file that describes an experiment cannot be used."""

    code = "usage.spec"
    exit_code = 2
    message = "cannot use the spec `{path}`: {problem}"
    hint = "correct the file and try again; nothing was submitted"


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
    hint = "it has to be a TOML text file that you may read; `ls -ld {path}` shows what it is"


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
    hint = "`scratchflow setup {login}` asks again"


class SshConfigRefused(ScratchflowError):
    """The ssh configuration is in a state that must not be edited."""

    code = "ssh_config.refused"
    exit_code = 11
    message = "`{path}` was left alone: {reason}"
    hint = "{remedy}"


class SshUnusable(ScratchflowError):
    """ssh cannot say, or cannot do, what reaching this host takes."""

    code = "ssh_config.unusable"
    exit_code = 11
    message = "ssh cannot be used for `{host}`: {reason}"
    hint = "{remedy}"


class AliasUnused(ScratchflowError):
    """The user's ssh does not read our file, so the alias would lead nowhere."""

    code = "alias.unused"
    exit_code = 11
    message = "`ssh {alias}` is not set up on this machine"
    hint = "`scratchflow setup {login}` shows the three lines that it needs and asks"


class AliasUnverified(ScratchflowError):
    """The node is ours, but a real ssh through the alias did not get there."""

    code = "alias.unverified"
    exit_code = 14
    message = "`ssh {alias}` does not get to `{node}`: {reason}"
    hint = (
        "`scratchflow status` says whether the node is still held, `ssh -v {alias}` where the connection ends; "
        "`scratchflow up` tries again"
    )
    retryable = True


class AuthNeeded(ScratchflowError):
    """Logging in needs a password, a passphrase or a second factor."""

    code = "auth.needed"
    exit_code = 12
    message = "`{host}` wants you to log in: {reason}"
    hint = "run `{command}` in a terminal, then try again"
    retryable = True


class KeyRefused(AuthNeeded):
    """The host lets in only those whose key it knows, and knows none of the keys here."""

    code = "auth.key_refused"
    exit_code = 12
    message = "`{host}` accepts none of your ssh keys ({reason})"
    hint = (
        "`scratchflow setup {host}` in a terminal helps you to a key; "
        "`ssh-copy-id {host}` sends one that you have, if a password works there"
    )
    retryable = False


class HostKeyChanged(ScratchflowError):
    """The host shows another key than the one on record."""

    code = "host_key.changed"
    exit_code = 13
    message = "the host key of `{host}` is not the one on record"
    hint = "ask your cluster's staff whether it changed; if so, `ssh-keygen -R {host}` forgets the old one"


class HostKeyUnknown(ScratchflowError):
    """The host has no key on record, and the ssh config does not allow taking it as it comes."""

    code = "host_key.unknown"
    exit_code = 13
    message = "the host key of `{host}` is not known yet"
    hint = "run `{command}` once in a terminal and compare the fingerprint, then try again"


class ProfileSilent(ScratchflowError):
    """A cluster gave no answer in time while all of them were asked at once."""

    code = "profile.silent"
    exit_code = 14
    message = "no answer within {seconds} s"
    hint = "`scratchflow -p {profile} {command}` asks it alone, and waits longer"
    retryable = True


class ConnectionLost(ScratchflowError):
    """The host did not answer, or stopped answering."""

    code = "connection.lost"
    exit_code = 14
    message = "no connection to `{host}`: {reason}"
    hint = "check network and VPN; `ssh {host}` shows more"
    retryable = True


class HostNotFound(ConnectionLost):
    """The name of the host leads nowhere: it is mistyped, or nobody can be asked for it."""

    code = "connection.no_such_host"
    exit_code = 14
    message = "cannot find a host named `{host}`{suggestion}"
    hint = "{remedy}"
    retryable = False


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


class CopyBroken(ScratchflowError):
    """Not all of what was being copied to another store arrived; what did arrive stays there."""

    code = "copy.broken"
    exit_code = 14
    message = "the copy to profile `{to}` broke off: {reason}"
    hint = "what has arrived is kept for a week: run it again, and it goes on from there"
    retryable = True


class CommandTimedOut(ScratchflowError):
    """A command on another machine did not finish in the time it was given; it was given up."""

    code = "connection.timeout"
    exit_code = 14
    message = "`{command}` on `{host}` did not finish within {seconds} s"
    hint = "the host may be overloaded: try again in a minute; `ssh {host}` shows more"
    retryable = True


class SlurmUnreachable(ScratchflowError):
    """Slurm's controller does not answer."""

    code = "slurm.unreachable"
    exit_code = 20
    message = "Slurm on `{host}` does not answer: {reason}"
    hint = "nothing was changed; try again in a minute, `scontrol ping` on `{host}` shows its state"
    retryable = True


class SlurmMissing(SlurmUnreachable):
    """The host does not have Slurm's commands, or not where they are looked for."""

    code = "slurm.missing"
    exit_code = 20
    message = "`{host}` has no Slurm: {reason}"
    hint = (
        "is it the login host of a Slurm cluster? Where Slurm comes with a module, load that in your "
        "`~/.bash_profile` on `{host}`, then try again"
    )
    retryable = False


class AllocationPending(ScratchflowError):
    """The request was still waiting when the wait limit was reached."""

    code = "allocation.pending"
    exit_code = 21
    message = "job {job_id} was still waiting after {waited}: {reason}"
    hint = "{next_step}"
    retryable = True


class AllocationRefused(ScratchflowError):
    """Slurm will never grant this request."""

    code = "allocation.refused"
    exit_code = 22
    message = "Slurm refused the request: {reason}"
    hint = "{next_step}; `scratchflow nodes` shows what there is"

    @classmethod
    def of_profile(cls, *, reason: str, profile: str) -> AllocationRefused:
        """Without a word about which part of the request it was."""
        return cls(
            reason=reason, next_step=f"change the request under `[profiles.{profile}.slurm]`"
        )


class AllocationEnded(ScratchflowError):
    """The allocation was revoked, cancelled or ran out of time."""

    code = "allocation.ended"
    exit_code = 23
    message = "job {job_id} has ended: {reason}"
    hint = "`scratchflow up` takes another node and brings the last snapshot back"


class NodeFailed(ScratchflowError):
    """The compute node died or does not answer."""

    code = "node.failed"
    exit_code = 24
    message = "node `{node}` failed: {reason}"
    hint = "`scratchflow up` takes another node and brings the last snapshot back"
    retryable = True


class NodeSilent(ScratchflowError):
    """The node that is held does not answer, though Slurm has not given it up."""

    code = "node.silent"
    exit_code = 24
    message = "node `{node}` is still ours (job {job_id}), but gave no answer: {reason}"
    hint = (
        "try again; `scratchflow doctor` looks at the node. Only if it never answers: `scratchflow clear --no-backup` "
        "gives it up, with what was not saved"
    )
    retryable = True


class NodeUnknown(ScratchflowError):
    """The cluster has no node of the name that was asked for, or several that could be meant."""

    code = "node.unknown"
    exit_code = 22
    message = "{problem}"
    hint = "`scratchflow nodes` lists them"


class NodeNotOfJob(ScratchflowError):
    """The allocation has no node of the name or number that was asked for."""

    code = "node.not_of_job"
    exit_code = 22
    message = "`{node}` is no node of job {job_id}, which has {nodes}"
    hint = "name one of them, or its number: `2` is the second"


class OtherNodeFailed(ScratchflowError):
    """Something failed on a further node of the allocation; exits with the code of that."""

    code = "node.other_failed"
    exit_code = 24
    message = "on `{node}`: {reason}"
    hint = "{next_step}"

    @classmethod
    def because_of(cls, node: str, error: ScratchflowError) -> OtherNodeFailed:
        """With the reason, its hint and its exit code."""
        failed = cls(node=node, reason=error, next_step=error.shown_hint)
        failed.exit_code = error.exit_code
        failed.retryable = error.retryable
        return failed


class AllocationMissing(ScratchflowError):
    """The command needs a node and there is none."""

    code = "allocation.missing"
    exit_code = 25
    message = 'there is no allocation for profile "{profile}"'
    hint = "`scratchflow up` takes a node and brings the workspace there"


class JobRefused(ScratchflowError):
    """Slurm did not take the job."""

    code = "job.refused"
    exit_code = 22
    message = "Slurm refused the job: {reason}"
    hint = "change what is asked for with `--time`, `--mem`, `--partition` …; `scratchflow nodes` shows what there is"


class JobImpossible(ScratchflowError):
    """The job asks for more than there is, and would wait for ever; it was not submitted."""

    code = "job.impossible"
    exit_code = 22
    message = "the job could never start: {reason}"
    hint = "{next_step}; `scratchflow nodes` shows what there is"


class JobInDoubt(ScratchflowError):
    """Slurm did not answer `sbatch`, so the job may be in the queue or not."""

    code = "job.in_doubt"
    exit_code = 20
    message = "whether Slurm has job `{job}` is not known: {reason}"
    hint = "`scratchflow jobs` finds out; submit again only when it says `NOT_SUBMITTED`, or there may be two"


class JobsPartlySubmitted(ScratchflowError):
    """A job with more tasks than one array may have is several arrays, and Slurm has only some of them."""

    code = "job.partly_submitted"
    exit_code = 22
    message = "{submitted} of {tasks} tasks are submitted, as {jobs}; then: {reason}"
    hint = "do not submit all of them again: {next_step}"


class JobMissing(ScratchflowError):
    """No record has this number or id."""

    code = "job.missing"
    exit_code = 30
    message = "there is no job `{wanted}` in this workspace's store{detail}"
    hint = "`scratchflow jobs` lists them; `-p NAME` looks in another profile"


class JobNotReady(ScratchflowError):
    """The job cannot be done what was asked with, as it is now."""

    code = "job.not_ready"
    exit_code = 2
    message = "{problem}"
    hint = "{next_step}"


class JobNotStarted(ScratchflowError):
    """The job ran on its node, but not the command: something before it failed."""

    code = "job.not_started"
    exit_code = 24
    message = "the command of job `{job}` was not run: {reason}"
    hint = "`scratchflow jobs show {job}` tells what was asked for; `scratchflow jobs rerun {job}` tries again"


class SnapshotOfJob(ScratchflowError):
    """A snapshot that the record of a job needs was to be removed."""

    code = "snapshot.of_job"
    exit_code = 2
    message = "snapshot `{snapshot}` is the code of job `{job}`; nothing was removed"
    hint = "`scratchflow jobs prune {job}` forgets the job first; otherwise the snapshot may go when `backup.keep_jobs` has passed"


class RunCut(ScratchflowError):
    """The connection was lost while the command of `run` was running."""

    code = "run.cut"
    exit_code = 14
    message = "the connection to `{node}` was lost while the command ran: {reason}"
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


class ServerFailed(ScratchflowError):
    """The program that `serve` started ended before it listened."""

    code = "serve.failed"
    exit_code = 40
    message = "`{name}` ended on `{node}` before it answered ({how}): {words}"
    hint = "`scratchflow run -- cat {log}` shows all it printed"


class ServerSilent(ScratchflowError):
    """The program that `serve` started does not listen where it was told to."""

    code = "serve.silent"
    exit_code = 40
    message = (
        "`{name}` does not listen on {where} on `{node}` after {seconds} s, and was ended: {words}"
    )
    hint = (
        "it has to listen where its words say; `scratchflow run -- cat {log}` shows all it printed"
    )
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


class AllocationSuspended(ScratchflowError):
    """The node is ours, but Slurm has stopped everything on it for a while."""

    code = "allocation.suspended"
    exit_code = 24
    message = "job {job_id} on `{node}` is suspended: nothing can run there now"
    hint = "it goes on when Slurm lets it; `scratchflow clear --no-backup` gives it back as it is"
    retryable = True


class AllocationLingers(ScratchflowError):
    """Slurm took the order to end the job, and has not done it yet."""

    code = "allocation.lingers"
    exit_code = 20
    message = "job {job_id} was cancelled, but Slurm has not ended it yet"
    hint = "`scratchflow status` shows when it is gone; `scratchflow clear` does the rest"
    retryable = True


class AllocationHeld(ScratchflowError):
    """What is to be taken away is still in use."""

    code = "allocation.held"
    exit_code = 22
    message = "job {job_id} still holds `{node}`"
    # With the profile always: the default one may hold another node.
    hint = "`scratchflow -p {profile} clear` saves the workspace and gives the node back first"


class AllocationElsewhere(ScratchflowError):
    """The profile holds another node than the one that was asked for."""

    code = "allocation.elsewhere"
    exit_code = 22
    message = "job {job_id} holds `{node}`, not `{wanted}`"
    hint = "{next_step}"


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


class Declined(ScratchflowError):
    """The user was asked and did not agree, or could not be asked."""

    code = "usage.declined"
    exit_code = 2
    message = "{what} was not confirmed; nothing was changed there"
    hint = "run it again with `--yes`, or make the change by hand: {by_hand}"


class RemovalDeclined(ScratchflowError):
    """The user was shown the snapshots to remove, and said no."""

    code = "snapshot.removal_declined"
    exit_code = 2
    message = "nothing was removed"
    hint = "`scratchflow snapshots list` shows all snapshots and why they stay"


class RemovalUnconfirmed(ScratchflowError):
    """Snapshots are removed by id only after a question or with `--yes`, and nobody could be asked."""

    code = "snapshot.removal_unconfirmed"
    exit_code = 2
    message = "nothing was removed: there is no terminal to ask on"
    hint = "`scratchflow snapshots prune {snapshots} --yes` removes without a question"


class WorkspaceElsewhere(ScratchflowError):
    """The profile's workspace is on a compute node, and this machine is none."""

    code = "workspace.elsewhere"
    exit_code = 25
    message = 'the workspace of profile "{profile}" is on a compute node, and `{scratch}` is not on this machine'
    hint = "run this in a shell on the node; `-p local` works on this machine alone"


class TmuxFailed(ScratchflowError):
    """tmux on the login host is missing or refused."""

    code = "tmux.failed"
    exit_code = 26
    message = "tmux on `{host}`: {reason}"
    hint = 'install tmux there; on a cluster `hold = "detached"` and `ssh` to the alias do without'


class SnapshotMissing(ScratchflowError):
    """The store has no such snapshot."""

    code = "snapshot.missing"
    exit_code = 30
    message = "no such snapshot: `{wanted}`"
    hint = "{next_step}"


class SnapshotAmbiguous(ScratchflowError):
    """What was given, a part of an id or of a name, fits several snapshots."""

    code = "snapshot.ambiguous"
    exit_code = 30
    message = "`{wanted}` fits {count} snapshots"
    hint = "they are {matches}; write one of these ids, or more of it"


class WorkspaceMissing(ScratchflowError):
    """There is no workspace to back up."""

    code = "workspace.missing"
    exit_code = 30
    message = "there is no workspace at `{path}`"
    hint = "`scratchflow restore` brings the last snapshot there; `scratchflow create` starts a new one"


class WorkspaceKnown(ScratchflowError):
    """A workspace of that name has snapshots already; a new one must not take its place."""

    code = "workspace.known"
    exit_code = 35
    message = "the store already has snapshots of `{workspace}`, the last is `{snapshot}`"
    hint = (
        "`scratchflow restore` brings it back; `{second}` makes a second workspace beside it; files are added to"
        " this one with `scp` or `rsync` to the host that `scratchflow up` names"
    )


class WorkspaceFailed(ScratchflowError):
    """The file system of the workspace refused."""

    code = "workspace.failed"
    exit_code = 1
    message = "`{path}`: {reason}"
    hint = "check that you may write to `{path}`, and that its disk has no errors (`dmesg`, `df -h {path}`)"


class SourceUnusable(ScratchflowError):
    """The directory that `create --from` names cannot be brought."""

    code = "create.source_unusable"
    exit_code = 2
    message = "cannot bring `{path}` from {host}: {reason}"
    hint = "{next_step}"


class WorkspaceNotEmpty(ScratchflowError):
    """`create --from` never writes over files that are there."""

    code = "create.not_empty"
    exit_code = 35
    message = "`{path}` on {host} is not empty, and `--from` writes over nothing"
    hint = "`scratchflow backup` takes a snapshot of what is there; or move it away"


class FileFailed(ScratchflowError):
    """A file that was named on the command line cannot be read or written."""

    code = "file.failed"
    exit_code = 2
    message = "`{path}`: {reason}"
    hint = "check the path, its permissions and the free space there"


class FileIncomplete(ScratchflowError):
    """The archive is an incremental one and holds only a part of its snapshot."""

    code = "file.incomplete"
    exit_code = 2
    message = "`{path}` is an incremental snapshot: it holds only what changed, the rest is in other archives"
    hint = "`scratchflow snapshots export` makes one complete file of it"


class WorkspaceNamedOtherwise(ScratchflowError):
    """Snapshots can be copied only between workspaces of the same name: it is part of every path in them."""

    code = "copy.other_workspace"
    exit_code = 2
    message = (
        "the snapshots are of a workspace named `{name}`, and the other profile's is named `{here}`"
    )
    hint = (
        "set `workspace` alike in both profiles; or `scratchflow snapshots export` there and"
        " `snapshots import` here, which renames"
    )


class CopyToItself(ScratchflowError):
    """Source and target are one store."""

    code = "copy.same_store"
    exit_code = 2
    message = "profiles `{source}` and `{to}` have the same store: there is nothing to copy"
    hint = "`scratchflow profiles list` shows the stores of all profiles"


class FileTaken(ScratchflowError):
    """The file to be written exists; nothing is ever overwritten."""

    code = "file.taken"
    exit_code = 35
    message = "`{path}` exists already"
    hint = "choose another name, or remove it first"


class SnapshotDamaged(ScratchflowError):
    """A snapshot does not read back as it was written."""

    code = "snapshot.damaged"
    exit_code = 31
    message = "snapshot `{snapshot}` is damaged: {reason}"
    hint = "`scratchflow snapshots verify` checks the others; restore an older one by its id"


class LatestUnreadable(ScratchflowError):
    """The newest snapshot cannot be read, and an older one must not silently take its place."""

    code = "snapshot.latest_unreadable"
    exit_code = 31
    message = "the newest snapshot, `{snapshot}`, cannot be read: {reason}"
    hint = "{next_step}"


class LastSnapshot(ScratchflowError):
    """No snapshot would be left that can be restored."""

    code = "snapshot.last"
    exit_code = 2
    message = "`{snapshot}` is the last snapshot that could be restored; nothing was removed"
    hint = "take another one first with `scratchflow backup`"


class UnsafeMember(ScratchflowError):
    """An archive wants to write outside its target."""

    code = "archive.unsafe_member"
    exit_code = 32
    message = "`{archive}` holds an unsafe member `{member}`: {reason}"
    hint = "nothing outside the target was touched; do not trust this archive"


class NoSpace(ScratchflowError):
    """Disk or quota is full."""

    code = "disk.no_space"
    exit_code = 33
    message = "no space left at `{path}`: {reason}"
    hint = (
        "earlier snapshots are intact; free some space, then try again: `scratchflow snapshots prune` "
        "removes what no rule keeps, `scratchflow snapshots prune ID` the ones that you name. If that is not "
        "enough, `scratchflow config set store PATH` takes a directory on another file system"
    )
    retryable = True


class TargetFull(NoSpace):
    """The disk or quota is full where something is put that is not the store: scratch, `--to DIR`, a home."""

    code = "disk.target_full"
    hint = (
        "the store is intact, and pruning it does not help here; delete or move away what you do not"
        " need on that file system (`df -h` and `quota -s` show how full it is), then run it again"
    )


class NoRoomToPrune(ScratchflowError):
    """The disk or quota is so full that not even the lock fits, and no reserve is left."""

    code = "disk.no_room_to_prune"
    exit_code = 33
    message = "nothing was removed: there is no room in `{path}` for the lock ({reason})"
    hint = "delete any file of yours on that file system (1 MB is enough), then run it again"


class StoreLocked(ScratchflowError):
    """Another scratchflow is writing to the store."""

    code = "store.locked"
    exit_code = 34
    message = "the store is in use by {owner}"
    hint = (
        "wait for it to finish; a lock whose owner died is taken over by itself after {stale_after}"
    )
    retryable = True


class CopyUnderWay(ScratchflowError):
    """Another run is copying the same archive into the store."""

    code = "copy.under_way"
    exit_code = 34
    message = "the archive `{archive}` is being copied there by another run"
    hint = "wait for that one to finish; what it brought is there then"
    retryable = True


class LockLost(ScratchflowError):
    """This run held the store, fell silent for too long, and no longer holds it."""

    code = "store.lock_lost"
    exit_code = 34
    message = "this run no longer holds the store: {reason}; no snapshot was committed"
    hint = "earlier snapshots are intact; run it again"
    retryable = True


class StoreUnusable(ScratchflowError):
    """The store's directory is not there, not ours, or open to others: the profile must change."""

    code = "store.unusable"
    exit_code = 10
    message = "the store `{path}` cannot be used: {reason}"
    hint = "{remedy}"


class WorkspaceBusy(ScratchflowError):
    """Another scratchflow on this machine is backing up or restoring the workspace."""

    code = "workspace.busy"
    exit_code = 34
    message = "another scratchflow is at work on `{path}`"
    hint = "wait for it to finish, then try again"
    retryable = True


class WorkspaceIsLink(ScratchflowError):
    """The workspace, or what is saved with it, is a symlink: only the link would be saved."""

    code = "workspace.link"
    exit_code = 10
    message = "`{path}` is a symlink, and only the link would be saved"
    hint = "put the directory itself there, or set `scratch` and `workspace` to where it is"


class StoreNotShared(ScratchflowError):
    """The node and the login host see two different directories under the store's path."""

    code = "store.not_shared"
    exit_code = 10
    message = (
        "`{store}` on {node} and `{other}` on {login} are not the same directory; nothing was saved"
    )
    hint = (
        "check that it is mounted on {node} (`findmnt -T {store}`), or set `store` in the profile to a "
        "directory on shared storage: `scratchflow config set store PATH`"
    )


class StoreLost(ScratchflowError):
    """The store was at this path before, and there is nothing now: its file system may not be mounted."""

    code = "store.lost"
    exit_code = 10
    message = "the store `{store}` was there before, and is empty on `{host}` now"
    hint = (
        "check that its file system is mounted (`findmnt -T {store}`); if you removed the store on purpose, "
        "`rm {note}` on `{host}` lets a new one begin there"
    )


class StoreReplaced(ScratchflowError):
    """The store that the workspace was saved to is not there any more; something else has its path."""

    code = "store.replaced"
    exit_code = 10
    message = (
        "the store `{store}` on {node} is not the one that `{workspace}` was saved to: it does not "
        "hold snapshot {snapshot}, so nothing is saved to it"
    )
    # By this name `clear` and `hop` know it, and keep the node as long as it is there.
    hint = (
        "check that it is mounted (`findmnt -T {store}`); if it is, `mv {workspace} {workspace}.before-{snapshot}` "
        "on {node} keeps what is there, and `scratchflow up` brings the newest snapshot; if the old store is gone "
        "for good, start a new one with `scratchflow config set store PATH` and another path"
    )


class ScratchUnsafe(ScratchflowError):
    """Scratch, or what is kept there, belongs to somebody else or can be written to by others."""

    code = "scratch.unsafe"
    exit_code = 10
    message = "`{path}`: {reason}"
    hint = "{remedy}"


class ScratchUnusable(ScratchflowError):
    """The node has no such scratch, or the user may not write to it."""

    code = "scratch.unusable"
    exit_code = 10
    message = "scratch `{path}` cannot be used on `{node}`: {reason}"
    hint = (
        "`scratchflow config set scratch PATH` with a directory on the node's own disk{where}; "
        "then `scratchflow up` goes on with the same node"
    )


class StoreOverlaps(ScratchflowError):
    """The store lies inside what it is to save, or the other way round."""

    code = "store.overlaps"
    exit_code = 10
    message = "the store's `{store}` and the workspace's `{root}` lie inside each other"
    hint = "set `store` in the profile to a directory outside of scratch"


class NotSaved(ScratchflowError):
    """A restore would replace something that could not be saved first."""

    code = "restore.not_saved"
    exit_code = 35
    message = "`{path}` would be replaced, and is in no snapshot: {reason}"
    hint = "nothing was changed; {remedy}, then `scratchflow restore {snapshot}`"


class MountInTheWay(ScratchflowError):
    """Something is mounted where a restore would write, or would have to move something aside."""

    code = "restore.mount"
    exit_code = 35
    message = (
        "`{path}` is a mount point, and snapshot `{snapshot}` belongs there; nothing was changed"
    )
    hint = "unmount it, then `scratchflow restore {snapshot}`; `--to DIR` restores somewhere else"


class RestoreNotPermitted(ScratchflowError):
    """A restore would have to change a directory that the user may not write to."""

    code = "restore.not_permitted"
    exit_code = 35
    message = "`{path}` belongs to {owner}, and you may not write to it; nothing was changed"
    hint = (
        "make it writable or rename it, then `scratchflow restore {snapshot}`;"
        " `--to DIR` restores somewhere else"
    )


class PathMissing(ScratchflowError):
    """The snapshot has no such path."""

    code = "snapshot.no_such_path"
    exit_code = 30
    message = "snapshot `{snapshot}` has no `{path}`"
    hint = "paths are relative to the workspace, like `src/main.py`; `scratchflow snapshots show {snapshot} .` lists what it holds"


class PathInOthers(ScratchflowError):
    """The snapshot has no such path, and others have it."""

    code = "snapshot.path_in_others"
    exit_code = 30
    message = "snapshot `{snapshot}` has no `{path}`; {others} it"
    hint = "`scratchflow restore {newest} --path {typed}` brings it from the newest that has it"


class PathUnsaved(ScratchflowError):
    """The workspace has the path, and no snapshot has it yet."""

    code = "snapshot.path_unsaved"
    exit_code = 30
    message = (
        "snapshot `{snapshot}` has no `{path}`; the workspace has it, made since that snapshot"
    )
    hint = "`scratchflow backup` saves it; then run this command again"


class TargetNotEmpty(ScratchflowError):
    """The restore target holds files that scratchflow does not know."""

    code = "restore.target_not_empty"
    exit_code = 35
    message = "`{target}` is not empty, and its content is in no snapshot known here"
    hint = "`--replace` moves it aside first; `--to DIR` restores somewhere else"


class TargetDiffers(ScratchflowError):
    """Files in the directory that `--to` names are neither the snapshot's nor from an earlier take-home."""

    code = "restore.target_differs"
    exit_code = 35
    message = (
        "`{target}` has other files where the snapshot has {count}: {paths}; nothing was changed"
    )
    hint = "`--replace` keeps each of them as `NAME.before-ID`; or name another directory"


class OutputsDiffer(ScratchflowError):
    """Files in the directory that `jobs outputs --to` names are others than those that the job made."""

    code = "job.target_differs"
    exit_code = 35
    message = "`{target}` has other files where the job made {count}: {paths}; nothing was changed"
    hint = "name another directory, or move these away first"


class ShrinkGuard(ScratchflowError):
    """The workspace lost more than half since the last snapshot."""

    code = "backup.shrink_guard"
    exit_code = 36
    message = (
        "`{root}` shrank from {before} to {after} since snapshot `{parent}`{unsaved};"
        " nothing was saved"
    )
    hint = (
        "`scratchflow restore {parent}` brings everything back, and undoes every other change since"
        " (with `--path PATH` it brings back only PATH); if you deleted or excluded it on purpose,"
        " `scratchflow backup --allow-shrink` saves what is left"
    )


class RestoreIncomplete(ScratchflowError):
    """A restore was interrupted; the workspace is half of two states."""

    code = "restore.incomplete"
    exit_code = 37
    message = "a restore of snapshot `{snapshot}` into `{target}` did not finish"
    hint = (
        "`scratchflow restore` finishes it; `scratchflow restore --abandon` takes a snapshot of what"
        " is there, and leaves it as it is"
    )


class RestoreUnfinishable(RestoreIncomplete):
    """A restore was interrupted, and its snapshot was removed since then."""

    code = "restore.snapshot_gone"
    exit_code = 37
    message = (
        "a restore of snapshot `{snapshot}` into `{target}` did not finish, and cannot be finished:"
        " the store does not have that snapshot"
    )
    hint = (
        "`scratchflow restore --abandon` takes a snapshot of what is there, and leaves it as it is;"
        " `scratchflow restore ID` brings another snapshot"
    )


class NothingUnfinished(ScratchflowError):
    """There is no unfinished restore to give up."""

    code = "restore.nothing_unfinished"
    exit_code = 2
    message = "no restore into `{path}` is unfinished, so there is nothing to abandon"
    hint = "`scratchflow backup` saves the workspace as it is"


class FinalBackupFailed(ScratchflowError):
    """The node is not given back, because its workspace could not be saved; exits with that code."""

    code = "clear.backup_failed"
    exit_code = 24
    message = "the last backup failed, so the node stays ours: {reason}"
    hint = "{next_step}; `scratchflow clear --no-backup` gives it back without"

    @classmethod
    def because_of(cls, error: ScratchflowError) -> FinalBackupFailed:
        """With the reason, its hint and its exit code."""
        failed = cls(reason=error, next_step=error.shown_hint)
        if "clear --no-backup" in error.shown_hint:
            failed._agent_hint = error.shown_hint  # it says so itself, and when
        failed.exit_code = error.exit_code
        failed.retryable = error.retryable
        return failed


class NodeNotSaved(ScratchflowError):
    """The node is not given back, because files on it are in no snapshot."""

    code = "release.not_saved"
    exit_code = 35
    message = "`{node}` is still ours: no snapshot holds {count} on it: {paths}"
    hint = (
        "make files readable (`chmod`, `chown`) or delete them; a whole workspace is saved by"
        " `scratchflow --set workspace=NAME backup`; then run it again."
        " `scratchflow {verb} --leave-behind` gives the node back without them"
    )


class AutobackupFailed(ScratchflowError):
    """The auto-backup could not be started on the node, or not be ended."""

    code = "autobackup.failed"
    exit_code = 24
    message = "could not switch the auto-backup on `{node}`: {reason}"
    hint = "`{log}` on the cluster has its last words; `scratchflow doctor` checks the rest"
    retryable = True


class HopToItself(ScratchflowError):
    """The profile to move to is the one that is left."""

    code = "hop.same_profile"
    exit_code = 2
    message = "`--to {profile}` is where the work is already"
    hint = "`scratchflow hop` alone moves to another node of the same cluster; `scratchflow profiles list` shows the others"


class HopUnfinished(ScratchflowError):
    """The new node does not hold what the old one had, so the old one is kept."""

    code = "hop.unfinished"
    exit_code = 37
    message = "the move is not finished, and `{node}` is still ours: {reason}"
    hint = (
        "`scratchflow hop` goes on from here; `scratchflow snapshots verify` checks the snapshots"
    )
    retryable = True


class HopUnderWay(ScratchflowError):
    """While `hop` moves, the workspace is not on the next node yet."""

    code = "hop.under_way"
    exit_code = 30
    message = (
        "a move from `{old_node}` to `{node}` (job {job_id}) is under way, and the workspace is not there yet; "
        "`hop` saves what is on `{old_node}`"
    )
    hint = "run it again when that `scratchflow hop` is done; one that was cut short is finished by `scratchflow hop`"
    retryable = True


class HopCutShort(ScratchflowError):
    """The old node went in the middle of a move; the next one is held. Exits with the code of what happened."""

    code = "hop.cut_short"
    exit_code = 23
    message = (
        "the move was cut short: {reason}; job {job_id} on `{node}`, taken for it, is still held"
    )
    hint = (
        "`scratchflow up` goes on there with the newest snapshot, `scratchflow clear` gives it back"
    )

    @classmethod
    def because_of(cls, error: ScratchflowError, job_id: int | None, node: str) -> HopCutShort:
        """With the reason and its exit code."""
        failed = cls(reason=error, job_id=job_id, node=node)
        failed.exit_code = error.exit_code
        return failed


class NextNodeLost(ScratchflowError):
    """The next node went in the middle of a move; the old one is held. Exits with the code of what happened."""

    code = "hop.next_node_lost"
    exit_code = 23
    message = "the move was cut short: {reason}; job {job_id} still holds `{node}`, with the workspace as it was"
    hint = "`scratchflow hop` tries again, `scratchflow up` goes on working there"

    @classmethod
    def because_of(cls, error: ScratchflowError, job_id: int, node: str) -> NextNodeLost:
        """With the reason and its exit code."""
        failed = cls(reason=error, job_id=job_id, node=node)
        failed.exit_code = error.exit_code
        return failed


class WorkDiverged(ScratchflowError):
    """Both nodes have work that the other one lacks; neither is overwritten."""

    code = "hop.diverged"
    exit_code = 37
    message = "work went on at `{node}` from snapshot {snapshot}, and elsewhere up to {other}"
    hint = "both are kept; `scratchflow backup`, then `scratchflow restore {other}` takes the other one over"


class EditorMissing(ScratchflowError):
    """The editor's own command is not on the PATH, or does not open."""

    code = "editor.missing"
    exit_code = 40
    message = "`{editor}` does not open the workspace from here"
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


class CloneFailed(ScratchflowError):
    """`git clone` did not work on the node."""

    code = "create.clone_failed"
    exit_code = 40
    message = "cannot clone `{url}` on {host}: {reason}"
    hint = "{next_step}"


class AgentMissing(ScratchflowError):
    """The host has no agent of this scratchflow, or it cannot be started there."""

    code = "agent.missing"
    exit_code = 40
    message = "the agent on `{host}` does not answer: {reason}"
    hint = "`scratchflow setup` installs it"


class NotSetUp(ScratchflowError):
    """The cluster has no agent, and this machine is not set up for it, or not any more."""

    code = "setup.missing"
    exit_code = 10
    message = "profile `{profile}` is not set up on this machine, and `{host}` has no agent"
    hint = "`scratchflow setup -p {profile}` sets it up"


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


class SyncConflict(ScratchflowError):
    """Both sides of a sync changed the same file; both versions stay where they are."""

    code = "sync.conflict"
    exit_code = 41
    message = "{count} paths changed on both sides"
    hint = "`scratchflow sync --interactive` asks for each; `--prefer PROFILE` or `--prefer newer` decides for all"


class SyncNotConfigured(ScratchflowError):
    """The configuration does not say what is to be kept equal, or in which homes."""

    code = "sync.not_configured"
    exit_code = 10
    message = "{problem} in `[sync]` of `{path}`"
    hint = '`scratchflow config set sync.profiles \'["uni", "aws"]\'` and `scratchflow config set sync.folders \'["projects", "notes"]\'`; docs/sync.md has more'


class SyncFolderRefused(ScratchflowError):
    """A folder of `[sync]` cannot be kept equal."""

    code = "sync.folder_refused"
    exit_code = 10
    message = "`{folder}` does not sync: {reason}"
    hint = (
        "take it out of `folders` in `[sync]`, or name a directory of the home; nothing was changed"
    )


class SyncSameHome(ScratchflowError):
    """Two profiles of `[sync]` have one home."""

    code = "sync.same_home"
    exit_code = 10
    message = "`{first}` and `{other}` have the same home, `{home}`"
    hint = "name one of them in `profiles` of `[sync]`"


class UnisonMissing(ScratchflowError):
    """A login host has no unison."""

    code = "sync.no_unison"
    exit_code = 40
    message = "there is no working `{program}` on `{host}` (profile `{profile}`): {reason}"
    hint = 'install the package `unison`, or put a static one from https://github.com/bcpierce00/unison/releases there and name it: `[sync.programs]`, `{profile} = "~/bin/unison"`'


class UnisonMismatch(ScratchflowError):
    """The two login hosts have versions of unison that do not understand each other."""

    code = "sync.unison_versions"
    exit_code = 40
    message = "unison is {ours} on `{first}` and {theirs} on `{other}`, which do not work together"
    hint = "2.52 or newer on both sides works: put a static one from https://github.com/bcpierce00/unison/releases where it is older, and name it in `[sync.programs]`"


class SyncManyDeletions(ScratchflowError):
    """A sync would delete many files of one side, and nobody agreed to that."""

    code = "sync.many_deletions"
    exit_code = 36
    message = "`{profile}` would lose {files} of {total} files; nothing was changed"
    hint = "`scratchflow sync --dry-run` lists them; `--allow-deletions` deletes them, with a copy in `~/.unison/backup` there"


class SyncBusy(ScratchflowError):
    """Another sync works with the same home."""

    code = "sync.busy"
    exit_code = 34
    message = "another sync works with the home of `{profile}`; nothing was changed"
    hint = "wait for its end and try again; one that lost its connection ends by itself within two minutes"
    retryable = True


class UnisonFailed(ScratchflowError):
    """Unison gave up."""

    code = "sync.failed"
    exit_code = 40
    message = "unison gave up between `{first}` and `{other}`: {words}"
    hint = "`scratchflow sync` again goes on where it stopped; when it says the same again, its words tell what to do, and `scratchflow sync -- OPTION` gives unison an option"
    retryable = True


class EndedBySignal(ScratchflowError):
    """A signal ended the command; the exit code is 128 plus its number."""

    code = "signal.ended"
    exit_code = 128
    message = "{ended}{more}"
    hint = "everything can be run again: the next run finishes or undoes what this one began"
    retryable = True

    def __init__(self, signum: int, more: str = "", cancelled: str = "Cancelled.") -> None:
        """`more` is a sentence about what became of what was under way, `cancelled` what Ctrl-C did."""
        name = signal.Signals(signum).name
        # Ctrl-C: the user knows what it was, and that it worked.
        ended = cancelled if signum == signal.SIGINT else f"ended by {name}"
        between = " " if signum == signal.SIGINT else ". "
        super().__init__(ended=ended, more=f"{between}{more}" if more else "")
        self.exit_code = 128 + signum
        self.is_cancelled = signum == signal.SIGINT


class CommandSignalled(EndedBySignal):
    """A signal ended `run` or `shell`, and with it the user's own command on the node."""

    code = "run.signal_ended"
    hint = "the command was your own: see what it has done before you run it again"
    retryable = False


class SubmitCutShort(EndedBySignal):
    """A signal ended `submit` when the login host had been asked already: Slurm may have the job."""

    code = "job.signal_ended"
    hint = "`scratchflow jobs` shows whether Slurm has it; submit again only when it does not, or there may be two"
    retryable = False

    def __init__(self, signum: int) -> None:
        """With the same words for Ctrl-C, which shows no hint."""
        super().__init__(signum, "Slurm may have the job: `scratchflow jobs` shows it")


class LogsCutShort(EndedBySignal):
    """A signal ended `logs -f`, and with it nothing but the reading."""

    code = "logs.signal_ended"
    hint = "`scratchflow logs -f JOB` goes on reading; `scratchflow cancel JOB` would end the job"

    def __init__(self, signum: int) -> None:
        """Nobody is to take it for the end of the job."""
        super().__init__(signum, "The job was not cancelled.", cancelled="Stopped reading.")


class FarError(ScratchflowError):
    """An agent failed in a way that only its own, newer scratchflow has a code for."""

    code = "agent.far_error"
    exit_code = 1
    message = "{problem}"
    hint = "{next_step}"


def error_from_agent(
    code: str, message: str, hint: str, *, retryable: bool, exit_code: int
) -> ScratchflowError:
    """The error that an agent reported, as its class here, in the agent's own words.

    A code that is not known here keeps everything as told, as a `FarError`.
    """
    kind = next((known for known in all_errors() if known.code == code), FarError)
    error = kind.__new__(kind)
    Exception.__init__(error, printable(message))
    error.fields = {}
    error.code = printable(code)
    error.retryable = retryable
    # Other numbers are not for an error, or not for a process.
    error.exit_code = exit_code if 1 <= exit_code <= 255 else kind.exit_code
    error._agent_hint = printable(hint)  # noqa: SLF001 - made here, instead of by __init__
    return error


# What a finished command exits with when it has something to say about the files it read.
# A warning code that is not here (a skipped socket, say) leaves the exit code at 0.
WARNING_EXIT_CODES = {
    "files.changed": 101,
    "files.vanished": 102,
    "files.unreadable": 103,
}
MIXED_WARNINGS_EXIT_CODE = 100


def exit_code_for(warning_codes: set[str]) -> int:
    """0, the one code that all warnings share, or 100 when they differ."""
    codes = {WARNING_EXIT_CODES[code] for code in warning_codes if code in WARNING_EXIT_CODES}
    if len(codes) > 1:
        return MIXED_WARNINGS_EXIT_CODE
    return codes.pop() if codes else 0


def all_errors() -> list[type[ScratchflowError]]:
    """Every error class, by exit code, then by code."""
    found: list[type[ScratchflowError]] = []
    waiting = list(ScratchflowError.__subclasses__())
    while waiting:
        error = waiting.pop()
        found.append(error)
        waiting.extend(error.__subclasses__())
    return sorted(found, key=lambda error: (error.exit_code, error.code))
