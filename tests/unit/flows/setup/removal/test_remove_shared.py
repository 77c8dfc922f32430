"""A removal of profiles that share things comes to an end, by the commands that it names itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scratchflow.config.edit import apply_edits
from scratchflow.ssh.config.alias import park_alias
from tests.unit.flows.setup.removal.test_remove import USERS_LINES, Laptop


@pytest.mark.slow
@pytest.mark.parametrize("logins", ["aaa", "aab", "aba", "abb"])
@pytest.mark.parametrize("aliases", ["xxx", "xxy", "xyx", "xyy", "xyz"])
def test_what_the_messages_name_ends_with_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logins: str, aliases: str
) -> None:
    """Whichever of three profiles share an alias or a login host: every command is typed as it is named."""
    laptop = Laptop(tmp_path, monkeypatch)
    names = ("uni", "lab", "far")
    laptop.profiles(**dict(zip(names, logins, strict=True)))
    text = laptop.file.read_text()
    for name, alias in zip(names, aliases, strict=True):
        laptop.places.alias_file(name).unlink()
        text = text.replace(f'alias = "{name}"', f'alias = "{alias}"')
        park_alias(laptop.places, alias)
    laptop.file.write_text(text)
    lines, *_ = laptop.remove(login="uni").kept
    commands = re.findall(r"`scratchflow ([^`]+)`", lines.partition(";")[2])
    for command in commands:
        if found := re.fullmatch(r"profiles remove (\w+)", command):
            apply_edits(laptop.file, {}, [("profiles", found[1])])
        else:
            laptop.remove(login=command.split()[1])
    assert laptop.places.config.read_text() == USERS_LINES
    assert not laptop.places.directory.exists()
    assert laptop.uninstalled == len(set(logins))
