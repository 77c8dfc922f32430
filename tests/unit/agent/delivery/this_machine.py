"""This machine's Python as if it were a cluster's: what is installed here runs there."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig

import pytest

from scratchflow.agent.delivery import bundle, install
from scratchflow.agent.delivery.needs import NEEDS
from scratchflow.agent.delivery.probe import FoundPython, Host
from scratchflow.agent.delivery.target import Target


def this_python() -> FoundPython:
    return FoundPython(
        executable=os.path.realpath(sys.executable),
        version=(sys.version_info[0], sys.version_info[1], sys.version_info[2]),
        implementation="CPython",
        abi=str(sysconfig.get_config_var("SOABI")),
        is_64_bit=True,
        machine=platform.machine(),
        libc=platform.libc_ver(),
    )


def this_target() -> Target:
    return this_python().target()


def this_host(home: str) -> Host:
    return Host(
        home=home,
        system="Linux",
        machine=platform.machine(),
        home_free_kib=None,
        modules_failed="",
        pythons=[this_python()],
    )


def send_only_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundles of the package and msgspec: enough to say its version, and quick to move about."""
    for module in (bundle, install):
        monkeypatch.setattr(module, "needs_for", lambda _: NEEDS[:1])
