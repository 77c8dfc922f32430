"""The global options: typed anywhere on the line, understood the same."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from scratchflow.cli.naming import NAMED
from scratchflow.model.errors.base import CommandUnknown
from scratchflow.model.text import closest, printable

DRY_RUN = typer.Option("--dry-run", help="Say what would happen, change nothing.")
YES = typer.Option("--yes", "-y", help="Take what is proposed, without asking.")
SNAPSHOT = typer.Argument(metavar="SNAPSHOT", help=f"Which one: {NAMED}")
SNAPSHOTS = typer.Argument(metavar="SNAPSHOT...", help=f"Which ones: {NAMED}")

if TYPE_CHECKING:
    from scratchflow.config.settings import Asked
    from scratchflow.dispatch.cluster import Caller

    # The mix-in always comes before a command.
    _Command = TyperCommand
else:
    _Command = object


# How long a summary may be: it is broken into lines, not cut off.
_WHOLE_SENTENCE = 1000
# Set while `--help` lists a verb's own options.
_OWN_ONLY = "scratchflow.own_only"


class GlobalOptions(_Command):
    """Lets a command take the options of the top as its own, and remembers what they said."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)
        if ctx.find_root().command is not self and not ctx.meta.get(_OWN_ONLY):
            found = [*found[:-1], *_global(ctx), *found[-1:]]  # `--help` stays last
        if ctx.resilient_parsing:  # the shell asks what could stand here
            from scratchflow.cli.completion import offer_values

            offer_values(found)
        return found

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        from scratchflow.cli.help import text_lines

        _write(formatter, text_lines(self.help or "", formatter.width))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """A verb lists its own options; the global ones are one line. The top lists them all."""
        from scratchflow.cli.help import records, rows_under

        ctx.meta[_OWN_ONLY] = True
        try:
            parameters = self.get_params(ctx)
        finally:
            del ctx.meta[_OWN_ONLY]
        width = formatter.width
        arguments, options = (records(parameters, ctx, kind) for kind in ("argument", "option"))
        _write(formatter, [""])
        groups = self.option_groups(options)
        if arguments:
            own = [*arguments, *groups.pop("Options", [])]
            _write(formatter, rows_under("Arguments and options", own, width))
        for heading, rows in groups.items():
            _write(formatter, rows_under(heading, rows, width))
        if ctx.find_root().command is not self:
            names = ", ".join(min(option.opts, key=len) for option in _global(ctx)[:-1])
            _write(formatter, [f"Global options: {names}; see `scratchflow --help`"])

    def option_groups(self, rows: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
        """The options as `--help` lists them, by heading."""
        return {"Options": rows}

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from scratchflow.cli.examples import example_lines

        lines = example_lines(ctx.command_path.partition(" ")[2])
        if lines:
            _write(formatter, ["Examples:", *lines])

    def invoke(self, ctx: Any) -> Any:
        remember(ctx)
        return super().invoke(ctx)


class VerbCommand(GlobalOptions, TyperCommand):
    """A verb."""


class VerbGroup(GlobalOptions, TyperGroup):
    """A verb with verbs of its own; alone it shows what there is."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        from scratchflow.cli.help import rows_under

        rows = [
            (name, command.get_short_help_str(_WHOLE_SENTENCE))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name)) is not None
        ]
        _write(formatter, rows_under("Commands", rows, formatter.width))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:  # completion asks with none
            args = ["--help"]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command, or a guess at the one that was meant."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            guess = self.other_word(name, args[1:]) or closest(name, known)
            suggestion = f"; did you mean `{ctx.command_path} {guess}`?" if guess else ""
            problem = f"no such command: {printable(name)}{suggestion}"
            raise CommandUnknown(problem=problem, command=ctx.command_path)
        return super().resolve_command(ctx, args)

    def other_word(self, name: str, rest: Sequence[str]) -> str | None:
        """The command that does what this word says elsewhere."""
        return None


class ListingGroup(VerbGroup):
    """One whose verb `list` is meant when none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        wants_help = bool({"--help", "-h"} & set(args))
        is_list = not args or (args[0].startswith("-") and not self._names_a_verb(ctx, args))
        if is_list and not wants_help and not ctx.resilient_parsing:
            args = ["list", *args]
        return super().parse_args(ctx, args)

    def _names_a_verb(self, ctx: Any, args: list[str]) -> bool:
        """Whether one of the words is a verb, and no option's value: a profile may be called `list`."""
        parameters = [*self.get_params(ctx), *self.commands["list"].get_params(ctx)]
        with_value = {
            name for one in parameters if not getattr(one, "is_flag", False) for name in one.opts
        }
        before = ["", *args]
        return any(
            word in self.commands and previous not in with_value
            for previous, word in zip(before, args, strict=False)
        )


def _write(formatter: Any, lines: Iterable[str]) -> None:
    formatter.write("".join(f"{line}\n" for line in lines))


def remember(context: Any) -> None:
    """Moves the global options given here to where the whole line's are kept: nearest the end wins."""
    kept: dict[str, Any] = context.find_root().ensure_object(dict)
    for parameter in _global(context):
        value = context.params.get(parameter.name)
        if context.find_root() is not context:
            context.params.pop(parameter.name, None)
        if value and parameter.name == "overrides":
            kept.setdefault("overrides", []).extend(value)
        elif value:
            kept[parameter.name] = value


def is_verbose(context: typer.Context) -> bool:
    """Whether each path is to be told."""
    kept: dict[str, Any] = context.find_root().ensure_object(dict)
    return bool(kept.get("verbose"))


def may_ask(context: typer.Context) -> bool:
    """Whether a question may be put to the terminal: never with `--json`."""
    kept: dict[str, Any] = context.find_root().ensure_object(dict)
    return not kept.get("json")


def caller(context: typer.Context) -> Caller:
    """Who asks, for a flow that may have to reach another machine."""
    from scratchflow.dispatch.cluster import Caller

    return Caller(
        asked=asked(context),
        environment=os.environ,
        may_ask=may_ask(context),
        verbose=is_verbose(context),
    )


def _global(context: Any) -> list[Any]:
    """The options of the top, without those that set up the shell's completion."""
    top = context.find_root().command
    return [option for option in top.params if not option.name.endswith("_completion")]


def asked(context: typer.Context) -> Asked:
    """What the command line says about settings."""
    from scratchflow.config.settings import Asked

    kept: dict[str, Any] = context.find_root().ensure_object(dict)
    return Asked(
        config=kept.get("config"),
        profile=kept.get("profile"),
        overrides=(*kept.get("overrides", ()), *kept.get("flags", ())),
        slurm=kept.get("slurm"),
    )
