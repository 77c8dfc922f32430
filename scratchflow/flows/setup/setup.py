"""`setup`: reach a cluster, put the agent there, propose a profile, ask once, write it, and say what is next.

Nothing on this machine is written before the cluster answered and every check passed, and the agent
stays on the cluster only if the user agrees. Each write is whole or not at all, and all of it can be
run again: killed half-way, the next run does the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from scratchflow.agent.delivery.install import Installed
from scratchflow.config.edit import Edit, apply_edits, plan_edits
from scratchflow.config.file import config_path
from scratchflow.config.settings import Asked, Settings, settings_in
from scratchflow.config.sites import GENERIC, Site, site_named
from scratchflow.flows.setup.asking import Asker
from scratchflow.flows.setup.connect import connected
from scratchflow.flows.setup.profiles import (
    Known,
    known_profiles,
    name_for,
    own_alias,
    own_workspace,
    shared_in_words,
)
from scratchflow.flows.setup.propose import GIVEN, LABELS, as_it_is, propose, time_for
from scratchflow.flows.setup.sites import (
    ACCOUNT,
    Recognised,
    account_checks,
    chosen_site,
    what_to_look_for,
)
from scratchflow.flows.setup.table import proposal_lines, shown_home, wrapped
from scratchflow.flows.setup.trial import agent_on_trial
from scratchflow.model.errors import (
    ConfigBadValue,
    Declined,
    SetupCancelled,
    SetupIncomplete,
    SlurmMissing,
    SlurmUnreachable,
)
from scratchflow.model.events import Checked, Emit, Event, Log, Progress
from scratchflow.model.profile import Profile
from scratchflow.model.requests import Hold, Look
from scratchflow.model.results import (
    Check,
    ChecksDone,
    ClusterSetUp,
    NodeHeld,
    SetupValue,
    Surveyed,
)
from scratchflow.reach.login import ask_agent
from scratchflow.ssh.config import include
from scratchflow.ssh.config.alias import park_alias, read_alias
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.transport.base import Transport

# Checks that a newcomer wants to see when they pass; the others are shown when they fail.
_SHOWN_WHEN_OK = {"slurm", "store", "scratch"}
# How the same is said on the command line.
_FLAGS = {
    "store": "--store PATH",
    "scratch": "--scratch PATH",
    "slurm.partition": "--partition NAME",
    "slurm.time": "--time TIME",
    ACCOUNT: "--account NAME",
}
_SET_LATER = re.compile(r"`scratchflow config set (?:slurm\.)?(\w+) ([^`]+)`")
_ANSWERS = "[Y]es, [c]hange a value, show the [d]iff, [n]o"


class SetupOptions(msgspec.Struct, frozen=True):
    """Which cluster, under which name (empty: a fitting one), and what is known about it already."""

    login: str
    name: str = ""
    values: Mapping[str, str] = {}
    # Whose facts to propose from; empty: those of the site that is recognised.
    site: str = ""
    make_default: bool = False
    offer_key: bool = False
    dry_run: bool = False
    # What a dry run asks about the node that `up` would take.
    request: Hold = Hold()


class _Draft(msgspec.Struct, frozen=True):
    """The profile as it would be written."""

    login: str
    name: str
    values: list[SetupValue]
    default: str
    place: Path
    # Keys of a profile that is there already are written only when somebody asked for them.
    is_new: bool

    def assignments(self) -> dict[str, str]:
        wanted = [one for one in self.values if self.is_new or one.reason == GIVEN]
        values = {"login": self.login, **{one.key: one.value for one in wanted}}
        keys = {f"profiles.{self.name}.{key}": value for key, value in values.items() if value}
        return {**keys, "default_profile": self.default} if self.default else keys

    def edit(self) -> Edit:
        return plan_edits(self.place, self.assignments())

    def settings(self) -> Settings:
        """The profile as it will be, so that it is tried before it is written."""
        return settings_in(self.edit().after, self.place, self.name)

    def value(self, key: str) -> SetupValue:
        nothing = SetupValue(key=key, value="", reason="")
        return next((one for one in self.values if one.key == key), nothing)

    def with_value(self, key: str, value: str) -> _Draft:
        return self.with_one(SetupValue(key=key, value=value, reason=GIVEN))

    def with_one(self, new: SetupValue) -> _Draft:
        values = [new if one.key == new.key else one for one in self.values]
        if new not in values:
            values.append(new)
        return msgspec.structs.replace(self, values=values)


def set_up(
    asked: Asked,
    environment: Mapping[str, str],
    emit: Emit,
    options: SetupOptions,
    asker: Asker,
    *,
    may_ask: bool,
) -> ClusterSetUp:
    """Makes a cluster usable from this machine."""
    place, _ = config_path(asked.config, environment)
    known = known_profiles(place)
    site = site_named(options.site or GENERIC)
    draft = _draft(place, known, options, None, site)
    draft.edit()  # what the flags say is refused before anybody is bothered
    settings = draft.settings()
    ssh_plan = include.plan_install(SshPaths.of(settings.profile.ssh_config))
    with connected(
        settings, environment, emit, asker, may_ask=may_ask, offer_key=options.offer_key
    ) as transport:
        reached_by = transport.describe()
        with agent_on_trial(settings, transport, emit, _agent_words(options, asker)) as trial:
            seen = _survey(transport, settings, emit)
            found = chosen_site(options.site, seen, options.login)
            draft = _draft(place, known, options, seen, found.site)
            used = _tell_site(found, draft, emit)
            if options.dry_run:
                checks = _foretold_checks(draft, transport, seen, emit)
                command = _foretold_command(draft, asked, options.request, transport, emit)
                done = _result(draft, known, reached_by, trial.installed, ssh_plan.diff, checks)
                return msgspec.structs.replace(done, command=command, dry_run=True, site=used)
            draft, checks = _agree(draft, transport, seen, ssh_plan, emit, asker)
            diff = draft.edit().diff(place)
            # Before the agent is kept: where this cannot be written, nothing stays over there.
            checks += _write(draft, ssh_plan, emit)
            trial.keep()
    done = _result(draft, known, reached_by, trial.installed, ssh_plan.diff, checks)
    return msgspec.structs.replace(done, config_diff=diff, site=used)


def _tell_site(found: Recognised, draft: _Draft, emit: Emit) -> str:
    """Says whose facts are used, and what people should know there; the name of the site, if it has any."""
    site = found.site
    if site.name == GENERIC:
        return ""
    if not draft.is_new:
        if found.because == GIVEN:
            message = f"profile `{draft.name}` is there already: its values stay as they are"
            emit(Log(level="info", message=message))
        return ""
    emit(Checked(name="site", ok=True, detail=f"{site.title}, {found.because}"))
    for remark in site.remarks:
        emit(Log(level="info", message=f"{site.name}: {remark.text}"))
    return site.name


def _agent_words(options: SetupOptions, asker: Asker) -> str:
    if options.dry_run:
        return "runs on the cluster; it goes again after this dry run"
    if asker.can_ask:
        return "runs on the cluster; it goes again if you say no"
    return "installed in your home on the cluster"


def _foretold_checks(
    draft: _Draft, transport: Transport, seen: Surveyed, emit: Emit
) -> list[Check]:
    """Shows the profile as it would be asked about; raises what would stop a real run."""
    checks = _checked(draft, transport, seen, emit, set())
    if bad := [check for check in checks if not check.ok]:
        raise _refusal(draft, bad, seen, transport.host)
    for line in proposal_lines(draft.name, draft.values):
        emit(Log(level="info", message=line))
    return checks


def _foretold_command(
    draft: _Draft, asked: Asked, request: Hold, transport: Transport, emit: Emit
) -> str:
    """What `up` would ask Slurm for, with the flags of this command."""
    settings = settings_in(draft.edit().after, draft.place, draft.name, asked)
    arguments = msgspec.to_builtins(msgspec.structs.replace(request, dry_run=True))
    answer = ask_agent(transport, settings, "hold", arguments, emit)
    return msgspec.convert(answer, NodeHeld).command


def _draft(
    place: Path, known: Known, options: SetupOptions, seen: Surveyed | None, site: Site
) -> _Draft:
    there = known.at(options.login)
    name = options.name or (there[0] if there else "")
    name = name or name_for(options.login, seen.cluster if seen else "", known.profiles)
    is_new = name not in known.profiles
    own = {"alias": own_alias(name, known), "workspace": own_workspace(name, known)}
    if not is_new:
        values = as_it_is(known.profiles[name], options.values)
    elif seen:
        values = propose(seen, options.values, **own, site=site)
    else:  # not looked at yet
        usual = {"alias": Profile().alias, "workspace": Profile().workspace}
        differs = {key: value for key, value in own.items() if usual[key] != value}
        values = _given({**differs, **options.values})
    default = known.default_with(name, make_default=options.make_default)
    return _Draft(options.login, name, values, default, place, is_new)


def _given(values: Mapping[str, str]) -> list[SetupValue]:
    return [
        SetupValue(key=key, value=value, reason=GIVEN) for key, value in values.items() if value
    ]


def _survey(transport: Transport, settings: Settings, emit: Emit) -> Surveyed:
    emit(Progress(phase="looking at Slurm and storage"))
    arguments = msgspec.to_builtins(what_to_look_for())
    return msgspec.convert(ask_agent(transport, settings, "survey", arguments, emit), Surveyed)


def _agree(
    draft: _Draft,
    transport: Transport,
    seen: Surveyed,
    ssh_plan: include.Plan,
    emit: Emit,
    asker: Asker,
) -> tuple[_Draft, list[Check]]:
    """The draft that passes every check and that the user wants; asks as often as it takes."""
    shown: set[Check] = set()
    while True:
        checks = _checked(draft, transport, seen, emit, shown)
        bad = [check for check in checks if not check.ok]
        if bad:
            draft = _corrected(draft, bad, seen, transport.host, asker)
            continue
        if not _changes(draft, ssh_plan) or asker.agrees:
            for line in proposal_lines(draft.name, draft.values) if draft.is_new else ():
                emit(Log(level="info", message=line))
            return draft, checks
        if not asker.can_ask:
            raise Declined(what=f"the profile `{draft.name}`", by_hand="scratchflow config set")
        changed = _asked(draft, seen, ssh_plan, asker)
        if changed is None:
            return draft, checks
        draft = changed


def _checked(
    draft: _Draft, transport: Transport, seen: Surveyed, emit: Emit, shown: set[Check]
) -> list[Check]:
    """The cluster's own view of the draft, each told as soon as it is there, and once."""

    def passed_on(event: Event) -> None:
        if not isinstance(event, Checked):
            emit(event)
            return
        tell(Check(name=event.name, ok=event.ok, detail=event.detail, fix=event.fix))

    def tell(check: Check) -> None:
        if check not in shown and (check.name in _SHOWN_WHEN_OK or not check.ok):
            # There is no profile yet in which `config set` could set anything.
            fix = "" if check.ok else _SET_LATER.sub(r"`--\1 \2`", check.fix)
            emit(Checked(name=check.name, ok=check.ok, detail=check.detail, fix=fix))
        shown.add(check)

    emit(Progress(phase="checking Slurm and the store"))
    arguments = msgspec.to_builtins(Look(tells=True))
    answer = ask_agent(transport, draft.settings(), "check", arguments, passed_on)
    account = draft.settings().profile.slurm.account
    of_account = account_checks(seen, account) if draft.is_new else []
    for check in of_account:
        tell(check)
    return [*msgspec.convert(answer, ChecksDone).checks, *of_account]


