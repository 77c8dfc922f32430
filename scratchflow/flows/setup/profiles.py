"""The profiles there are, and which one a set-up means: by its name, by its login host, or a new one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from scratchflow.config.check import check_config
from scratchflow.config.file import read_text
from scratchflow.config.own_names import free_name
from scratchflow.config.toml import parse_document
from scratchflow.model.profile import NAME_PATTERN, Profile
from scratchflow.model.results.setup import SetupValue
from scratchflow.ssh.config.hosts import hosts_in_config
from scratchflow.ssh.config.paths import SshPaths

# First parts of host names that say nothing about the cluster.
_GENERIC = re.compile(
    r"(login|head|ssh|frontend|front|access|gateway|gw|submit|hpc)[-_]?(node)?[-_]?\d*"
)
_FALLBACK = "cluster"


class Known(msgspec.Struct, frozen=True):
    """What the configuration file has, before anything is changed."""

    profiles: Mapping[str, Profile]
    default: str = ""

    def at(self, login: str) -> list[str]:
        """The profiles of a login host, the default one first."""
        names = [name for name, profile in self.clusters().items() if profile.login == login]
        return sorted(names, key=lambda name: name != self.default)

    def clusters(self) -> dict[str, Profile]:
        """Those that need a login host."""
        return {
            name: profile for name, profile in self.profiles.items() if profile.scheduler == "slurm"
        }

    def others(self, name: str) -> dict[str, Profile]:
        """The clusters' profiles but one."""
        return {other: profile for other, profile in self.clusters().items() if other != name}

    def default_with(self, name: str, *, make_default: bool) -> str:
        """What `default_profile` has to be once this profile is there; empty when it may stay unset.

        Whatever was used without `-p` before is still used without it.
        """
        if make_default:
            return name
        if self.default or name in self.profiles:
            return self.default
        used = [*self.profiles, name]  # of one alone, no default is needed
        return used[0] if len(used) <= 2 else ""


def known_profiles(path: Path) -> Known:
    """Reads the file; none is no profile."""
    text = read_text(path, required=False)
    if text is None:
        return Known({})
    config = check_config(parse_document(text, str(path)), str(path))
    return Known(config.profiles, config.default_profile)


def name_for(login: str, cluster: str, taken: Iterable[str]) -> str:
    """A name for a new profile: `uni` for `me@login1.uni.example`, Slurm's own word for an address."""
    base = _from_host(login.rpartition("@")[2]) or _valid(cluster) or _FALLBACK
    names, count = {*taken, "local"}, 2
    name = base
    while name in names:
        name, count = f"{base}-{count}", count + 1
    return name


def _from_host(host: str) -> str:
    if host == "local":  # this machine is the login host
        return ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        parts = host.split(".")
        telling = [part for part in parts[:-1] if not _GENERIC.fullmatch(part.lower())]
        return _valid(telling[0] if telling else parts[0])
    return ""


def _valid(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "-", text).strip("-_")
    return name if re.fullmatch(NAME_PATTERN, name) else ""


def own_alias(name: str, known: Known) -> str:
    """The usual alias; one with the profile's name behind it when another profile or a host has that one."""
    usual = Profile().alias
    config = SshPaths.of(Profile().ssh_config)
    theirs = set(hosts_in_config(config)) | {
        profile.alias
        for profile in known.others(name).values()
        if SshPaths.of(profile.ssh_config) == config
    }
    return _free(usual, name, theirs)


def own_workspace(name: str, login: str, known: Known) -> SetupValue:
    """The directory that the first profile has: snapshots go only to a workspace of the same name.

    On the same cluster it would be the same directory, so there it is one with the profile's name behind it.
    """
    others = known.others(name)
    first = known.default if known.default in others else next(iter(others), "")
    usual = others[first].workspace if first else Profile().workspace
    theirs = {one.workspace for one in others.values() if _may_be_one_cluster(one.login, login)}
    is_here = any((one.login, one.workspace) == (login, usual) for one in others.values())
    reason = "your files, beneath scratch"
    moves = "`hop --to` and `snapshots copy` need the same name"
    if first and usual not in theirs:
        reason += f"; as in profile `{first}`: {moves}"
    elif first and not is_here:
        reason += f"; if `{first}` is another cluster, take `{usual}` as there: {moves}"
    return SetupValue(key="workspace", value=_free(usual, name, theirs), reason=reason)


def _may_be_one_cluster(one: str, other: str) -> bool:
    """Whether two login hosts may lead to the same disks: `login1.uni.example` and `login2.uni.example` do."""
    first, second = (
        re.sub(r"[-_]?\d+$", "", _from_host(login.rpartition("@")[2])) for login in (one, other)
    )
    return first == second


def _free(usual: str, name: str, theirs: set[str]) -> str:
    return free_name(f"{usual}_{name}", theirs) if usual in theirs else usual


def shared_in_words(name: str, profile: Profile, known: Known) -> list[str]:
    """What this profile has in common with others, each with what that means."""
    lines = []
    for other, theirs in known.others(name).items():
        if theirs.login != profile.login:
            continue
        together = ["the agent"]
        if theirs.store == profile.store:
            together.append(f"the store `{profile.store}`")
        if theirs.alias == profile.alias:
            together.append(
                f"the ssh alias `{profile.alias}`: it leads to whichever node came last"
            )
        if (theirs.scratch, theirs.workspace) == (profile.scratch, profile.workspace):
            together.append(f"the workspace `{profile.workspace}`: one overwrites the other")
        lines.append(f"shared with profile `{other}`: {'; '.join(together)}")
    return lines
