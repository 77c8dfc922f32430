"""Wheels for another Python and platform, with whatever this machine has to fetch them.

scratchflow itself brings no pip (pipx and uv install without it), so several ways are tried.
Where wheels come from is the user's configuration of pip or uv; nothing here knows an address.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from scratchflow.agent.delivery.target import Target
from scratchflow.model.errors.agent import BundleFailed

_TIMEOUT_S = 600
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+|\bhost='[^']*'", re.IGNORECASE)
# Settings of pip that would send the files elsewhere; all others are the user's to make.
_WRONG_HERE = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PYTHONPATH"}
# The newest glibc first: what uv knows by name.
_UV_GLIBC_MINORS = (40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 28, 17)


class Fetcher(msgspec.Struct, frozen=True):
    """A program that installs wheels for another platform into a directory."""

    name: str
    argv: tuple[str, ...]
    is_uv: bool = False

    def command(self, target: Target, into: Path, requirements: Sequence[str]) -> list[str]:
        """What to run."""
        common = ["install", "--quiet", "--target", str(into), "--no-deps"]
        common += ["--only-binary", ":all:", "--python-version", target.short_python]
        options = _uv_options(target) if self.is_uv else _pip_options(target)
        return [*self.argv, *common, *options, "--", *requirements]


def fetch(requirements: Sequence[str], target: Target, into: Path) -> None:
    """Unpacks a wheel for each requirement into the directory, which must not exist yet."""
    reasons: list[str] = []
    for fetcher in fetchers():
        reason = _try(fetcher, requirements, target, into)
        if reason is None:
            return
        reasons.append(f"{fetcher.name}: {reason}")
        shutil.rmtree(into, ignore_errors=True)
    if not reasons:
        raise BundleFailed(
            platform=target,
            reason=f"this machine has neither pip nor uv to fetch {', '.join(requirements)} with",
            remedy="install uv or pip, then run it again",
        )
    raise BundleFailed(
        platform=target,
        reason=f"cannot fetch {', '.join(requirements)}; {'; '.join(reasons)}",
        remedy="check the network and the package index that pip or uv is set to, then run it again",
    )


def fetchers() -> Iterator[Fetcher]:
    """What there is on this machine, the nearest first."""
    if find_spec("pip"):
        yield Fetcher("pip", (sys.executable, "-m", "pip"))
    if uv := shutil.which("uv"):
        yield Fetcher("uv", (uv, "pip"), is_uv=True)
    if wheel := _ensurepip_wheel():
        yield Fetcher("ensurepip", (sys.executable, f"{wheel}/pip"))
    if pip := shutil.which("pip3"):
        yield Fetcher("pip3", (pip,))
    if python := shutil.which("python3"):
        yield Fetcher("python3 -m pip", (python, "-m", "pip"))


def _ensurepip_wheel() -> Path | None:
    """The pip that Python itself carries for making venvs; some distributions put it elsewhere."""
    places = [Path(sysconfig.get_path("stdlib")) / "ensurepip/_bundled"]
    if elsewhere := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        places.append(Path(elsewhere))
    wheels = [wheel for place in places for wheel in sorted(place.glob("pip-*.whl"))]
    return wheels[-1] if wheels else None


def _try(fetcher: Fetcher, requirements: Sequence[str], target: Target, into: Path) -> str | None:
    """None when it worked, else why not."""
    environment = {name: os.environ[name] for name in os.environ if name not in _WRONG_HERE}
    try:
        done = subprocess.run(
            fetcher.command(target, into, requirements),
            cwd=into.parent,  # not where a stray `pip.py` of the user's may lie
            env=environment | {"PIP_NO_INPUT": "1", "PIP_REQUIRE_VIRTUALENV": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {_TIMEOUT_S} s"
    except OSError as error:
        return error.strerror or "it cannot be started"
    return None if done.returncode == 0 else _complaint(done.stderr)


def _complaint(said: bytes) -> str:
    """The line that says what is wrong, without addresses: they may hold passwords."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error|no module", line, re.IGNORECASE)]
    line = (errors or lines or ["it said nothing"])[-1]
    return _ADDRESS.sub("…", line)[:300]


def _pip_options(target: Target) -> list[str]:
    options = ["--disable-pip-version-check", "--no-compile", "--implementation", "cp"]
    options += ["--retries", "1"]  # offline, the user should not wait for each way in turn
    for abi in (target.python_tag, "abi3", "none"):
        options += ["--abi", abi]
    for platform in target.platforms:
        options += ["--platform", platform]
    return options


def _uv_options(target: Target) -> list[str]:
    minor = next(minor for minor in _UV_GLIBC_MINORS if minor <= target.glibc[1])
    return ["--python-platform", f"{target.machine}-manylinux_2_{minor}"]
