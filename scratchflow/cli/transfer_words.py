"""Snapshots on their way in words: `snapshots export`, `copy`, `mirror` and `import`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scratchflow.cli.remote_call import on_host
from scratchflow.model.ages import named, shown_id
from scratchflow.model.results.snapshots import SnapshotsFetched
from scratchflow.model.results.transfer import (
    SnapshotExported,
    SnapshotImported,
    SnapshotsCopied,
    SnapshotsMirrored,
)
from scratchflow.model.text import counted, printable
from scratchflow.model.units import format_size, format_took


def exported(exported: SnapshotExported) -> Iterator[str]:
    """Where the file is."""
    word = "would write" if exported.dry_run else "wrote"
    path = f"`{printable(exported.path)}`{on_host(exported.host)}"
    yield f"{word} {path} ({format_size(exported.bytes)}) from snapshot {named(exported.snapshot)}"


def copied(done: SnapshotsCopied) -> Iterator[str]:
    """What went over, and what is the newest there now."""
    to = f"profile `{printable(done.to)}`"
    yield from _not_copied(done, to)
    if not done.copied and done.is_left_out and not done.already_there:
        return
    if not done.copied:
        is_one = len(done.already_there) == 1
        all_of_them = "it" if is_one else "all of them"
        all_others = "the other one" if is_one else "all others"
        yield f"{to} has {all_others if done.is_left_out else all_of_them} already"
        return
    what = counted(len(done.copied), "snapshot")
    size = format_size(done.sent_bytes)
    if done.dry_run:
        full = (
            f", and up to {format_size(done.as_full_bytes)} as full archives"
            if done.as_full_bytes
            else ""
        )
        yield f"would copy {what} ({size}{full}) to {to}"
        yield from _later_ones(done, to, "would go")
        if done.perhaps_as_full_bytes:
            more = format_size(done.perhaps_as_full_bytes)
            need, go = (
                ("it needs", "it goes") if len(done.copied) == 1 else ("they need", "some go")
            )
            yield (
                f"up to {more} more if what {to} has left of an archive does not hold all that {need}:"
                f" then {go} as one full archive, which only the copy finds out"
            )
        return
    yield f"copied {what} to {to}: {size} sent in {format_took(done.duration_s)}, and compared there with its digest"
    for one in done.along:
        yield f"with the full snapshot {named(one)}, which {'it is' if len(done.copied) == 1 else 'they are'} built on"
    yield from _later_ones(done, to, "went")
    if done.relies_on:
        verify = f"`scratchflow -p {printable(done.to)} snapshots verify`"
        were = (
            "1 archive that was" if done.relies_on == 1 else f"{done.relies_on} archives that were"
        )
        yield f"{'it needs' if len(done.copied) == 1 else 'they need'} {were} there already; {verify} reads them"
    yield from _mended(done.mended, "there")
    if (
        done.newest in done.copied and done.newest not in done.mended
    ):  # else it was the newest before
        yield f"the newest there is {named(done.newest)} now"


def _later_ones(done: SnapshotsCopied, to: str, went: str) -> Iterator[str]:
    """Why snapshots go as full ones, and what makes later ones small again."""
    if done.as_full_bytes:
        some, they_need = ("it", "it needs") if len(done.copied) == 1 else ("some", "they need")
        yield (
            f"{some} {went} as one full archive, because {to} has another archive that {they_need};"
            " after `scratchflow backup --full` later copies send only what changed"
        )


def _not_copied(done: SnapshotsCopied, to: str) -> Iterator[str]:
    """What is not there, why, and what to do."""
    not_copied = "would not be copied" if done.dry_run else "not copied"
    for one in done.damaged:
        if one in done.mended:
            source = printable(done.source)
            back = f"`scratchflow -p {printable(done.to)} snapshots copy {shown_id(one)} --to {source}`"
            yield f"damaged in the store of profile `{source}`: snapshot {named(one)}; {to} has it whole, and {back} mends it"
            continue
        verify = f"`scratchflow -p {printable(done.source)} snapshots verify {shown_id(one)}`"
        yield f"{not_copied}, because it is damaged: snapshot {named(one)}; {verify} says what is wrong"
    for one, reason in done.unreadable.items():
        yield f"{not_copied}: snapshot {named(one)} cannot be read: {printable(reason)}"
    for one in done.blocked:
        yield (
            f"{not_copied}: {to} has another archive under the name of snapshot {named(one)}, or a damaged one;"
            " `scratchflow snapshots export`, and `import` there, bring it under another name, and `scratchflow backup --full`"
            " takes one of the workspace as it is now that can be copied"
        )
    for one, what in done.in_the_way.items():
        yield f"{not_copied}: snapshot {named(one)}; in the store of {to}, {printable(what)}: look what it is, move it away there, and copy again"
    for one in done.not_whole:
        verify = f"`scratchflow -p {printable(done.to)} snapshots verify {shown_id(one)}`"
        yield f"{to} does not list snapshot {named(one)} as whole after the copy; {verify} reads it there"


def _mended(snapshots: Iterable[str], where: str) -> Iterator[str]:
    for one in snapshots:
        yield f"whole again: snapshot {named(one)}, which was damaged {where}"


def mirrored(done: SnapshotsMirrored) -> Iterator[str]:
    """What went to the mirror."""
    mirror = f"`{printable(done.mirror)}`"
    for one in done.damaged:
        if one in done.sent_before:
            again = f"`scratchflow snapshots import --from-mirror {shown_id(one)}` mends it if the mirror's is whole"
            yield f"damaged in the store, and sent before: snapshot {named(one)}; {again}"
        else:
            yield f"not sent, because it is damaged: snapshot {named(one)}"
    for one, reason in done.unreadable.items():
        yield f"not sent: snapshot {named(one)} cannot be read: {printable(reason)}"
    yield from _blocked(done)
    if not done.sent:
        if done.there:
            yield f"{mirror} has {_already(done)} already"
        elif not done.is_left_out:
            yield "the store has no snapshot: nothing was sent"
        return
    what, size = counted(len(done.sent), "snapshot"), format_size(done.sent_bytes)
    if done.dry_run:
        yield f"would send {what} ({size}) to {mirror}"
        return
    yield f"sent {what} to {mirror}: {size} in {format_took(done.duration_s)}"


def _already(done: SnapshotsMirrored) -> str:
    count = counted(done.there, "snapshot")
    if done.is_left_out:
        return "the other snapshot" if done.there == 1 else f"the other {count}"
    return f"{'the' if done.there == 1 else 'all'} {count}"


def _blocked(done: SnapshotsMirrored) -> Iterator[str]:
    """Which snapshots are not on the mirror because of an archive there, and what to do."""
    mirror = f"`{printable(done.mirror)}`"
    for one in done.blocked:
        why = (
            "under the name of a file that it needs, something else lies there"
            if done.wrong
            else f"{mirror} has another archive under the name of one that it needs, for other snapshots"
        )
        yield f"not on the mirror: snapshot {named(one)}; {why}"
    for file in done.wrong:
        step, words = _out_of_the_way(done.mirror, file)
        yield f"{step}, where the store is: `{printable(words)}`"
    if done.wrong:
        yield "then `scratchflow snapshots mirror` sends them again"
    elif done.blocked:
        yield "another path as `backup.mirror` takes all"


def _out_of_the_way(mirror: str, file: str) -> tuple[str, str]:
    """What is to be done with it on the mirror, and by which command."""
    import secrets
    import shlex  # both seldom needed

    if file.endswith("/"):
        # Over sftp a link to a directory looks like one, and what it leads to is not ours to delete.
        name = file.rstrip("/")
        return "move the wrong directory aside", shlex.join(
            # A name that nothing has: into one that is there, rclone would merge it.
            ["rclone", "moveto", name, f"{name}.aside-{secrets.token_hex(4)}"]
        )
    if file.endswith(".rclonelink"):
        # Versions differ in which of the two names they compare.
        name = file.removeprefix(mirror).lstrip("/").removesuffix(".rclonelink")
        words = ["rclone", "delete", "--links", mirror, "--include", f"/{name}{{,.rclonelink}}"]
        return "delete the wrong link", shlex.join(words)
    return "delete the wrong file", f"rclone deletefile {shlex.quote(file)}"


def fetched(done: SnapshotsFetched) -> Iterator[str]:
    """What came from the mirror, and what is the newest now."""
    mirror = f"`{printable(done.mirror)}`"
    for one, reason in done.unreadable.items():
        yield f"not brought: snapshot {named(one)} on {mirror}: {printable(reason)}"
    for one in done.damaged:
        yield f"not brought, because an archive that it needs is damaged or missing on {mirror}: snapshot {named(one)}"
    for one in done.blocked:
        yield (
            f"not brought: the store still holds a part of what snapshot {named(one)} needs, or another archive, under the same"
            " name; a profile with another `store` takes it"
        )
    for one, what in done.in_the_way.items():
        yield f"not brought: snapshot {named(one)}; {printable(what)}: look what it is, move it away, and run this again"
    if not done.fetched:
        if done.snapshots and not (done.blocked or done.damaged or done.in_the_way):
            yield f"the store has {'it' if len(done.snapshots) == 1 else 'all of them'} already"
        return
    what, size = counted(len(done.fetched), "snapshot"), format_size(done.fetched_bytes)
    if done.dry_run:
        yield f"would bring {what} ({size}) from {mirror}"
        return
    took = format_took(done.duration_s)
    yield f"brought {what} from {mirror}: {size} in {took}, every byte compared"
    yield from _mended(done.mended, "in the store")
    if done.newest in done.fetched:
        yield f"the newest is {named(done.newest)} now"


def imported(imported: SnapshotImported) -> Iterator[str]:
    """The new snapshot, and that it is the newest now."""
    size = f"{counted(imported.files, 'file')}, {format_size(imported.bytes)}"
    if imported.dry_run:
        yield f"would take in `{printable(imported.source)}`"
    else:
        yield f"snapshot {shown_id(imported.snapshot or '')}: {size} from `{printable(imported.source)}`"
    if imported.previous:
        yield _latest_now(imported)


def _latest_now(imported: SnapshotImported) -> str:
    it_is = "it would be `latest`" if imported.dry_run else "it is `latest` now"
    before = (
        f"`scratchflow restore {shown_id(imported.previous or '')}` goes back to the one before"
    )
    return f"{it_is}, so a plain `restore`, and `up` on another node, bring it; {before}"
