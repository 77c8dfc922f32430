"""Everything an agent needs on one platform, put together on the laptop as one archive.

What is installed here and runs there goes as it is; for the rest wheels are fetched. Equal parts
give equal bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import tempfile
from pathlib import Path

import msgspec

from scratchflow.agent.delivery.cache import BundleCache
from scratchflow.agent.delivery.distributions import (
    Part,
    bounds,
    copy_installed,
    installed_version,
    is_wanted,
    parse_metadata,
    requirements,
)
from scratchflow.agent.delivery.markers import normal_name
from scratchflow.agent.delivery.needs import needs_for
from scratchflow.agent.delivery.source import agent_name, package_files
from scratchflow.agent.delivery.target import Target
from scratchflow.agent.delivery.wheels import fetch
from scratchflow.model.errors.agent import BundleFailed

# 1980: the oldest time that every archive format knows.
_TIME_S = 315532800
_MAX_ROUNDS = 5


class Bundle(msgspec.Struct, frozen=True):
    """The archive for one platform. `name` is the scratchflow's, `target` the far Python's."""

    name: str
    target: Target
    content: bytes

    @property
    def sha256(self) -> str:
        """Of the archive as it travels."""
        return hashlib.sha256(self.content).hexdigest()


def make_bundle(target: Target, cache: BundleCache) -> Bundle:
    """The bundle of this scratchflow for the target; made once, then kept."""
    key = _cache_key(target)
    content = cache.get(key)
    if content is None:
        content = pack(assemble(target))
        cache.put(key, content)
    return Bundle(agent_name(), target, content)


def assemble(target: Target) -> dict[str, bytes]:
    """Every file of the agent by its path: the package and all that it needs there."""
    files = dict(package_files())
    for part in collect_parts(target).values():
        files |= part.files
    return files


def collect_parts(target: Target) -> dict[str, Part]:
    """The distributions that the target needs, and theirs in turn, until none is missing."""
    parts: dict[str, Part] = {}
    missing = {normal_name(need.distribution): "" for need in needs_for(target.python)}
    for _ in range(_MAX_ROUNDS):
        _copy_what_fits(missing, parts, target)
        if not missing:
            return parts
        for part in _fetch_parts(missing, target):
            parts[part.name] = part
        missing = _missing_of(parts)
    raise BundleFailed(
        platform=target,
        reason=f"what it needs never ends: {', '.join(missing)}",
        remedy="report this as a bug in scratchflow",
    )


def pack(files: dict[str, bytes]) -> bytes:
    """A gzipped tar without times, owners or modes: the far end gives its own."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mtime, member.mode = len(content), _TIME_S, 0o600
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), 6, mtime=0)


def _copy_what_fits(missing: dict[str, str], parts: dict[str, Part], target: Target) -> None:
    """Moves names from `missing` to `parts`, with all they need; what has to be fetched stays."""
    waiting = list(missing)
    while waiting:
        name = waiting.pop()
        part = copy_installed(name, target)
        if part is None:
            continue
        parts[name] = part
        missing.pop(name, None)
        for requirement in part.requires:
            if requirement.name not in parts and requirement.name not in missing:
                missing[requirement.name] = requirement.versions
                waiting.append(requirement.name)


def _fetch_parts(missing: dict[str, str], target: Target) -> list[Part]:
    """The versions that are installed here if there are such wheels, else any that we support."""
    pinned, loose = [], []
    for name, versions in sorted(missing.items()):
        here = installed_version(name, target)
        loose.append(f"{name}{versions or bounds(name)}")
        pinned.append(f"{name}=={here}" if here else loose[-1])
    with tempfile.TemporaryDirectory(prefix="scratchflow-") as folder:
        into = Path(folder, "fetched")
        try:
            fetch(pinned, target, into)
        except BundleFailed:
            if pinned == loose:
                raise
            fetch(loose, target, into)
        return _read_parts(into, target)


def _read_parts(folder: Path, target: Target) -> list[Part]:
    """The distributions in a directory where wheels were unpacked; all files go to the first."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and is_wanted(path.relative_to(folder).as_posix())
    }
    parts: list[Part] = []
    for path, content in files.items():
        if path.endswith(".dist-info/METADATA"):
            metadata = parse_metadata(content.decode("utf-8", "replace"))
            needed = requirements(metadata.get_all("Requires-Dist", []), target)
            own = {} if parts else files
            parts.append(Part(normal_name(metadata["Name"]), metadata["Version"], own, needed))
    return parts


def _missing_of(parts: dict[str, Part]) -> dict[str, str]:
    return {
        requirement.name: requirement.versions
        for part in parts.values()
        for requirement in part.requires
        if requirement.name not in parts
    }


def _cache_key(target: Target) -> str:
    """Another package, another platform or other versions installed here: another bundle."""
    names = sorted(normal_name(need.distribution) for need in needs_for(target.python))
    pins = [f"{name}=={installed_version(name, target)}" for name in names]
    text = "\n".join([agent_name(), str(target), *pins])
    return hashlib.sha256(text.encode()).hexdigest()[:24]
