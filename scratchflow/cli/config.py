"""`scratchflow config`: show the settings in force, say where they are, read, change, unset or import."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.options import DRY_RUN, YES, VerbCommand, VerbGroup, asked, may_ask
from scratchflow.cli.questions import TerminalAsker
from scratchflow.flows import config as flow
from scratchflow.model.events import Emit
from scratchflow.model.results.config import (
    ConfigChanged,
    ConfigImported,
    ConfigPath,
    ConfigShown,
    ConfigValue,
)
from scratchflow.model.text import printable
from scratchflow.model.wrap import Whole

app = typer.Typer(
    cls=VerbGroup,
    rich_markup_mode=None,
    add_completion=False,
    help="Show and change settings.",
)


@app.command("show", cls=VerbCommand)
def show(
    context: typer.Context,
    origin: Annotated[
        bool, typer.Option("--origin", help="Say where each value came from.")
    ] = False,
) -> Call[ConfigShown]:
    """Show the profile in force, complete with defaults."""
    wanted = asked(context)
    return Call(
        "config show", lambda emit: flow.show(wanted, os.environ, emit, origin=origin), _shown
    )


@app.command("path", cls=VerbCommand)
def path(context: typer.Context) -> Call[ConfigPath]:
    """Print where the configuration file is."""
    wanted = asked(context)
    return Call(
        "config path", lambda _: flow.path(wanted, os.environ), lambda found: [Whole(found.path)]
    )


@app.command("set", cls=VerbCommand)
def change(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key, like `slurm.partition`.")],
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="Its value; lists as TOML writes them.")
    ],
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[ConfigChanged]:
    """Set one key of the profile in force.

    Comments and order of the file stay. `default_profile`, `sync.KEY` and `profiles.NAME.KEY` work too.
    """
    wanted = asked(context)
    return Call(
        "config set",
        lambda emit: flow.change(wanted, os.environ, emit, key, value, dry_run=dry_run),
        _changed,
    )


@app.command("get", cls=VerbCommand)
def get(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key, like `slurm.partition`.")],
) -> Call[ConfigValue]:
    """Print one value in force: from a flag, the environment, the file or the default."""
    wanted = asked(context)
    return Call("config get", lambda _: flow.get(wanted, os.environ, key), _value)


@app.command("unset", cls=VerbCommand)
def unset(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key, like `slurm.partition`.")],
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[ConfigChanged]:
    """Take one key out of the file, so that its default counts again."""
    wanted = asked(context)
    return Call(
        "config unset", lambda _: flow.unset(wanted, os.environ, key, dry_run=dry_run), _unset
    )


@app.command("import", cls=VerbCommand)
def import_settings(
    context: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="mrunner's file, like ~/.config/mrunner/config.yaml."),
    ],
    yes: Annotated[bool, YES] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[ConfigImported]:
    """Make profiles of the Slurm contexts in mrunner's `config.yaml`.

    Shows what becomes of every key, and the change to your file, and asks once. Profiles that you
    have stay as they are; a name that is taken gets a number. Run again, it adds only what is new.
    """
    wanted, asks = asked(context), may_ask(context)
    from scratchflow.cli.config_import import fates, imported

    def run(emit: Emit) -> ConfigImported:
        from scratchflow.flows.setup.import_mrunner import import_mrunner

        asker = TerminalAsker(emit, may_ask=asks, yes=yes)
        return import_mrunner(wanted, os.environ, source, asker, fates, dry_run=dry_run)

    def show(result: ConfigImported) -> Iterator[str]:
        return imported(result, was_asked=not (yes or result.dry_run))

    return Call("config import", run, show)


def saved_line(path: str) -> str:
    """The last word on a change: that it is in the file, and which file that is."""
    return f"✓ saved in `{printable(path)}`"


def _value(found: ConfigValue) -> Iterator[str]:
    """Text as it is, for scripts; everything else as TOML. What is not set prints nothing."""
    if found.value is not None:
        yield Whole(found.value if isinstance(found.value, str) else _toml(found.value))


def _unset(changed: ConfigChanged) -> Iterator[str]:
    if not changed.changed:
        yield f"`{changed.key}` is not set in `{changed.path}`"
        return
    yield from _changed(changed)


def _shown(shown: ConfigShown) -> Iterator[str]:
    yield f"# {shown.path}"
    table = _table(f"profiles.{shown.profile}", "", shown.values, shown.origins)
    yield from map(Whole, table)


_COLUMN = 40


def _table(
    header: str, prefix: str, values: dict[str, Any], origins: dict[str, str] | None
) -> Iterator[str]:
    yield f"[{header}]"
    tables = {key: value for key, value in values.items() if _is_section(key, value)}
    lines = {key: _line(key, values[key]) for key in values if key not in tables}
    # A long line has its comment behind it, and does not push those of the others out of sight.
    width = max((len(line) for line in lines.values() if len(line) <= _COLUMN), default=0)
    for key, line in lines.items():
        yield f"{line:<{width}}  # {origins.get(f'{prefix}{key}', 'default')}" if origins else line
    for key, inner in tables.items():
        yield ""
        yield from _table(f"{header}.{key}", f"{prefix}{key}.", inner, origins)


def _line(key: str, value: Any) -> str:
    # TOML has no null: a key that is not set is a comment.
    return f"# {key} = (not set)" if value is None else f"{key} = {_toml(value)}"


def _is_section(key: str, value: Any) -> bool:
    return isinstance(value, dict) and key != "variables"


def _toml(value: Any) -> str:
    import tomlkit

    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        inline.update(value)
        return str(inline.as_string())
    return str(tomlkit.item(value).as_string())


def _changed(changed: ConfigChanged) -> Iterator[str]:
    if not changed.changed:
        yield f"`{changed.key}` has that value already"
    else:
        yield Whole(changed.diff)
    if changed.takes_effect:
        yield changed.takes_effect
    yield from map(printable, changed.stays)
    if changed.removed_alias:
        would = "would remove" if changed.dry_run else "removed"
        yield f"{would} the ssh alias `{printable(changed.removed_alias)}`; `scratchflow up` makes the new one"
    if changed.changed and not changed.dry_run:
        yield saved_line(changed.path)
