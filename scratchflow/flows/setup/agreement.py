"""How a draft becomes a profile that passes every check and that the user wants: checked, corrected, asked about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from scratchflow.config.sites import GENERIC, site_named
from scratchflow.flows.setup.asking import Asker
from scratchflow.flows.setup.draft import FLAGS, Draft
from scratchflow.flows.setup.own_entry import warn_of_own_entry
from scratchflow.flows.setup.propose import GIVEN, LABELS, propose, time_for
from scratchflow.flows.setup.sites import ACCOUNT, account_checks
from scratchflow.flows.setup.table import proposal_lines, shown_home, wrapped
from scratchflow.model.errors.base import Declined
from scratchflow.model.errors.config import ConfigBadValue, SetupCancelled, SetupIncomplete
from scratchflow.model.errors.slurm import SlurmMissing, SlurmUnreachable
from scratchflow.model.events import Checked, Emit, Event, Log, Progress
from scratchflow.model.requests import Look
from scratchflow.model.results.checks import Check, ChecksDone
from scratchflow.model.results.setup import SetupValue, Surveyed
from scratchflow.model.text import closest, printable
from scratchflow.model.time_limit import time_limit_s
from scratchflow.model.units import format_duration
from scratchflow.reach.login import ask_agent
from scratchflow.ssh.config import include
from scratchflow.ssh.transport.base import Transport

# Checks that a newcomer wants to see when they pass; the others are shown when they fail.
_SHOWN_WHEN_OK = {"slurm", "store", "scratch"}
_SET_LATER = re.compile(r"`scratchflow config set (?:slurm\.)?(\w+) ([^`]+)`")
_ANSWERS = "[Y]es, [c]hange a value, show the [d]iff, [n]o"


def agree(
    draft: Draft,
    transport: Transport,
    seen: Surveyed,
    ssh_plan: include.Plan,
    emit: Emit,
    asker: Asker,
) -> tuple[Draft, list[Check]]:
    """The draft that passes every check and that the user wants; asks as often as it takes."""
    shown: set[Check] = set()
    warned: set[str] = set()
    while True:
        checks = checked(draft, transport, seen, emit, shown, asks=asker.can_ask)
        bad = [check for check in checks if not check.ok]
        if bad:
            draft = _corrected(draft, bad, seen, transport.host, asker)
            continue
        warn_of_own_entry(draft, emit, warned)
        if not _changes(draft, ssh_plan) or asker.agrees:
            for line in proposal_lines(draft.name, draft.values) if draft.is_new else ():
                emit(Log(level="info", message=line))
            return draft, checks
        if not asker.can_ask:
            by_hand = f"`[profiles.{draft.name}]` in {shown_home(draft.place)}"
            raise Declined(what=f"the profile `{draft.name}`", by_hand=by_hand)
        changed = _asked(draft, seen, ssh_plan, asker)
        if changed is None:
            return draft, checks
        draft = changed


def checked(
    draft: Draft,
    transport: Transport,
    seen: Surveyed,
    emit: Emit,
    shown: set[Check],
    *,
    asks: bool = False,
) -> list[Check]:
    """The cluster's own view of the draft, each told as soon as it is there, and once.

    `asks`: a question for the value follows what failed, so no flag is named.
    """

    def passed_on(event: Event) -> None:
        if not isinstance(event, Checked):
            emit(event)
            return
        tell(Check(name=event.name, ok=event.ok, detail=event.detail, fix=event.fix))

    def tell(check: Check) -> None:
        if check not in shown and (check.name in _SHOWN_WHEN_OK or not check.ok):
            # There is no profile yet in which `config set` could set anything.
            is_asked = asks and not seen.slurm_problem and bool(_key_of(check))
            fix = "" if check.ok or is_asked else _SET_LATER.sub(r"`--\1 \2`", check.fix)
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
    draft: Draft, bad: Sequence[Check], seen: Surveyed, host: str, asker: Asker
) -> Draft:
    """The draft with another value for what failed; raises when nobody can give one."""
    keys = [key for check in bad if (key := _key_of(check))]
    if seen.slurm_problem or not asker.can_ask or not keys:
        raise refusal(draft, bad, seen, host)
    return _ask_value(draft, keys[0], _another(keys[0], draft, seen), seen, asker)


def refusal(
    draft: Draft, bad: Sequence[Check], seen: Surveyed, host: str
) -> SlurmUnreachable | SetupIncomplete:
    """Why it cannot go on, with the flags that would help."""
    if seen.slurm_problem:
        error = SlurmUnreachable if seen.has_slurm else SlurmMissing
        return error(host=host, reason=seen.slurm_problem)
    flags = [FLAGS[key] for check in bad if (key := _key_of(check))]
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


def _another(key: str, draft: Draft, seen: Surveyed) -> str:
    """What would have been proposed, had nobody asked for something else; the time for the partition that is chosen."""
    if key == "slurm.time":
        return time_for(draft.value("slurm.partition").value, seen.partitions).value
    none = SetupValue(key="workspace", value="", reason="")
    proposed = propose(seen, {}, alias="", workspace=none, site=site_named(GENERIC))
    return next((one.value for one in proposed if one.key == key), "")


def _ask_value(draft: Draft, key: str, default: str, seen: Surveyed, asker: Asker) -> Draft:
    """One value, asked for until it is one that a profile may hold.

    A partition that takes no jobs, and a time that it does not allow, is refused once: who types it again may know better.
    """
    refused = default
    while True:
        answer = asker.text(LABELS.get(key, key), default)
        is_new = key == "slurm.partition" and answer not in {default, refused}
        if is_new and (unknown := _unknown_partition(answer, seen)):
            asker.tell([f"✗ {LABELS.get(key, key)}: {unknown}"])
            refused = answer
            continue
        changed = draft.with_value(key, answer) if answer else draft
        try:
            changed.edit()
        except ConfigBadValue as error:
            asker.tell([f"✗ {LABELS.get(key, key)}: {error.fields['problem']}"])
            continue
        is_new = key == "slurm.time" and answer not in {default, refused}
        if is_new and (too_long := _too_long(changed, seen)):
            asker.tell([f"✗ {LABELS.get(key, key)}: {too_long}"])
            refused = answer
            continue
        return changed


def _too_long(draft: Draft, seen: Surveyed) -> str:
    """What is wrong with the time; empty when its partition allows it, or nobody knows what that allows."""
    slurm = draft.settings().profile.slurm
    limit_s = next((one.max_time_s for one in seen.partitions if one.name == slurm.partition), None)
    asked_s = time_limit_s(slurm.time)
    if limit_s is None or asked_s is None or asked_s <= limit_s:
        return ""
    return f"`{printable(slurm.partition)}` allows {format_duration(limit_s)} at most"


def _unknown_partition(answer: str, seen: Surveyed) -> str:
    """What is wrong with the name; empty when it takes jobs, or when nobody knows which do."""
    known = [one.name for one in seen.partitions]
    missing = [name for name in answer.split(",") if name and name not in known]
    if not known or not missing:
        return ""
    guess = closest(missing[0], known)
    which = f"did you mean `{guess}`?" if guess else f"there are {', '.join(known[:12])}"
    return f"no partition `{printable(missing[0])}` takes jobs; {which}"


def _changes(draft: Draft, ssh_plan: include.Plan) -> bool:
    edit = draft.edit()
    return edit.after != edit.before or ssh_plan.changes


def _asked(draft: Draft, seen: Surveyed, ssh_plan: include.Plan, asker: Asker) -> Draft | None:
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


def _ask_each(draft: Draft, seen: Surveyed, asker: Asker) -> Draft:
    """Every value in turn; one that is kept keeps its reason. The time follows another partition."""
    asker.tell(["Enter keeps a value; Ctrl-C ends it, and nothing is saved."])
    for key in [one.key for one in draft.values]:
        before = draft.value(key)
        changed = _ask_value(draft, key, before.value, seen, asker)
        if changed.value(key).value == before.value:
            continue
        draft = changed
        if key == "slurm.partition" and draft.is_new and draft.value("slurm.time").reason != GIVEN:
            draft = draft.with_one(time_for(changed.value(key).value, seen.partitions))
    return draft


def _files(draft: Draft, ssh_plan: include.Plan) -> Iterator[str]:
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
