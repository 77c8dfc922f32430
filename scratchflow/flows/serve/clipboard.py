"""The clipboard of the person who types: an address is put there on request.

Programs get it on their stdin: the words of a process are for every user to see.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

from scratchflow.model.events import Emit, Warned

_COPY_S = 5.0
_MACOS = ["pbcopy"]
_WAYLAND = ["wl-copy"]
_X11 = ["xclip -selection clipboard", "xsel --input --clipboard"]
_WINDOWS = ["clip.exe"]  # under WSL


def copy_text(text: str, emit: Emit, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the clipboard has it; a warning says that it does not.

    Without a program for it the terminal is asked (OSC 52), which also works over ssh; a terminal does not say whether it did.
    """
    if any(_given_to(argv, text, environment) for argv in _programs(environment)):
        return True
    if _given_to_terminal(text):
        return True
    message = "the address was not copied: no program for the clipboard was found (`wl-copy`, `xclip`, `xsel`, `pbcopy`), and no terminal"
    emit(Warned(code="clipboard.failed", message=message))
    return False


def _programs(environment: Mapping[str, str]) -> Iterator[list[str]]:
    """Those that could work here, the likeliest first."""
    path = environment.get("PATH")
    choices = [
        *(_MACOS if sys.platform == "darwin" else ()),
        *(_WAYLAND if environment.get("WAYLAND_DISPLAY") else ()),
        *(_X11 if environment.get("DISPLAY") else ()),
        *(_WINDOWS if environment.get("WSL_DISTRO_NAME") else ()),
    ]
    for name, *words in (choice.split() for choice in choices):
        found = shutil.which(name, path=path)
        if found:
            yield [found, *words]


def _given_to(argv: list[str], text: str, environment: Mapping[str, str]) -> bool:
    """Some stay in the background to hold the text, so nothing waits for the end of their output."""
    try:
        done = subprocess.run(
            argv,
            input=text.encode(),
            env=dict(environment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_COPY_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _given_to_terminal(text: str) -> bool:
    encoded = base64.b64encode(text.encode()).decode()
    try:
        with open("/dev/tty", "wb", buffering=0) as terminal:
            terminal.write(f"\033]52;c;{encoded}\a".encode())
    except OSError:
        return False
    return True
