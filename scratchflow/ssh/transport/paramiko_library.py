"""paramiko itself: imported late, kept quiet, its errors told in our own."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scratchflow.model.errors import AuthNeeded, ConnectionLost, SshUnusable
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.base import LOGIN_COMMAND


def load_paramiko() -> Any:
    """Imports paramiko without its warnings about ciphers that nobody here uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import paramiko
    # Without any handler Python would print paramiko's errors, which are raised, to stderr too.
    logging.getLogger("paramiko").addHandler(logging.NullHandler())
    return paramiko


@contextmanager
def as_our_error(host: ResolvedHost) -> Iterator[None]:
    """Whatever paramiko or the network raises inside becomes one of our errors."""
    paramiko = load_paramiko()
    try:
        yield
    except paramiko.ssh_exception.IncompatiblePeer as error:
        raise SshUnusable(
            host=host.name,
            reason=f"paramiko and the host have no method in common ({error})",
            remedy='set `transport = "openssh"` in the profile',
        ) from None
    except paramiko.AuthenticationException as error:
        raise AuthNeeded(host=host.name, reason=str(error), command=LOGIN_COMMAND) from None
    except UnicodeError:  # Python's word for a part of the name that is empty or too long
        raise ConnectionLost(
            host=host.name, reason=f"`{host.hostname}` is not a host name"
        ) from None
    except (paramiko.SSHException, OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ConnectionLost(host=host.name, reason=reason) from None
