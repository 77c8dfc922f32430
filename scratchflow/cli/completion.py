"""What Tab offers for a value: profiles, snapshots, jobs, nodes, partitions, sites, keys. Never over the network.

Which values a parameter takes follows from its name in `--help`: what is called SNAPSHOT there is one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from scratchflow.model.errors.base import ScratchflowError

Values = Callable[[Any, str], Iterable[str]]
"""What may be typed, given the line so far and the beginning of the word."""


def offer_values(parameters: Iterable[Any]) -> None:
    """Gives every parameter that we know values for its own completion."""
    for parameter in parameters:
        values = _BY_NAME.get(parameter.name) or _BY_METAVAR.get(_metavar(parameter))
        if values is not None:
            parameter._custom_shell_complete = _matching(values)  # noqa: SLF001 - typer's own way in is for literal signatures


# zsh loads the file at the first Tab, as a function of the file's name.
_AT_FIRST_TAB = """
if [[ $funcstack[1] == _%(prog_name)s ]]; then
  %(complete_func)s "$@"
fi
"""


def complete_at_first_tab() -> None:
    """typer's script for zsh only defines its function when it is loaded: the first Tab would do nothing."""
    from typer import _completion_shared as shared

    scripts: dict[str, str] = shared._completion_scripts  # noqa: SLF001 - there is no other way to them
    if not scripts["zsh"].endswith(_AT_FIRST_TAB):
        scripts["zsh"] += _AT_FIRST_TAB


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or "").strip("[].")


def _matching(values: Values) -> Callable[[Any, Any, str], list[str]]:
    def complete(context: Any, _: Any, incomplete: str) -> list[str]:
        try:
            offered = values(context, incomplete)
            return [value for value in offered if value.startswith(incomplete)]
        except ScratchflowError:  # a broken file: the command itself will say so
            return []

    return complete


def _typed(context: Any, option: str) -> str | None:
    """What the line says so far, nearest the end first."""
    while context is not None:
        if context.params.get(option):
            return str(context.params[option])
        context = context.parent
    return None


def _asked(context: Any) -> Any:
    from scratchflow.config.settings import Asked

    return Asked(config=_typed(context, "config"), profile=_typed(context, "profile"))


def _profiles(context: Any, _: str) -> Iterable[str]:
    from scratchflow.config.settings import LOCAL, Asked, file_profiles

    asked = Asked(config=_typed(context, "config"))
    return dict.fromkeys([*file_profiles(asked, os.environ), LOCAL])


def _keys(_: Any, __: str) -> Iterable[str]:
    from scratchflow.config.keys import profile_keys, sync_keys

    return [*profile_keys(), *sync_keys(), "default_profile"]


def _overrides(_: Any, __: str) -> Iterable[str]:
    from scratchflow.config.keys import profile_keys

    return [f"{key}=" for key in profile_keys()]


def _remembered(context: Any) -> Any:
    from scratchflow.config.remembered import Remembered, recall
    from scratchflow.config.settings import load_settings

    try:
        return recall(load_settings(_asked(context), os.environ).name)
    except ScratchflowError:  # no profile is chosen yet, for example
        return Remembered()


def _snapshots(context: Any, incomplete: str) -> Iterable[str]:
    """By the short names that every table shows; by whole ones for whoever has begun one."""
    from scratchflow.model.ages import short_ids

    newest_first = [*reversed(_remembered(context).snapshots)]
    short = ["latest", *short_ids(newest_first).values()]
    is_short = any(name.startswith(incomplete) for name in short)
    return short if is_short else newest_first


def _nodes(context: Any, _: str) -> Iterable[str]:
    names: Iterable[str] = _remembered(context).nodes
    return names


def _partitions(context: Any, _: str) -> Iterable[str]:
    names: Iterable[str] = _remembered(context).partitions
    return names


def _jobs(context: Any, _: str) -> Iterable[str]:
    return ["last", *reversed(_remembered(context).jobs)]


def _sites(_: Any, __: str) -> Iterable[str]:
    from scratchflow.config.sites import known_sites

    return known_sites()


_BY_NAME: dict[str, Values] = {
    "profile": _profiles,
    "partition": _partitions,
    "site": _sites,
}
_BY_METAVAR: dict[str, Values] = {
    "PROFILE": _profiles,
    "SNAPSHOT": _snapshots,
    "NODE": _nodes,
    "JOB": _jobs,
    "KEY": _keys,
    "KEY=VALUE": _overrides,
}
