"""The package's files go as they are, and the agent's name changes with any of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scratchflow
from scratchflow import __version__
from scratchflow.agent.delivery.source import agent_name, package_files


def test_the_name_says_version_and_content(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch(re.escape(__version__) + r"-[0-9a-f]{12}", agent_name())
    changed = {**package_files(), "scratchflow/new.py": b""}
    monkeypatch.setattr("scratchflow.agent.delivery.source.package_files", lambda: changed)
    before = agent_name()
    agent_name.cache_clear()
    after = agent_name()
    agent_name.cache_clear()
    assert before != after


def test_every_file_of_the_package_goes_and_nothing_that_only_tests_need() -> None:
    top = Path(scratchflow.__file__).parent
    expected = {
        str(path.relative_to(top.parent))
        for path in top.rglob("*")
        if path.is_file() and not {"__pycache__", "testing"} & set(path.relative_to(top).parts)
    }
    assert set(package_files()) == expected
    assert list(package_files()) == sorted(expected)
