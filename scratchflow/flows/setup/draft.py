"""The profile that `setup` would write, before anybody has agreed to it, and the command that was typed for it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from scratchflow.config.edit import Edit, plan_edits
from scratchflow.config.settings import Settings, settings_in
from scratchflow.config.sites import Site
from scratchflow.flows.setup.profiles import Known, name_for, own_alias, own_workspace
from scratchflow.flows.setup.propose import GIVEN, as_it_is, propose
from scratchflow.flows.setup.sites import ACCOUNT
from scratchflow.model.profile import Profile
from scratchflow.model.requests import Hold
from scratchflow.model.results.setup import SetupValue, Surveyed

# How values of a profile are said on the command line; all others are said with `--set`.
FLAGS = {
    "store": "--store PATH",
    "scratch": "--scratch PATH",
    "slurm.partition": "--partition NAME",
    "slurm.time": "--time TIME",
    ACCOUNT: "--account NAME",
}


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


class Draft(msgspec.Struct, frozen=True):
    """The profile as it would be written."""

    login: str
    name: str
    values: list[SetupValue]
    default: str
    place: Path
    # Keys of a profile that is there already are written only when somebody asked for them.
    is_new: bool

    def assignments(self) -> dict[str, str]:
        """The keys of the configuration, with their values."""
        wanted = [one for one in self.values if self.is_new or one.reason == GIVEN]
        values = {"login": self.login, **{one.key: one.value for one in wanted}}
        keys = {f"profiles.{self.name}.{key}": value for key, value in values.items() if value}
        return {**keys, "default_profile": self.default} if self.default else keys

    def edit(self) -> Edit:
        """The change to the configuration file."""
        return plan_edits(self.place, self.assignments())

    def settings(self) -> Settings:
        """The profile as it will be, so that it is tried before it is written."""
        return settings_in(self.edit().after, self.place, self.name)

    def value(self, key: str) -> SetupValue:
        """The value of this key; an empty one when there is none."""
        nothing = SetupValue(key=key, value="", reason="")
        return next((one for one in self.values if one.key == key), nothing)

    def with_value(self, key: str, value: str) -> Draft:
        """With another value, which somebody gave."""
        return self.with_one(SetupValue(key=key, value=value, reason=GIVEN))

    def with_one(self, new: SetupValue) -> Draft:
        """With another value and its reason."""
        values = [new if one.key == new.key else one for one in self.values]
        if new not in values:
            values.append(new)
        return msgspec.structs.replace(self, values=values)


def draft_for(
    place: Path, known: Known, options: SetupOptions, seen: Surveyed | None, site: Site
) -> Draft:
    """What would be written: of a profile that is there its own values, else what is proposed from what was `seen`."""
    there = known.at(options.login)
    name = options.name or (there[0] if there else "")
    name = name or name_for(options.login, seen.cluster if seen else "", known.profiles)
    is_new = name not in known.profiles
    alias, workspace = own_alias(name, known), own_workspace(name, options.login, known)
    if not is_new:
        values = as_it_is(known.profiles[name], options.values)
    elif seen:
        values = propose(seen, options.values, alias=alias, workspace=workspace, site=site)
    else:  # not looked at yet
        own = {"alias": alias, "workspace": workspace.value}
        usual = {"alias": Profile().alias, "workspace": Profile().workspace}
        differs = {key: value for key, value in own.items() if usual[key] != value}
        values = _given({**differs, **options.values})
    default = known.default_with(name, make_default=options.make_default)
    return Draft(options.login, name, values, default, place, is_new)


def _given(values: Mapping[str, str]) -> list[SetupValue]:
    return [
        SetupValue(key=key, value=value, reason=GIVEN) for key, value in values.items() if value
    ]


def with_flags(text: str, options: SetupOptions) -> str:
    """The text; where it says to set up this login host again, it does with what was given.

    A value that it asks for there replaces the one that was given. `--yes` and `--dry-run` are said anew each time.
    """
    command = rf"`scratchflow setup {re.escape(options.login)}(?! --remove)((?: [^`]*)?)`"
    return re.sub(command, lambda found: f"`{_command(options, found[1])}`", text)


def setup_again(options: SetupOptions) -> str:
    """The command that does the same again."""
    return _command(options, "")


def _command(options: SetupOptions, asked_for: str) -> str:
    given = [words for words in _typed(options) if f" {_of_what(words)}" not in asked_for]
    return " ".join([f"scratchflow setup {options.login}", *map(shlex.join, given)]) + asked_for


def _of_what(words: list[str]) -> str:
    """The flag, with the key of a `--set`."""
    return " ".join(words).partition("=")[0] if words[0] == "--set" else words[0]


def _typed(options: SetupOptions) -> list[list[str]]:
    named = {"--name": options.name, "--site": options.site}
    given = [[flag, value] for flag, value in named.items() if value]
    for key, value in options.values.items():
        flag = FLAGS.get(key, "").split()
        given.append([flag[0], value] if flag else ["--set", f"{key}={value}"])
    switches = {"--default": options.make_default, "--key": options.offer_key}
    given += [[flag] for flag, is_on in switches.items() if is_on]
    # In backticks stands the command: nobody could tell where it ends.
    return [words for words in given if "`" not in "".join(words)]
