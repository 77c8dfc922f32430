"""`scratchflow snapshots export`, `copy`, `mirror` and `import`: snapshots go somewhere, or come from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from scratchflow.cli import transfer_words as words
from scratchflow.cli.call import Call, announced
from scratchflow.cli.naming import NAMED, zone_for
from scratchflow.cli.options import DRY_RUN, SNAPSHOT, caller
from scratchflow.cli.remote_call import at_workspace
from scratchflow.model import requests
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.results.snapshots import SnapshotsFetched
from scratchflow.model.results.transfer import SnapshotExported, SnapshotsCopied, SnapshotsMirrored
from scratchflow.model.source import on_laptop


def export(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Where to, on the node, or `laptop:FILE` on this machine; must not exist.",
        ),
    ],
    snapshot: Annotated[str, SNAPSHOT] = "latest",
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotExported]:
    """Write one plain full `.tar.lz4` that `lz4` and `tar` read.

    Every byte is checked on the way: of a damaged snapshot no file is written (exit code 31).
    `laptop:FILE` is a file of the machine that you type on, and needs no node.
    """
    _refuse_swapped(context, file, snapshot)
    here = on_laptop(file)
    if here is not None:
        return _export_here(context, here, snapshot, dry_run=dry_run)
    request = requests.Export(
        file=file, snapshot=snapshot, dry_run=dry_run, zone=zone_for(snapshot)
    )
    call = at_workspace(caller(context), "snapshots export", request, words.exported)
    return announced("looking for the snapshot", call)


def _refuse_swapped(context: typer.Context, file: str, snapshot: str) -> None:
    """The two words the other way around are told as that: a snapshot is never named by what looks like a file."""
    if _is_like_file(file) or not _is_like_file(snapshot):
        return
    import shlex  # for the refusal alone

    typed = f"{context.command_path} {shlex.quote(snapshot)} {shlex.quote(file)}"
    problem = f"`{snapshot}` is a file, not a snapshot, and FILE comes first: `{typed}`"
    raise UsageInvalid(problem=problem, command=context.command_path)


def _is_like_file(word: str) -> bool:
    if word.startswith("@"):  # the message of a snapshot
        return False
    return "/" in word or word.endswith(".tar.lz4") or on_laptop(word) is not None


def _export_here(
    context: typer.Context, file: str, snapshot: str, *, dry_run: bool
) -> Call[SnapshotExported]:
    if not file:
        problem = "`laptop:` needs a file, like `laptop:thesis.tar.lz4`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = requests.Export(
        file=file, snapshot=snapshot, dry_run=dry_run, zone=zone_for(snapshot)
    )
    who = caller(context)

    def run(emit: Emit) -> SnapshotExported:
        from scratchflow.flows.transfer.take_home import export_here

        return export_here(who, request, file, emit)

    return announced("looking for the snapshot", Call("snapshots export", run, words.exported))


def copy(
    context: typer.Context,
    to: Annotated[
        str, typer.Option("--to", metavar="PROFILE", help="The profile whose store gets them.")
    ],
    snapshots: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SNAPSHOT]...", help=f"Which ones: {NAMED}", show_default=False),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[SnapshotsCopied]:
    """Copy snapshots into another profile's store.

    `workspace` has to be the same name in both profiles. Without a snapshot's name it is the newest. Only what that store lacks is sent, through this machine, and compared there with its
    digest; ids stay. Broken off, what arrived is kept: run it again, and it goes on.

    A copied snapshot that is newer than all others there is `latest` there.
    """
    if every and snapshots:
        problem = "`--all` means every snapshot: name none besides"
        raise UsageInvalid(problem=problem, command=context.command_path)
    names = () if every else tuple(snapshots or ("latest",))
    request = requests.Offer(snapshots=names, zone=zone_for(*names) if names else ())
    who = caller(context)

    def run(emit: Emit) -> SnapshotsCopied:
        from scratchflow.flows.transfer.copy import copy_snapshots

        return copy_snapshots(who, request, to, emit, dry_run=dry_run)

    return Call("snapshots copy", run, words.copied)


def mirror(
    context: typer.Context, dry_run: Annotated[bool, DRY_RUN] = False
) -> Call[SnapshotsMirrored]:
    """Send what the profile's mirror lacks, with rclone.

    `backup.mirror = "remote:path"` names it; the remote is one of `rclone config` where the store is: on the
    login host. New snapshots go there by themselves; this sends them now. Archives go first, manifests last,
    and nothing there is replaced: broken off anywhere, what is there can be restored, and the next run sends
    the rest. Snapshots that are pruned here stay there.
    """
    return at_workspace(
        caller(context),
        "snapshots mirror",
        requests.DryRun(dry_run=dry_run),
        words.mirrored,
    )


def import_file(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]",
            help="Any `.tar.lz4` on the node; with `--from-mirror` snapshots.",
            show_default=False,
        ),
    ] = None,
    from_mirror: Annotated[
        bool,
        typer.Option("--from-mirror", help="Snapshots of `backup.mirror`, the newest by default."),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="With `--from-mirror`: all that the store lacks.")
    ] = False,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Any]:
    """Take in a `.tar.lz4` as a snapshot, or snapshots from the mirror.

    An archive of scratchflow's own comes back as it was, with everything that was saved beside the
    workspace. Any other: when all its names start with the workspace's name or one of `backup.also`,
    they are taken as they are; otherwise all of it goes beneath the workspace.

    The imported snapshot becomes `latest`, however old the archive is: a plain `restore`, and `up` on
    another node, bring it. `scratchflow restore ID` with the id of the one before goes back.
    Snapshots of the mirror keep their ids.
    """
    if from_mirror:
        return _import_from_mirror(context, files or [], every=every, dry_run=dry_run)
    if every or len(files or []) != 1:
        problem = "`import` takes one FILE, or `--from-mirror` with snapshots or `--all`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = requests.Import(file=(files or [""])[0], dry_run=dry_run)
    return at_workspace(caller(context), "snapshots import", request, words.imported)


def _import_from_mirror(
    context: typer.Context, snapshots: list[str], *, every: bool, dry_run: bool
) -> Call[SnapshotsFetched]:
    if every and snapshots:
        problem = "`--all` means every snapshot: name none besides"
        raise UsageInvalid(problem=problem, command=context.command_path)
    names = () if every else tuple(snapshots or ("latest",))
    request = requests.FetchSnapshots(
        snapshots=names, every=every, dry_run=dry_run, zone=zone_for(*names) if names else ()
    )
    # By its own name, because `snapshots import` of a file hands back something else.
    op = "snapshots import from-mirror"
    return at_workspace(caller(context), op, request, words.fetched, do="snapshots fetch")


MOVES: dict[str, Callable[..., Call[Any]]] = {
    "export": export,
    "copy": copy,
    "mirror": mirror,
    "import": import_file,
}
"""Each by the word that is typed after `snapshots`."""
