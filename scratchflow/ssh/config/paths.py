"""Where our own ssh files lie, and how ssh is told so.

Everything of ours is in one directory beside the user's ssh config: `scratchflow.d/`.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import msgspec

from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config.names import is_quotable


class SshPaths(msgspec.Struct, frozen=True):
    """The user's ssh config, by the path they gave, and what lies beside it.

    A symlink is not resolved here: `~/.ssh/config` may lead into a repository of dotfiles, and
    our files still belong into `~/.ssh`.
    """

    config: Path

    @classmethod
    def of(cls, config: str | Path) -> SshPaths:
        """From the profile's `ssh_config`; `~` is `$HOME`, as everywhere else in scratchflow."""
        return cls(Path(os.path.abspath(os.path.expanduser(config))))

    @property
    def directory(self) -> Path:
        """Ours alone; whatever ends in `.conf` here is read by every ssh."""
        return self.config.parent / "scratchflow.d"

    @property
    def backup(self) -> Path:
        """The user's config as it was before we first touched it."""
        return self.config.with_name(f"{self.config.name}.scratchflow-bak")

    @property
    def include_line(self) -> str:
        """The one line that the user's config needs."""
        return f'Include {self.quoted(self.directory)[:-1]}/*.conf"'

    @property
    def is_default(self) -> bool:
        """Whether ssh reads this config without being told to."""
        return self.config == passwd_home() / ".ssh" / "config"

    @property
    def ssh_options(self) -> list[str]:
        """What ssh needs on its command line to read this config."""
        return [] if self.is_default else ["-F", str(self.config)]

    def alias_file(self, alias: str) -> Path:
        """The file that says where the alias leads."""
        return self.directory / f"{alias}.conf"

    @property
    def host_keys(self) -> Path:
        """The directory of the nodes' known-hosts files."""
        return self.directory / "known_hosts.d"

    def host_keys_file(self, key_alias: str) -> Path:
        """The known-hosts file of one node; a file each, so that two writers never meet.

        ssh compares host names in lower case, and so do we.
        """
        return self.host_keys / key_alias.lower()

    def quoted(self, path: Path) -> str:
        """The path as ssh config text, between double quotes; refused when ssh would change it."""
        if not is_quotable(str(path)):
            raise SshConfigRefused(
                path=self.config,
                reason=f"`{path}` holds characters that ssh would not take literally",
                remedy="set `ssh_config` to a path of plain letters, digits and spaces",
            )
        return f'"{_with_tilde(path)}"'


def _with_tilde(path: Path) -> str:
    """`~/…` for what lies in the home that ssh knows, so that the line suits every machine.

    ssh takes `~` from the password database, never from `$HOME`; where the two differ the path
    stays absolute.
    """
    home = passwd_home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def passwd_home() -> Path:
    """The home directory that ssh goes by."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a container with a bare uid: ssh itself would not start
        return Path("/")
