"""Extended attributes of the `user.` namespace; others belong to the system, not to the work."""

from __future__ import annotations

import os
from contextlib import suppress

_PREFIX = "user."
_SUPPORTED = hasattr(os, "listxattr")


def read_xattrs(descriptor: int) -> dict[bytes, bytes]:
    """The user's attributes of an open file; none where the file system or the system has none."""
    if not _SUPPORTED:
        return {}
    try:
        names = os.listxattr(descriptor)
    except OSError:
        return {}
    found = {}
    for name in names:
        if name.startswith(_PREFIX):
            with suppress(OSError):  # it was removed meanwhile; the others are still there
                found[os.fsencode(name)] = os.getxattr(descriptor, name)
    return found


def set_xattrs(descriptor: int, xattrs: dict[bytes, bytes]) -> bool:
    """Sets attributes on an open file; False when the file system does not take them."""
    if not _SUPPORTED:
        return False
    try:
        for name, value in xattrs.items():
            if name.startswith(_PREFIX.encode()):
                os.setxattr(descriptor, name, value)
    except OSError:
        return False
    return True


def replace_xattrs(descriptor: int, xattrs: dict[bytes, bytes]) -> bool:
    """Makes these the user's only attributes of an open file; False when that did not work."""
    extra = [name for name in read_xattrs(descriptor) if name not in xattrs]
    try:
        for name in extra:
            os.removexattr(descriptor, name)
    except OSError:
        return False
    return not xattrs or set_xattrs(descriptor, xattrs)
