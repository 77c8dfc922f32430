"""Which names may be written into an ssh configuration, handed to ssh, or used as a file's name.

Allow-lists, not escapes: ssh's own quoting rules differ between its versions, and a line break
in a value would become a directive. What is not listed here is refused.
"""

from __future__ import annotations

import ipaddress
import re

from scratchflow.model.profile import LOGIN_PATTERN, NAME_PATTERN

_NAME = re.compile(NAME_PATTERN)
_LOGIN = re.compile(LOGIN_PATTERN)
# Slurm's node names are host names; 128 leaves room for a profile's name in a file name.
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
# What the system's resolver takes for an IPv4 address in disguise: `1`, `10.1`, `0x7f.1`.
_NUMBER = re.compile(r"(0[xX][0-9A-Fa-f]*|\d+)(\.(0[xX][0-9A-Fa-f]*|\d+))*\.?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}")
# Also IPv6 addresses. Nothing a shell would act on: a ProxyCommand of the user's may hold `%h`.
_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%@+-]{0,300}")
# What means itself to ssh and to every shell, without quotes: no `%`, no space, no port after a `:`.
_PLAIN = re.compile(r"[A-Za-z0-9_/.][A-Za-z0-9_/.@+=,-]*")
# Quoted paths: no quote, no backslash (an escape in some versions of ssh, not in others), no
# pattern characters for Include, and neither `%` nor `$`, which ssh would expand.
_UNSAFE_IN_PATH = re.compile(r'["\\*?\[\]%$]|[^\x20-\U0010ffff]|\x7f')


def is_name(text: str) -> bool:
    """Whether this may be the name of an alias or a profile."""
    return bool(_NAME.fullmatch(text))


def is_node(text: str) -> bool:
    """Whether this may be a node's name, or its IPv4 address written in full."""
    return bool(_NODE.fullmatch(text)) and (not _NUMBER.fullmatch(text) or _is_ipv4(text))


def is_user(text: str) -> bool:
    """Whether this may be a user's name."""
    return bool(_USER.fullmatch(text))


def is_login(text: str) -> bool:
    """Whether this may be a login host: a name ssh knows, with or without `user@`."""
    # ssh's ProxyJump reads `none` as: no login host.
    return bool(_LOGIN.fullmatch(text)) and text.lower() != "none"


def is_host(text: str) -> bool:
    """Whether this may stand on ssh's command line as a host: it cannot be taken for an option."""
    return bool(_HOST.fullmatch(text))


def is_port(number: int) -> bool:
    """Whether this is a TCP port."""
    return 0 < number < 65536


def is_quotable(path: str) -> bool:
    """Whether this path means itself when it stands between double quotes in an ssh config."""
    return bool(path) and not _UNSAFE_IN_PATH.search(path)


def is_plain(word: str) -> bool:
    """Whether this path or host means itself in a command that ssh hands to a shell."""
    return bool(_PLAIN.fullmatch(word))


def _is_ipv4(text: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(text)) == text
    except ValueError:
        return False
