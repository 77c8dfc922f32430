"""A spec: a file that describes an experiment, in TOML or as mrunner's Python."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from scratchflow.experiments.sets import Parameters
from scratchflow.model.secrets import is_secret_name


class Remark(msgspec.Struct, frozen=True):
    """A key of the spec that means nothing here, or something else; and what becomes of it."""

    key: str
    fate: str


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """What a spec says; empty where it says nothing."""

    path: str
    sets: list[Parameters]
    name: str = ""
    command: list[str] = []
    """As `command_for` takes it: `{k}` is a parameter, `{{` a brace."""
    tags: list[str] = []
    variables: dict[str, str] = {}
    python_path: list[str] = []
    """Directories that go behind those of PYTHONPATH."""
    max_parallel: int | None = None
    append: bool = True
    """Whether parameters that the command does not name follow it as `--k=v`."""
    remarks: list[Remark] = []
    said: str = ""
    """What the file printed while it was evaluated."""


def without_secrets(variables: Mapping[str, str], key: str) -> tuple[dict[str, str], list[Remark]]:
    """The variables that may stand in a record, and what becomes of the others."""
    fate = "it looks like a secret, and goes into no record; set it on the cluster, in ~/.profile"
    shown = [Remark(f"{key}.{name}", fate) for name in variables if is_secret_name(name)]
    return {name: one for name, one in variables.items() if not is_secret_name(name)}, shown