def _corrected(
    draft: _Draft, bad: Sequence[Check], seen: Surveyed, host: str, asker: Asker
) -> _Draft:
    """The draft with another value for what failed; raises when nobody can give one."""
    keys = [key for check in bad if (key := _key_of(check))]
    if seen.slurm_problem or not asker.can_ask or not keys:
        raise _refusal(draft, bad, seen, host)
    return _ask_value(draft, keys[0], _another(keys[0], seen), asker)


def _refusal(
    draft: _Draft, bad: Sequence[Check], seen: Surveyed, host: str
) -> SlurmUnreachable | SetupIncomplete:
    """Why it cannot go on, with the flags that would help."""
    if seen.slurm_problem:
        error = SlurmUnreachable if seen.has_slurm else SlurmMissing
        return error(host=host, reason=seen.slurm_problem)
    flags = [_FLAGS[key] for check in bad if (key := _key_of(check))]
    again = " ".join(["scratchflow setup", draft.login, *flags])
    return SetupIncomplete(
        login=draft.login,
        failed=", ".join(check.name for check in bad),
        remedy=f"correct that, then run it again: `{again}`",
    )


def _key_of(check: Check) -> str:
    """The value that a failed check is about; empty when no value would help."""
    if check.name == "slurm":
        return "slurm.time" if "config set slurm.time" in check.fix else "slurm.partition"
    if check.name == "account":
        return ACCOUNT
    return check.name if check.name in {"store", "scratch"} else ""


