"""The options of every verb that may ask Slurm for a node: which one, how large, how long to wait."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from scratchflow.cli.node_wanted import NodeRequest
from scratchflow.cli.options import VerbCommand, asked
from scratchflow.config.settings import load_settings
from scratchflow.model.errors.base import ScratchflowError, UsageInvalid
from scratchflow.model.text import printable
from scratchflow.model.time_limit import FORMS, as_slurm_takes_it, time_limit_s
from scratchflow.model.units import Duration, parse_size


def _resources(
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="TIME", help="How long: `8h`; `8` is 8 min."),
    ] = None,
    gpus: Annotated[
        str | None, typer.Option("--gpus", metavar="N", help="How many GPUs, or TYPE:N.")
    ] = None,
    cpus: Annotated[
        str | None, typer.Option("--cpus", metavar="N", help="How many CPU cores.")
    ] = None,
    mem: Annotated[str | None, typer.Option("--mem", metavar="SIZE", help="Memory: `32G`.")] = None,
    partition: Annotated[
        str | None, typer.Option("--partition", metavar="NAME", help="Slurm's partition.")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", metavar="NAME", help="The account to charge.")
    ] = None,
    qos: Annotated[str | None, typer.Option("--qos", metavar="NAME", help="Slurm's QOS.")] = None,
    constraint: Annotated[
        str | None,
        typer.Option("--constraint", metavar="NAME", help="What the node must have."),
    ] = None,
) -> None:
    """Only its signature counts: it is what typer makes the options from."""


def _node(
    node: Annotated[
        str,
        typer.Option("--node", metavar="NODE", help="This node; a bare number is completed."),
    ] = "",
    last: Annotated[bool, typer.Option("--last", help="Ask as last time.")] = False,
    no_warm: Annotated[bool, typer.Option("--no-warm", help="Do not prefer a warm node.")] = False,
    wait: Annotated[
        str,
        typer.Option("--wait", metavar="TIME", help="How long to wait in the queue, like `10m`."),
    ] = "",
    keep_waiting: Annotated[
        bool,
        typer.Option(
            "--keep-waiting",
            help="Wait without limit; after --wait, stay queued.",
        ),
    ] = False,
) -> None:
    """Only its signature counts, too."""


# What `setup` takes as flags of its own: a profile that `up` writes first gets them, too.
_OF_PROFILE = ("partition", "time")
# Each resource flag, and the key of the profile that it sets for this once.
KEYS = {
    "time": "slurm.time",
    "gpus": "slurm.gpus",
    "cpus": "slurm.cpus_per_task",
    "mem": "slurm.mem",
    "partition": "slurm.partition",
    "account": "slurm.account",
    "qos": "slurm.qos",
    "constraint": "slurm.constraint",
}


_GRES = "slurm.gres"
_NUMBERS = frozenset({"gpus", "cpus_per_task"})
_GPU_TYPE = re.compile(r"[\w.+-]*[A-Za-z_][\w.+-]*", re.ASCII)

# Those that share a line of `--help`.
_TOGETHER = (
    ("time", "mem"),
    ("gpus", "cpus"),
    ("partition", "account"),
    ("qos", "constraint"),
    ("last", "no_warm"),
)


# Of `submit`.
_OWN_TOGETHER = (
    ("name", "tag"),
    ("cwd", "collect"),
    ("grid", "zip"),
    ("param", "spec"),
    ("continue", "signal"),
    ("nodes", "max-parallel"),
)


class _WithOptions(VerbCommand):
    """A verb that gets options from signatures elsewhere, and keeps what was given for `_given`."""

    signatures: tuple[Callable[..., None], ...] = ()

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        options = [option for signature in self.signatures for option in _options_of(signature)]
        self._names = [str(option.name) for option in options]
        self.params = [*self.params, *options]

    def invoke(self, ctx: Any) -> Any:
        given = {name: ctx.params.pop(name) for name in self._names}
        ctx.find_root().ensure_object(dict)[_GIVEN] = given
        return super().invoke(ctx)


_GIVEN = "given options"


def _options_of(signature: Callable[..., None]) -> list[Any]:
    carrier = typer.Typer(add_completion=False)
    carrier.command()(signature)
    return list(typer.main.get_command(carrier).params)


def _given(context: typer.Context) -> dict[str, Any]:
    given: dict[str, Any] = context.find_root().ensure_object(dict)[_GIVEN]
    return given


class ResourceCommand(_WithOptions):
    """A verb with flags for resources; those that go together share a line of `--help`."""

    signatures = (_resources,)

    def option_groups(self, rows: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
        from scratchflow.cli.help import in_one

        by_flag = {row[0].partition(" ")[0].removeprefix("--"): row for row in rows}
        together = (*_OWN_TOGETHER, *_TOGETHER)
        pairs = [pair for pair in together if set(pair) <= by_flag.keys()]
        resources = [in_one([by_flag.pop(flag) for flag in pair]) for pair in pairs]
        return {"Options": [*by_flag.values(), *resources]}


class NodeCommand(_WithOptions):
    """A verb with these options. They are its own, so they can be typed after the verb only."""

    signatures = (_resources, _node)

    def option_groups(self, rows: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
        from scratchflow.cli.help import in_one

        ours = rows[-len(self._names) :]
        by_name = dict(zip(self._names, ours, strict=True))
        pairs = [in_one([by_name.pop(name) for name in pair]) for pair in _TOGETHER]
        return {"Options": rows[: -len(ours)], "The node": [*pairs, *by_name.values()]}


def node_request(context: typer.Context) -> NodeRequest:
    """What was asked for, every value checked. From here on `asked` has the resources in it."""
    kept: dict[str, Any] = context.find_root().ensure_object(dict)
    given = _given(context)
    if given["last"]:
        kept["slurm"] = _last(context)
    values = resource_flags(context)
    as_typed = {key_of(flag, values[flag]): f"--{flag} {printable(given[flag])}" for flag in values}
    return NodeRequest(
        node=given["node"],
        warm=not given["no_warm"],
        wait_s=_seconds(given["wait"], context),
        keep_waiting=given["keep_waiting"],
        flags=tuple(as_typed.values()),
        typed={**_set_by_hand(kept.get("overrides", ())), **as_typed},
        of_profile={KEYS[flag]: values[flag] for flag in _OF_PROFILE if flag in values},
    )


def resource_flags(context: typer.Context) -> dict[str, str]:
    """The resource flags that were given, checked. From here on `asked` has them in it."""
    given = _given(context)
    values = {
        flag: _checked(flag, given[flag], context) for flag in KEYS if given[flag] is not None
    }
    kept: dict[str, Any] = context.find_root().ensure_object(dict)
    kept["flags"] = [text for flag, value in values.items() for text in _as_set(flag, value)]
    return values


def key_of(flag: str, value: str) -> str:
    """The key of the profile that the flag sets: GPUs of a type are a `gres`."""
    return _GRES if flag == "gpus" and ":" in value else KEYS[flag]


def slurm_table(values: Mapping[str, str]) -> dict[str, Any]:
    """The flags as keys and values of the profile's `[slurm]` table."""
    texts = [text for flag, value in values.items() for text in _as_set(flag, value)]
    pairs = (text.removeprefix("slurm.").partition("=") for text in texts)
    return {key: int(value) if key in _NUMBERS else value for key, _, value in pairs}


