"""paramiko itself: imported late, kept quiet, its errors told in our own."""

from __future__ import annotations

import logging
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scratchflow.model.errors.ssh import AuthNeeded, ConnectionLost, HostNotFound, SshUnusable
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.transport.base import CHECK_NAME, CONNECT_TIMEOUT_S, LOGIN_COMMAND


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
    except socket.gaierror:
        raise HostNotFound(host=host.name, suggestion="", remedy=CHECK_NAME) from None
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise ConnectionLost(host=host.name, reason=_in_words(error)) from None


def _in_words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_TIMEOUT_S} s"
    if "protocol banner" in str(error):
        return "it does not answer as an ssh server does"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
