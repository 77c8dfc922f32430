"""The alias, from the flows' side: made to lead to the node that is held, tried, and parked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from scratchflow.config.settings import FLAG, Settings
from scratchflow.model.errors.ssh import (
    AliasIsLoginHost,
    AliasUnused,
    AliasUnverified,
    SshConfigRefused,
    SshUnusable,
)
from scratchflow.model.events import Emit, Warned
from scratchflow.model.results.allocation import NodeHeld, OtherNode
from scratchflow.model.results.status import AliasShown, Problem
from scratchflow.model.text import last_line, printable
from scratchflow.reach.login import is_set_up, shared_where_login_asks
from scratchflow.report.question import question_open
from scratchflow.ssh.config import include
from scratchflow.ssh.config.alias import (
    park_alias,
    point_alias,
    read_alias,
    read_numbered,
    remove_alias,
)
from scratchflow.ssh.config.alias_text import AliasTarget, Parked
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import resolve
from scratchflow.ssh.config.unread import why_unread
from scratchflow.ssh.keys.known_hosts import remember_node

VERIFY_S = 60.0
ALIAS_UNREAD = "alias.unread"


def places_of(settings: Settings) -> SshPaths:
    """Where the profile's ssh files are on this machine."""
    return SshPaths.of(settings.profile.ssh_config)


def has_alias(settings: Settings) -> bool:
    """Whether this machine was given the alias; a login host may do without."""
    return read_alias(places_of(settings), settings.profile.alias) is not None


def require_alias_beside_login(settings: Settings, *, dry_run: bool = False) -> None:
    """Refuses an alias that is the login host itself, before that is asked for anything.

    Our file of it would stand before the login host: one that is there is taken away.
    """
    profile = settings.profile
    if not profile.alias_is_login_host:
        return
    found = read_alias(places_of(settings), profile.alias)
    if not dry_run and found and not _is_of_another(settings, found):
        remove_alias(places_of(settings), profile.alias)
    command = f"scratchflow -p {settings.name} config set alias NAME"
    remedy = f"`{command}` chooses another name for the node"
    if settings.origins.get("alias") == FLAG:
        remedy = "`--set alias=NAME` with another name, or none at all, leaves the login host alone"
    raise AliasIsLoginHost(alias=profile.alias, profile=settings.name, remedy=remedy)


def require_alias(settings: Settings, *, dry_run: bool = False) -> None:
    """Refuses before a node is taken that nobody could get to."""
    if has_alias(settings):
        return
    if not include.is_installed(places_of(settings)):
        raise AliasUnused(alias=settings.profile.alias, login=settings.profile.login)
    if dry_run:
        return
    # Our lines in the ssh config read every alias: one that was added by hand only lacks its file.
    park_alias(places_of(settings), settings.profile.alias, settings.name)


def put_lines_back(settings: Settings) -> bool:
    """Puts our lines back to the top of the ssh config when ssh does not go by an alias of ours; whether that was needed."""
    places, alias = places_of(settings), settings.profile.alias
    if not has_alias(settings):
        return False
    if not why_unread(places, alias) and not _goes_elsewhere(places, alias):
        return False
    plan = include.plan_install(places)
    return plan.changes and include.apply(plan).changes


def _goes_elsewhere(places: SshPaths, alias: str) -> bool:
    """Whether ssh itself, which is asked unless our lines come first, has another host for the alias than our file."""
    target = read_alias(places, alias)
    if not isinstance(target, AliasTarget) or include.comes_first(places):
        return False
    try:
        return not _leads_to(places, alias, target.node)
    except SshUnusable:
        return False


def lines_are_back(settings: Settings) -> str:
    """What is told when they are."""
    return f"put scratchflow's lines back to the top of `{printable(places_of(settings).config)}`"


def point_at(
    settings: Settings, held: NodeHeld, emit: Emit, environment: Mapping[str, str]
) -> None:
    """Puts the node's keys on record and makes the alias lead there."""
    places, profile = places_of(settings), settings.profile
    for one in [OtherNode(node=held.node, host_keys=held.host_keys), *held.others]:
        if one.host_keys and remember_node(places, settings.name, one.node, one.host_keys):
            message = f"`{one.node}` has new host keys; the login host vouches for them"
            emit(Warned(code="host_key.renewed", message=message))
    target = _target(settings, held, places, environment)
    others = [msgspec.structs.replace(target, node=one.node) for one in held.others]
    point_alias(places, profile.alias, target, others)
    if not _leads_to(places, profile.alias, held.node):
        raise AliasUnused(alias=profile.alias, login=profile.login)


def _target(
    settings: Settings, held: NodeHeld, places: SshPaths, environment: Mapping[str, str]
) -> AliasTarget:
    login = settings.profile.login
    if login == "local":
        return AliasTarget(settings.name, held.node, held.user, None)
    config = places.config if places.config.exists() else None
    way = resolve(login, config=config)
    return AliasTarget(
        profile=settings.name,
        node=held.node,
        user=held.user,
        login=login,
        identity_files=tuple(way.named_identity_files),
        identities_only=way.identities_only,
        shared=shared_where_login_asks(settings, environment),
    )


def _leads_to(places: SshPaths, alias: str, node: str) -> bool:
    """Whether the user's own ssh, with all that his config says, goes there."""
    config: Path | None = places.config if places.config.exists() else None
    return resolve(alias, config=config).hostname == node.lower()


