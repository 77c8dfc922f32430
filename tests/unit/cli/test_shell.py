"""`shell` is for a terminal: it has no JSON form."""

from __future__ import annotations

import pytest

from scratchflow.cli.verbs import parse
from scratchflow.model.errors.base import UsageInvalid


def test_json_is_refused() -> None:
    with pytest.raises(UsageInvalid, match="`run -- CMD` is for programs"):
        parse(["shell", "--json"])


def test_it_takes_a_directory_of_the_workspace() -> None:
    assert parse(["shell", "--cwd", "src", "--up"]).op == "shell"
