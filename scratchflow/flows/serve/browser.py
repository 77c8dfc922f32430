"""The browser of this machine: an address is opened there without standing in the words of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from html import escape

from scratchflow.config.file import users_directory
from scratchflow.disk.durable import replace_file
from scratchflow.disk.private import make_private_directories
from scratchflow.model.events import Emit, Warned

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")


def is_in_editor(environment: Mapping[str, str]) -> bool:
    """Whether this is a terminal of a VS Code window on this host: its browser is on another machine."""
    return bool(environment.get("VSCODE_IPC_HOOK_CLI"))


def open_in_browser(url: str, emit: Emit, environment: Mapping[str, str] = os.environ) -> bool:
    """Opens it by way of a file that only its user can read: a browser's words are for every user to see."""
    reason = _why_not(environment)
    if reason:
        emit(Warned(code="browser.failed", message=f"no browser was opened: {reason}"))
        return False
    page = users_directory("state") / "open.html"
    text = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(url)}">'
    try:
        make_private_directories(page.parent)
        replace_file(page, f"{text}\n".encode())
    except OSError as error:
        emit(Warned(code="browser.failed", message=f"no browser was opened: {error.strerror}"))
        return False
    with suppress(webbrowser.Error, OSError, subprocess.SubprocessError):
        if _open(page.as_uri()):
            return True
    emit(Warned(code="browser.failed", message="no browser could be opened; the address is below"))
    return False


def _why_not(environment: Mapping[str, str]) -> str:
    """Why a file of this host would not reach a browser. One in the terminal (`lynx`) is not what is meant."""
    if is_in_editor(environment):
        return "click on the address, and VS Code opens it on your machine"
    if sys.platform != "darwin" and not any(environment.get(name) for name in _DISPLAYS):
        return "this host has no display; open the address in a browser of your own"
    return ""


def _open(address_of_file: str) -> bool:
    """Standard output is ours: what a browser says goes to stderr."""
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        return webbrowser.open(address_of_file)
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
