"""The probe finds what is there, hears through the noise, and says why nothing fits."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.agent.delivery.probe import FoundPython, Host, fitting_pythons, probe
from scratchflow.model.errors.agent import LoginShellUnusable, PythonMissing
from tests.process_transport import ProcessTransport, bare_environment
from tests.unit.agent.delivery.this_machine import this_host, this_python


def described(**changed: Any) -> FoundPython:
    usual: dict[str, Any] = {
        "executable": "/opt/bin/python3.11",
        "version": (3, 11, 2),
        "implementation": "CPython",
        "abi": "cpython-311-x86_64-linux-gnu",
        "is_64_bit": True,
        "machine": "x86_64",
        "libc": ("glibc", "2.28"),
        "lacks": (),
    }
    return FoundPython(**{**usual, **changed})


@pytest.fixture
def far(tmp_path: Path) -> ProcessTransport:
    return ProcessTransport(bare_environment(tmp_path))


def fake_python(path: Path, **description: Any) -> None:
    """A program that describes itself as the probe's own lines would."""
    line = json.dumps(
        {
            "executable": str(path),
            "version": [3, 13, 1],
            "implementation": "CPython",
            "abi": "cpython-313-x86_64-linux-gnu",
            "is_64_bit": True,
            "machine": "x86_64",
            "libc": ["glibc", "2.28"],
            "lacks": [],
        }
        | description
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nprintf '%s\\t%s\\t%s\\n' scratchflow-probe python '{line}'\n")
    path.chmod(0o755)


@pytest.mark.slow
def test_the_real_python_of_this_machine_is_found(tmp_path: Path) -> None:
    environment = bare_environment(tmp_path)
    folder = os.path.dirname(this_python().executable)
    far = ProcessTransport(environment | {"PATH": f"{folder}:{environment['PATH']}"})
    host = probe(far)
    assert this_python().executable in [python.executable for python in host.pythons]
    assert (host.home, host.system) == (str(tmp_path), "Linux")
    assert host.home_free_kib
    assert len({python.executable for python in host.pythons}) == len(host.pythons)
    assert fitting_pythons(host, far, "aws")


@pytest.mark.slow
def test_a_python_in_the_users_home_is_found(far: ProcessTransport, tmp_path: Path) -> None:
    fake_python(tmp_path / ".local/bin/python3.13")
    assert probe(far).pythons[0].executable == str(tmp_path / ".local/bin/python3.13")


MODULES = """
echo "Welcome!"
module() {
    echo "loading $*" >&2
    [ "$1 $2" = "load python/3.13" ] || return 1
    PATH=$HOME/modules/bin:$PATH
    printf 'loaded '
}
"""


@pytest.mark.slow
def test_modules_come_first_and_their_chatter_is_not_heard(
    far: ProcessTransport, tmp_path: Path
) -> None:
    (tmp_path / ".bash_profile").write_text(MODULES)
    fake_python(tmp_path / "modules/bin/python3.13")
    fake_python(tmp_path / ".local/bin/python3.13")
    host = probe(far, ["python/3.13"])
    assert host.pythons[0].executable == str(tmp_path / "modules/bin/python3.13")
    assert host.modules_failed == ""


@pytest.mark.slow
def test_a_module_that_fails_is_named_and_the_rest_still_looked_at(
    far: ProcessTransport, tmp_path: Path
) -> None:
    (tmp_path / ".bash_profile").write_text(MODULES)
    fake_python(tmp_path / ".local/bin/python3.13")
    host = probe(far, ["nosuch/1"])
    assert host.modules_failed == "nosuch/1"
    assert host.pythons


@pytest.mark.slow
@pytest.mark.parametrize("module", ["$(touch canary)", "; touch canary", "`touch canary`", "-x y"])
def test_a_hostile_module_name_runs_nothing(tmp_path: Path, module: str) -> None:
    far = ProcessTransport(bare_environment(tmp_path), through=["sh", "-c"])
    (tmp_path / ".bash_profile").write_text('module() { return 1; }; cd "$HOME"\n')
    assert probe(far, [module]).modules_failed == module
    assert not list(tmp_path.rglob("canary"))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"version": (3, 9, 18)}, "older than 3.10"),
        ({"version": (2, 7, 5), "abi": ""}, "older than 3.10"),
        ({"implementation": "PyPy"}, "PyPy"),
        ({"abi": "cpython-311d-x86_64-linux-gnu"}, "debug or free-threaded"),
        ({"version": (3, 13, 0), "abi": "cpython-313t-x86_64-linux-gnu"}, "free-threaded"),
        ({"machine": "ppc64le"}, "ppc64le"),
        ({"is_64_bit": False}, "32-bit"),
        ({"libc": ("", "")}, "glibc"),
        ({"libc": ("glibc", "2.12")}, "glibc"),
        ({"libc": ("glibc", "2.x")}, "glibc"),
        ({"lacks": ("zlib",)}, "zlib"),
        ({"executable": "python3"}, "where it is"),
        ({}, ""),
        ({"libc": ("glibc", "2.17")}, ""),
    ],
)
def test_what_does_not_fit_says_why(changed: dict[str, Any], reason: str) -> None:
    assert reason in described(**changed).unfit()
    assert bool(described(**changed).unfit()) is bool(reason)


def test_when_none_fits_every_reason_is_given(far: ProcessTransport) -> None:
    host = this_host("/home/x")
    old, pypy = described(version=(3, 6, 8)), described(implementation="PyPy")
    with pytest.raises(PythonMissing) as caught:
        fitting_pythons(replaced(host, [old, pypy], "python/9"), far, "aws")
    assert "(3.6.8): it is older" in str(caught.value)
    assert "PyPy" in str(caught.value)
    assert "`python/9` cannot be loaded" in str(caught.value)
    assert "[profiles.aws.environment]" in caught.value.shown_hint
    assert caught.value.exit_code == 40
    with pytest.raises(PythonMissing, match="Darwin"):
        fitting_pythons(msgspec.structs.replace(host, system="Darwin"), far, "aws")
    with pytest.raises(PythonMissing, match="there is none"):
        fitting_pythons(replaced(host, [], ""), far, "aws")


def replaced(host: Host, pythons: list[FoundPython], modules_failed: str) -> Host:
    return msgspec.structs.replace(host, pythons=pythons, modules_failed=modules_failed)


def test_a_host_that_does_not_answer_as_one_is_an_error(tmp_path: Path) -> None:
    far = ProcessTransport(
        bare_environment(tmp_path), through=["sh", "-c", "echo no shell >&2", "x"]
    )
    with pytest.raises(LoginShellUnusable, match="no shell"):
        probe(far)


@pytest.mark.parametrize(
    ("startup", "reason"),
    [
        ("exit 3", "exit code 3, without a word"),
        ('read -r project; eval "$*"', "startup files reads what is sent"),
    ],
)
def test_a_login_shell_that_is_in_the_way_is_told_as_that(
    tmp_path: Path, startup: str, reason: str
) -> None:
    far = ProcessTransport(bare_environment(tmp_path), through=["bash", "-c", startup, "bash"])
    with pytest.raises(LoginShellUnusable, match=reason) as refused:
        probe(far)
    assert "[ -t 0 ]" in refused.value.shown_hint
