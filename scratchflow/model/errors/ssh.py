"""From one machine to the next: the ssh configuration, the alias, keys and passwords, a connection that ends."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


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


class AliasIsLoginHost(ScratchflowError):
    """The profile's alias is the name of its login host, which nobody would reach any more."""

    code = "alias.is_login_host"
    exit_code = 11
    message = "`{alias}`, the alias of profile `{profile}`, is the login host itself"
    hint = "{remedy}"


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


class AliasBehind(ScratchflowError):
    """The node is ours, and the alias leads elsewhere, or is parked."""

    code = "alias.behind"
    exit_code = 14
    message = "the node is `{node}`, but `{alias}` {where}"
    hint = "`scratchflow up` mends it"


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


class CommandTimedOut(ScratchflowError):
    """A command on another machine did not finish in the time it was given; it was given up."""

    code = "connection.timeout"
    exit_code = 14
    message = "`{command}` on `{host}` did not finish within {seconds} s"
    hint = "the host may be overloaded: try again in a minute; `ssh {host}` shows more"
    retryable = True
