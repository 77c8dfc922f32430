"""What a profile shares with the others that are set up on this machine: it stays, and this says what removes it in the end."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

import msgspec

from scratchflow.flows.setup.table import shown_home
from scratchflow.model.profile import Profile
from scratchflow.ssh.config.alias import our_aliases, read_alias
from scratchflow.ssh.config.alias_text import AliasTarget
from scratchflow.ssh.config.paths import SshPaths

_LINES = "our lines"


class Shared(msgspec.Struct, frozen=True):
    """The other profiles that are set up on this machine, by what they need of this one's."""

    of_ssh_config: Sequence[str] = ()
    of_alias: Sequence[str] = ()
    of_login: Sequence[str] = ()


def of_other_files(profile: Profile, known: Container[str]) -> dict[str, str]:
    """Profiles that this file does not have, by the aliases of this ssh config that lead to their nodes."""
    places = SshPaths.of(profile.ssh_config)
    found = {alias: read_alias(places, alias) for alias in our_aliases(places)}
    return {
        alias: target.profile
        for alias, target in found.items()
        if isinstance(target, AliasTarget) and target.profile not in known
    }


def shared_with(
    profile: Profile, others: Mapping[str, Profile], elsewhere: Mapping[str, str] | None = None
) -> Shared:
    """`others` are the clusters' profiles of the file; one without an alias is not set up here, or not any more.

    `elsewhere` are those of other files, by alias.
    """
    strangers = elsewhere or {}
    set_up = {
        name: other
        for name, other in others.items()
        if read_alias(SshPaths.of(other.ssh_config), other.alias) is not None
    }
    places = SshPaths.of(profile.ssh_config)
    of_config = [name for name, other in set_up.items() if SshPaths.of(other.ssh_config) == places]
    of_alias = [name for name, other in set_up.items() if _have_one_alias(profile, other)]
    return Shared(
        [*of_config, *sorted({*strangers.values()})],
        [*of_alias, *(name for alias, name in strangers.items() if alias == profile.alias)],
        [name for name, other in set_up.items() if other.login == profile.login],
    )


def kept_for_others(
    name: str, profile: Profile, shared: Shared, of_file: Mapping[str, Profile]
) -> list[str]:
    """What stays and for whom, in words; what has the same users is one text. `of_file` are all clusters' profiles."""
    is_cluster = profile.scheduler == "slurm"  # else it has no alias and no agent to give back
    things = [
        (
            f"our lines in {shown_home(SshPaths.of(profile.ssh_config).config)}",
            shared.of_ssh_config,
        ),
        (f"the alias `{profile.alias}`", shared.of_alias if is_cluster else ()),
        (agent_and_notes(profile), shared.of_login if is_cluster else ()),
    ]
    by_users: dict[tuple[str, ...], list[str]] = {}
    for what, users in things:
        if users:
            by_users.setdefault(tuple(users), []).append(what)
    return [
        _kept(what, users, commands_to_end(name, users, of_file))
        for users, what in by_users.items()
    ]


def commands_to_end(
    name: str, users: Sequence[str], profiles: Mapping[str, Profile]
) -> Iterator[str]:
    """What to type, in this order, after `setup --remove` of the profile of that name, until nobody needs it.

    Profiles with one alias keep it for each other as long as the file has both: each but the last has to leave the file.
    One that is not in it is in another file.
    """
    rest = dict(profiles)
    for one in (name, *users):
        profile = rest.pop(one, None)
        if one != name:
            config = "" if profile else "--config FILE "
            yield f"scratchflow {config}-p {one} setup --remove"
        is_last = one == users[-1]
        if profile and not is_last and _is_alias_of(profile, rest.values()):
            yield f"scratchflow profiles remove {one}"


def agent_and_notes(profile: Profile) -> str:
    """How they are named."""
    return f"the agent and our notes in ~/.local/share/scratchflow on `{profile.login}`"


def _is_alias_of(profile: Profile, others: Collection[Profile]) -> bool:
    return any(_have_one_alias(profile, other) for other in others)


def _have_one_alias(one: Profile, other: Profile) -> bool:
    is_one_config = SshPaths.of(one.ssh_config) == SshPaths.of(other.ssh_config)
    return is_one_config and one.alias == other.alias


def _kept(what: Sequence[str], users: Sequence[str], commands: Iterable[str]) -> str:
    it = "it" if len(what) == 1 and not what[0].startswith(_LINES) else "them"
    listed = " and ".join(filter(None, [", ".join(what[:-1]), what[-1]]))
    names = ", ".join(f"`{name}`" for name in users)
    use = f"profile {names} uses {it}" if len(users) == 1 else f"profiles {names} use {it}"
    typed = ", then ".join(f"`{command}`" for command in commands)
    return f"{listed}: {use}; {typed} removes {it}"
