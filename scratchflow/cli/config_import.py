"""What `config import` shows: for each context its profile, for each key its fate, and the change to the file."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator

from scratchflow.cli.tables import wrapped
from scratchflow.model.results.config import ConfigImported, ImportedContext, ImportedKey
from scratchflow.model.text import printable
from scratchflow.model.wrap import Whole


def fates(result: ConfigImported) -> Iterator[str]:
    """The table and the change: what is shown before the question, and with `--dry-run`."""
    for context in result.contexts:
        yield from _context(context)
        yield ""
    if result.keys:
        yield "besides the contexts:"
        yield from _rows(result.keys)
        yield ""
    if result.diff:
        yield from (Whole(printable(line)) for line in result.diff.splitlines())


def imported(result: ConfigImported, *, was_asked: bool) -> Iterator[str]:
    """What is told in the end."""
    if not was_asked or not result.changed:
        yield from fates(result)
    written = [one.profile for one in result.contexts if one.state == "new" and one.profile]
    if not result.changed:
        yield "nothing to add"
    elif not result.dry_run:
        yield f"added {_names(written)} to `{printable(result.path)}`"
        yield Whole(f"Next: scratchflow up -p {written[0]}")


def _context(context: ImportedContext) -> Iterator[str]:
    name = printable(context.name)
    if context.profile is None:
        keys = ", ".join(printable(one.key) for one in context.keys)
        yield from _broken("", f"context `{name}` is not taken: {printable(context.reason)}")
        yield from _broken("  its keys: ", keys)
        return
    already = ", which is there already" if context.state == "there_already" else ""
    yield f"context `{name}` becomes profile `{context.profile}`{already}:"
    yield from _rows(context.keys)
    for key, value in context.own.items():
        why = "because another profile has the usual one"
        yield from _broken("  ", f"`{key}` is `{printable(value)}`, {why}")


def _rows(keys: Iterable[ImportedKey]) -> Iterator[str]:
    rows = list(keys)
    width = max((len(printable(one.key)) for one in rows), default=0)
    for one in rows:
        yield from _broken(f"  {printable(one.key):<{width}}  ", _fate(one))


def _broken(label: str, text: str) -> Iterator[str]:
    """In lines that fit: before a question nobody else breaks them."""
    yield from wrapped(label, text, shutil.get_terminal_size().columns)


def _fate(one: ImportedKey) -> str:
    if not one.taken:
        return f"not taken: {printable(one.reason)}"
    settings = ", ".join(f"{key} = {_value(value)}" for key, value in one.settings.items())
    remark = printable(one.reason)
    if not settings:
        return remark
    return f"{settings} ({remark})" if remark else settings


def _value(value: object) -> str:
    return printable(" ".join(map(str, value)) if isinstance(value, list) else value)


def _names(profiles: list[str]) -> str:
    kind = "profile" if len(profiles) == 1 else "profiles"
    return f"{kind} {', '.join(f'`{one}`' for one in profiles)}"
