"""Which account a job is charged to: whether Slurm takes one without, and which the user has."""

from __future__ import annotations

import re

import msgspec

from scratchflow.cluster.command import CommandMissing, CommandUnanswered
from scratchflow.cluster.slurm.client import Slurm, out_of_reach

_ASK_S = 10.0
# Nothing is submitted: Slurm, and whatever the site has put before it, only says whether it would take it.
_WITHOUT_ONE = ["sbatch", "--test-only", "--time=1", "--wrap=true"]
_PREFIX = re.compile(r"^sbatch: (?:error: |fatal: )?\s*")
_ABOUT_ACCOUNTS = re.compile(r"\baccounts?\b", re.IGNORECASE)
# As the filter of the Alliance's clusters lists them: `RAS default accounts: def-a, def-b,`.
_LISTED = re.compile(r"\baccounts: *([A-Za-z0-9_.,: -]*)", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)


class Accounts(msgspec.Struct, frozen=True):
    """What Slurm says to a job without an account, empty when it takes one; and the accounts there are."""

    refusal: str = ""
    names: tuple[str, ...] = ()


def accounts(slurm: Slurm) -> Accounts:
    """Asks Slurm, and submits nothing."""
    said = _said(slurm, _WITHOUT_ONE)
    refusal, listed = read_refusal(said)
    me = ["show", "associations", f"user={slurm.user}", "format=Account"]
    known = _said(slurm, ["sacctmgr", "--noheader", "--parsable2", *me], errors=False)
    names = (line.strip() for line in known.splitlines())
    return Accounts(refusal, tuple(dict.fromkeys([*listed, *filter(_NAME.fullmatch, names)])))


def read_refusal(said: str) -> tuple[str, list[str]]:
    """Why a job without an account is refused, and the accounts that the refusal names; nothing for any other."""
    lines = [_PREFIX.sub("", line).strip() for line in said.splitlines()]
    about = [line for line in lines if _ABOUT_ACCOUNTS.search(line)]
    listed = [
        name.strip()
        for line in about
        if (found := _LISTED.search(line))
        for name in found[1].split(",")
    ]
    words = next((line for line in about if not _LISTED.search(line)), about[0] if about else "")
    return words.rstrip(":. "), [name for name in listed if _NAME.fullmatch(name)]


def _said(slurm: Slurm, argv: list[str], *, errors: bool = True) -> str:
    """What the command printed: of one that failed its errors, of one that did not its output."""
    try:
        done = slurm.run(argv, _ASK_S)
    except (CommandMissing, CommandUnanswered):
        return ""
    if errors:
        failed = done.returncode != 0 and not out_of_reach(done.error_text)
        return done.error_text if failed else ""
    return done.text if done.returncode == 0 else ""
