"""`setup`: reach a cluster, put the agent there, propose a profile, ask once, write it, and say what is next.

Nothing on this machine is written before the cluster answered and every check passed, and the agent
stays on the cluster only if the user agrees. Each write is whole or not at all, and all of it can be
run again: killed half-way, the next run does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from scratchflow.agent.delivery.install import Installed
from scratchflow.config.edit import apply_edits
from scratchflow.config.file import config_path
from scratchflow.config.settings import Asked, Settings, settings_in
from scratchflow.config.sites import GENERIC, site_named
from scratchflow.flows.setup.agreement import agree, checked, refusal
from scratchflow.flows.setup.asking import Asker
from scratchflow.flows.setup.connect import connected
from scratchflow.flows.setup.draft import Draft, SetupOptions, draft_for, setup_again
from scratchflow.flows.setup.own_entry import warn_of_own_entry
from scratchflow.flows.setup.profiles import Known, known_profiles, shared_in_words
from scratchflow.flows.setup.propose import GIVEN
from scratchflow.flows.setup.sites import Recognised, chosen_site, what_to_look_for
from scratchflow.flows.setup.table import proposal_lines, shown_home
from scratchflow.flows.setup.trial import agent_on_trial
from scratchflow.model.events import Checked, Emit, Log, Progress
from scratchflow.model.requests import Hold
from scratchflow.model.results.allocation import NodeHeld
from scratchflow.model.results.checks import Check
from scratchflow.model.results.setup import ClusterSetUp, Surveyed
from scratchflow.reach.login import ask_agent
from scratchflow.ssh.config import include
from scratchflow.ssh.config.alias import park_alias, read_alias
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.transport.base import Transport


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
    draft = draft_for(place, known, options, None, site)
    draft.edit()  # what the flags say is refused before anybody is bothered
    settings = draft.settings()
    ssh_plan = include.plan_install(SshPaths.of(settings.profile.ssh_config))
    with connected(
        settings,
        environment,
        emit,
        asker,
        may_ask=may_ask,
        offer_key=options.offer_key,
        again=setup_again(options),
    ) as transport:
        reached_by = transport.describe()
        with agent_on_trial(settings, transport, emit, _agent_words(options, asker)) as trial:
            seen = _survey(transport, settings, emit)
            found = chosen_site(options.site, seen, options.login)
            draft = draft_for(place, known, options, seen, found.site)
            used = _tell_site(found, draft, emit)
            if options.dry_run:
                checks = _foretold_checks(draft, transport, seen, emit)
                command = _foretold_command(draft, asked, options.request, transport, emit)
                done = _result(draft, known, reached_by, trial.installed, ssh_plan.diff, checks)
                return msgspec.structs.replace(done, command=command, dry_run=True, site=used)
            draft, checks = agree(draft, transport, seen, ssh_plan, emit, asker)
            diff = draft.edit().diff(place)
            # Before the agent is kept: where this cannot be written, nothing stays over there.
            checks += _write(draft, ssh_plan, emit)
            trial.keep()
    done = _result(draft, known, reached_by, trial.installed, ssh_plan.diff, checks)
    return msgspec.structs.replace(done, config_diff=diff, site=used)


def _tell_site(found: Recognised, draft: Draft, emit: Emit) -> str:
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
        return "runs on the cluster; removed again after this dry run"
    if asker.can_ask:
        return "runs on the cluster; removed again if you say no"
    return "installed in your home on the cluster"


def _foretold_checks(draft: Draft, transport: Transport, seen: Surveyed, emit: Emit) -> list[Check]:
    """Shows the profile as it would be asked about; raises what would stop a real run."""
    checks = checked(draft, transport, seen, emit, set())
    if bad := [check for check in checks if not check.ok]:
        raise refusal(draft, bad, seen, transport.host)
    warn_of_own_entry(draft, emit, set())
    for line in proposal_lines(draft.name, draft.values):
        emit(Log(level="info", message=line))
    return checks


def _foretold_command(
    draft: Draft, asked: Asked, request: Hold, transport: Transport, emit: Emit
) -> str:
    """What `up` would ask Slurm for, with the flags of this command."""
    settings = settings_in(draft.edit().after, draft.place, draft.name, asked)
    arguments = msgspec.to_builtins(msgspec.structs.replace(request, dry_run=True))
    answer = ask_agent(transport, settings, "hold", arguments, emit)
    return msgspec.convert(answer, NodeHeld).command


def _survey(transport: Transport, settings: Settings, emit: Emit) -> Surveyed:
    emit(Progress(phase="looking at Slurm and storage"))
    arguments = msgspec.to_builtins(what_to_look_for())
    return msgspec.convert(ask_agent(transport, settings, "survey", arguments, emit), Surveyed)


def _write(draft: Draft, ssh_plan: include.Plan, emit: Emit) -> list[Check]:
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
    draft: Draft,
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