def _another(key: str, seen: Surveyed) -> str:
    """What would have been proposed, had nobody asked for something else."""
    proposed = propose(seen, {}, alias="", workspace="", site=site_named(GENERIC))
    return next((one.value for one in proposed if one.key == key), "")


def _ask_value(draft: _Draft, key: str, default: str, asker: Asker) -> _Draft:
    """One value, asked for until it is one that a profile may hold."""
    while True:
        answer = asker.text(LABELS.get(key, key), default)
        changed = draft.with_value(key, answer) if answer else draft
        try:
            changed.edit()
        except ConfigBadValue as error:
            asker.tell([f"✗ {LABELS.get(key, key)}: {error.fields['problem']}"])
            continue
        return changed


def _changes(draft: _Draft, ssh_plan: include.Plan) -> bool:
    edit = draft.edit()
    return edit.after != edit.before or ssh_plan.changes


def _asked(draft: _Draft, seen: Surveyed, ssh_plan: include.Plan, asker: Asker) -> _Draft | None:
    """None when the draft is agreed to; a changed draft to check again; raises on a no."""
    asker.tell(["", *proposal_lines(draft.name, draft.values), "", *_files(draft, ssh_plan)])
    while True:
        answer = asker.letter(f"Save this? {_ANSWERS}", "ycdn")
        if answer == "y":
            return None
        if answer == "n":
            raise SetupCancelled(login=draft.login)
        if answer == "c":
            return _ask_each(draft, seen, asker)
        asker.tell([draft.edit().diff(draft.place), ssh_plan.diff, ""])