def verify(settings: Settings, node: str, emit: Emit, *, may_ask: bool) -> None:
    """A real `ssh ALIAS hostname`, as any program of the user's would run it."""
    alias = settings.profile.alias
    asks = may_ask and sys.stdin.isatty() and sys.stderr.isatty()
    # Where nobody can answer, a question would only be a wait.
    options = [] if asks else ["-o", "BatchMode=yes"]
    argv = ["ssh", *places_of(settings).ssh_options, *options, alias, "hostname"]
    try:
        with question_open(emit) if asks else nullcontext():
            done = subprocess.run(
                argv,
                stdin=None if asks else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if asks else subprocess.PIPE,
                timeout=VERIFY_S,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise AliasUnverified(alias=alias, node=node, reason="no answer in time") from None
    if done.returncode != 0:
        reason = last_line(done.stderr or b"") or f"ssh exited with {done.returncode}"
        raise AliasUnverified(alias=alias, node=node, reason=reason)
    name = done.stdout.decode("utf-8", "replace").strip()
    if name.partition(".")[0].lower() != node.partition(".")[0].lower():
        message = f"`ssh {alias}` leads to a host that calls itself `{printable(name)}`"
        emit(Warned(code="alias.hostname", message=message))


def park(settings: Settings) -> bool:
    """Parks the alias, if this machine has it, and it does not lead to the node of another profile by now."""
    found = read_alias(places_of(settings), settings.profile.alias)
    if found is None or _is_of_another(settings, found):
        return False
    park_alias(places_of(settings), settings.profile.alias, settings.name)
    return True


def _is_of_another(settings: Settings, found: AliasTarget | Parked) -> bool:
    return isinstance(found, AliasTarget) and found.profile != settings.name


def show_alias(settings: Settings) -> AliasShown | None:
    """Where the alias leads on this machine; None where there is none."""
    found = read_alias(places_of(settings), settings.profile.alias)
    if found is None and is_set_up(settings):  # the next `up` makes its file
        return AliasShown(name=settings.profile.alias, target=None, parked=True, exists=False)
    if found is None:
        return None
    target = found if isinstance(found, AliasTarget) else None
    return AliasShown(
        name=settings.profile.alias,
        target=target.node if target else None,
        parked=target is None,
        others=[one.node for one in read_numbered(places_of(settings), settings.profile.alias)],
        of_profile=target.profile if target and _is_shared(settings, target) else "",
    )


def _is_shared(settings: Settings, target: AliasTarget) -> bool:
    """Whether another profile of this machine, with the same alias, has it lead to its node."""
    return target.profile != settings.name and target.profile in settings.profiles


def alias_problem(
    settings: Settings,
    shown: AliasShown | None,
    node: str | None,
    others: Sequence[str] = (),
) -> Problem | None:
    """What does not fit between the alias and the allocation's nodes."""
    alias, login = settings.profile.alias, settings.profile.login
    if shown is None:
        if login == "local":
            return None
        fix = f"`scratchflow setup {login}{' --up' if node else ''}` makes it"
        return Problem(name="alias.missing", detail=f"there is no ssh alias `{alias}`", fix=fix)
    unread = why_unread(places_of(settings), alias) if shown.exists else ""
    if unread:
        detail = f"ssh does not go by the alias `{alias}`: {unread}"
        return Problem(name=ALIAS_UNREAD, detail=detail, fix=_reads_again(places_of(settings)))
    return _leads_elsewhere(alias, shown, node, others)


def _reads_again(places: SshPaths) -> str:
    """What makes ssh read our lines; that is up to the user in a file that we may not change."""
    try:
        include.plan_install(places)
    except SshConfigRefused as error:
        why, how = error.fields["reason"], error.shown_hint
        return f"scratchflow does not change `{printable(places.config)}`: {why}; {how}"
    return "`scratchflow status --fix` puts scratchflow's lines back to the top of the file, and so does `scratchflow up`"


def _leads_elsewhere(
    alias: str, shown: AliasShown, node: str | None, others: Sequence[str]
) -> Problem | None:
    if node and shown.target != node:
        where = "is parked" if shown.exists else "is not there yet"
        if shown.target:
            where = f"leads to `{shown.target}`"
        fix = "`scratchflow up` mends it"
        if shown.of_profile:
            where += f" of profile `{shown.of_profile}`"
            fix += "; `scratchflow config set alias NAME` gives this profile one of its own"
        detail = f"the node is `{node}`, but `{alias}` {where}"
        return Problem(name="alias.behind", detail=detail, fix=fix)
    if node and shown.others != [*others]:
        wanted = ", ".join(f"`{one}`" for one in others)
        detail = (
            f"the job's other nodes are {wanted}, but `{alias}-2` and on do not lead there"
            if wanted
            else f"the job has one node, but there is still `{alias}-2`"
        )
        return Problem(name="alias.behind", detail=detail, fix="`scratchflow up` mends it")
    if node is None and shown.target and not shown.of_profile:
        detail = f"`{alias}` leads to `{shown.target}`, which this profile does not hold any more"
        fix = "`scratchflow up` takes a node and points it there; `scratchflow status --fix` parks it until then"
        return Problem(name="alias.stale", detail=detail, fix=fix)
    return None
