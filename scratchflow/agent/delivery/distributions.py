"""The distributions that are installed beside this scratchflow: most of them run anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterable
from email.message import Message
from email.parser import Parser
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import msgspec

from scratchflow.agent.delivery.markers import Requirement, allows, parse_requirement
from scratchflow.agent.delivery.target import Target

# What an installer notes about its own work; it differs from machine to machine.
_INSTALLER_NOTES = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}


class Part(msgspec.Struct, frozen=True):
    """One distribution as it will lie on the cluster: paths to bytes, and what it needs in turn."""

    name: str
    version: str
    files: dict[str, bytes]
    requires: list[Requirement]


def installed_version(name: str, target: Target) -> str | None:
    """The version that is installed here, if it supports the target's Python at all."""
    found = _find(name)
    if found is None or not allows(found.metadata["Requires-Python"] or "", target.python):
        return None
    return found.version


def copy_installed(name: str, target: Target) -> Part | None:
    """The installed distribution, if it runs on the target as it is; else None."""
    found = _find(name)
    if found is None or installed_version(name, target) is None:
        return None
    if not _tags_fit(found.read_text("WHEEL"), target):
        return None
    paths = {str(path): path for path in found.files or () if is_wanted(str(path))}
    try:
        files = {path: found.locate_file(entry).read_bytes() for path, entry in paths.items()}  # type: ignore[attr-defined]  # a Path, though declared with less
    except OSError:  # its record names files that are gone
        return None
    return Part(name, found.version, files, requirements(found.requires or (), target))


def bounds(name: str) -> str:
    """The versions of a direct dependency that this scratchflow was tested with, like `>=4.3.3`."""
    try:
        lines = distribution("scratchflow").requires or []
    except PackageNotFoundError:  # run from its source, not installed
        return ""
    newest = Target((3, 999, 0), "x86_64", (2, 999))
    oldest = Target((3, 0, 0), "x86_64", (2, 999))
    for line in lines:
        found = parse_requirement(line, newest) or parse_requirement(line, oldest)
        if found and found.name == name:
            return found.versions
    return ""


def parse_metadata(text: str) -> Message:
    """A METADATA file; only its head counts."""
    return Parser().parsestr(text, headersonly=True)


def requirements(lines: Iterable[str], target: Target) -> list[Requirement]:
    """Those that hold for the target."""
    found = [parse_requirement(line, target) for line in lines]
    return [requirement for requirement in found if requirement]


def is_wanted(path: str) -> bool:
    """Whether a file of a distribution has a use on the cluster."""
    parts = path.split("/")
    if ".." in parts or "__pycache__" in parts or path.startswith(("/", "bin/", ".lock")):
        return False
    if parts[0].endswith(".dist-info") and parts[-1] in _INSTALLER_NOTES:
        return False
    return not path.endswith((".pyc", ".pth"))


def _find(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _tags_fit(wheel: str | None, target: Target) -> bool:
    """What was compiled on this machine fits if the cluster's libc is not older than ours."""
    lines = (wheel or "").splitlines()
    tags = [line.removeprefix("Tag:").strip() for line in lines if line.startswith("Tag:")]
    return any(target.takes(_as_manylinux(tag)) for tag in tags)


def _as_manylinux(tag: str) -> str:
    head, _, platform = tag.rpartition("-")
    local = _local_glibc()
    if platform.startswith("linux_") and local:
        return f"{head}-manylinux_{local}_{platform.removeprefix('linux_')}"
    return tag


def _local_glibc() -> str:
    """`2_36`; nothing on a system without glibc."""
    try:
        name = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return ""
    return name.removeprefix("glibc ").replace(".", "_") if name.startswith("glibc ") else ""