def _ask_each(draft: _Draft, seen: Surveyed, asker: Asker) -> _Draft:
    """Every value in turn; one that is kept keeps its reason. The time follows another partition."""
    asker.tell(["Enter keeps a value."])
    for key in [one.key for one in draft.values]:
        before = draft.value(key)
        changed = _ask_value(draft, key, before.value, asker)
        if changed.value(key).value == before.value:
            continue
        draft = changed
        if key == "slurm.partition" and draft.is_new and draft.value("slurm.time").reason != GIVEN:
            draft = draft.with_one(time_for(changed.value(key).value, seen.partitions))
    return draft


def _files(draft: _Draft, ssh_plan: include.Plan) -> Iterator[str]:
    """What will be written where."""
    edit = draft.edit()
    text = f"It goes into {shown_home(draft.place)}." if edit.after != edit.before else ""
    if ssh_plan.changes:
        config = shown_home(ssh_plan.places.config)
        text += (
            f" {config} gets three lines at its top, for the alias;"
            " `scratchflow setup --remove` takes them out."
        )
    yield from wrapped(text.strip())


def _write(draft: _Draft, ssh_plan: include.Plan, emit: Emit) -> list[Check]:
    """The profile, the ssh config, the alias. An alias that leads somewhere is left alone."""
    alias = draft.settings().profile.alias
    apply_edits(draft.place, draft.assignments())
    saved = f"`{draft.name}` in {shown_home(draft.place)}"
    checks = [_emitted(Check(name="profile", ok=True, detail=saved), emit)]
    if ssh_plan.changes:
        include.apply(ssh_plan)
    if read_alias(ssh_plan.places, alias) is None:
        park_alias(ssh_plan.places, alias, draft.name)
    leads = f"`ssh {alias}` leads to your node, once you have one"
    return [*checks, _emitted(Check(name="alias", ok=True, detail=leads), emit)]


def _emitted(check: Check, emit: Emit) -> Check:
    emit(Checked(name=check.name, ok=check.ok, detail=check.detail))
    return check


def _result(
    draft: _Draft,
    known: Known,
    reached_by: str,
    installed: Installed,
    ssh_diff: str,
    checks: list[Check],
) -> ClusterSetUp:
    return ClusterSetUp(
        profile=draft.name,
        login=draft.login,
        reached_by=reached_by,
        agent=installed.path,
        python=installed.python,
        config_diff=draft.edit().diff(draft.place),
        ssh_config_diff=ssh_diff,
        checks=checks,
        values=draft.values,
        shared=shared_in_words(draft.name, draft.settings().profile, known),
        is_default=draft.default == draft.name or not (draft.default or known.others(draft.name)),
        default_profile=draft.default,
    )
