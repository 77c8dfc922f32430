"""Two clusters with one laptop between them: own stores, own Slurm, own login hosts that do not reach each other."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cluster.laptop import SHORT, Laptop
from tests.cluster.minicluster import Minicluster

NAME = re.compile(r"^(Host|\s+ProxyJump) (.*)$", re.MULTILINE)
LOGINS = {"uni": "login", "aws": "aws1-login"}


class TwoClusters:
    """`uni` is the first, `aws` the second; the laptop has a profile and names in its ssh config for each."""

    def __init__(self, home: Path, first: Minicluster, second: Minicluster) -> None:
        self.first, self.second = first, second
        self.laptop = Laptop(home, first)
        for number in ("1", "2"):  # two names of one login host, as of a pool
            config = NAME.sub(
                lambda found, end=number: (
                    f"{found[1]} " + re.sub(r"(login|node-)", rf"aws{end}-\1", found[2])
                ),  # type: ignore[misc]  # mypy knows no default of a lambda
                second.ssh_config.read_text(),
            )
            with self.laptop.ssh_config.open("a") as file:
                file.write(config)
        for name, login in LOGINS.items():
            words = ["--name", name, "--store", "/fsx/$USER/store", "--partition", "debug", "--yes"]
            done = self.laptop.run("setup", login, *words, *SHORT)
            assert done.returncode == 0, done.stderr
