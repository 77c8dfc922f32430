"""Puts our agent onto a host that has none, or another one; what that takes is loaded only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scratchflow.config.settings import Settings
from scratchflow.model.events import Emit
from scratchflow.ssh.transport.base import Transport

if TYPE_CHECKING:
    from scratchflow.agent.delivery.install import Installed


def install_for(
    settings: Settings, transport: Transport, emit: Emit, *, on_trial: bool = False
) -> Installed:
    """Puts our agent onto the host, with a Python that the profile's modules bring if it has some."""
    from scratchflow.agent.delivery.install import install

    modules = settings.profile.environment.modules
    return install(
        transport, profile_name=settings.name, modules=modules, emit=emit, on_trial=on_trial
    )
