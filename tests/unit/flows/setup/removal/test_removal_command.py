"""One word for a shell over there, whatever the path holds."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from scratchflow.config.settings import LOCAL
from scratchflow.flows.setup.removal.removal_command import far_command, removal_command


@pytest.mark.parametrize(
    ("store", "path"),
    [
        ("/fsx/my data", "/fsx/my data/work"),
        ("~/my data", "/home/ada/my data/work"),
        ("/fsx/$USER/s", "/fsx/ada/s/work"),
        ("/fsx/$USER/my data", "/fsx/ada/my data/work"),
        ('/fsx/a "b" (c) * d\\', '/fsx/a "b" (c) * d\\/work'),
    ],
)
def test_a_real_shell_over_there_gets_the_one_path(store: str, path: str) -> None:
    """`rm -rf /fsx/my data/work` would remove `/fsx/my`."""
    far = shlex.split(removal_command("aws", f"{store}/work"))[-1].removeprefix("rm -rf ")
    argv = ["sh", "-c", f"printf '<%s>' {far}"]
    environment = {"HOME": "/home/ada", "USER": "ada", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"<{path}>"


def test_a_directory_is_removed_as_an_empty_one_over_there_and_here() -> None:
    assert far_command("aws", "rmdir", "~/my s") == "ssh aws 'rmdir ~/\"my s\"'"
    assert far_command(LOCAL, "rmdir", "~/s") == "rmdir ~/s"