def _as_set(flag: str, value: str) -> list[str]:
    """The same as `--set` takes it. Of a type or of any, GPUs are asked for in one way only."""
    if key_of(flag, value) == _GRES:
        return [f"{_GRES}=gpu:{value}", f"{KEYS['gpus']}=0"]
    return [f"{KEYS[flag]}={value}"]


def _set_by_hand(overrides: Iterable[str]) -> dict[str, str]:
    """What `--set slurm.time=5:00:00` says, by key."""
    pairs = [(text.partition("=")[0].strip(), text) for text in overrides]
    return {key: f"--set {printable(text)}" for key, text in pairs if key.startswith("slurm.")}


def _checked(flag: str, text: str, context: typer.Context) -> str:
    """The value as the profile takes it; UsageInvalid names the right form."""
    form, read = _FORMS.get(flag, ("a name", _name))
    try:
        return read(text)
    except ValueError:
        problem = f"`--{flag}` takes {form}, not `{printable(text)}`"
        raise UsageInvalid(problem=problem, command=context.command_path) from None


def _slurm_time(text: str) -> str:
    """`8h` in Slurm's form. 0, which Slurm takes for no limit, is more likely a slip here."""
    limit = as_slurm_takes_it(text)
    if time_limit_s(limit) == 0:
        raise ValueError(text)
    return limit


def _memory(text: str) -> str:
    if text and not parse_size(text):
        raise ValueError(text)
    return text


def _number(text: str) -> str:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(text)
    return str(int(text))


def _positive(text: str) -> str:
    if _number(text) == "0":
        raise ValueError(text)
    return _number(text)


def _gpus(text: str) -> str:
    """`2`, or `a100:2`."""
    kind, colon, count = text.rpartition(":")
    if not colon:
        return _number(text)
    if not _GPU_TYPE.fullmatch(kind):
        raise ValueError(text)
    return f"{kind}:{_positive(count)}"


def _name(text: str) -> str:
    """Empty: none, whatever the profile says."""
    if not text.isprintable() or not text.isascii():
        raise ValueError(text)
    return text


_FORMS: dict[str, tuple[str, Callable[[str], str]]] = {
    "time": (FORMS, _slurm_time),
    "gpus": ("a number, or a type and a number like `a100:2`", _gpus),
    "cpus": ("a number, 1 or more", _positive),
    "mem": ("a size like `512M`, `32G` or `1.5T`", _memory),
}


def _seconds(text: str, context: typer.Context) -> int | None:
    """The seconds of `--wait`; None when it was not given."""
    if not text:
        return None
    try:
        return Duration.parse(text).seconds
    except ValueError as error:
        problem = f"`--wait` takes {error}, not `{text}`"
        raise UsageInvalid(problem=problem, command=context.command_path) from None


def _last(context: typer.Context) -> dict[str, Any]:
    """The `[slurm]` table of the last request from this machine, if it is still a valid one."""
    from scratchflow.config.check import check_given_profile
    from scratchflow.config.remembered import recall

    name = load_settings(asked(context), os.environ).name
    table = recall(name).slurm
    try:
        if table is not None:
            check_given_profile({"slurm": table}, "--last")
            return table
    except ScratchflowError:  # written by another version, or by hand
        pass
    problem = f'`--last`: no earlier allocation of profile "{name}" is known on this machine'
    raise UsageInvalid(problem=problem, command=context.command_path)
