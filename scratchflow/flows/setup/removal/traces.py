"""What scratchflow has left in an account on the cluster, looked for without an agent there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from scratchflow.agent.delivery.probe import script
from scratchflow.model.profile import NAME_PATTERN
from scratchflow.ssh.transport.base import Transport

_TIMEOUT_S = 60.0
_MARK = "scratchflow-trace\t"


class WorkspaceTrace(msgspec.Struct, frozen=True):
    """A workspace that has, or had, snapshots: in which store, how many, and where copies are."""

    store: str
    name: str
    snapshots: int
    nodes: tuple[str, ...] = ()
    # Submitted jobs, whose records and outputs lie beside the snapshots.
    jobs: int = 0
    # Where copies are, or were: node and path there.
    copies: tuple[tuple[str, str], ...] = ()
    # Further workspaces whose snapshots lie in the directory of this one's, by their paths beneath it.
    within: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Of its snapshots, as the profile writes the store."""
        return f"{self.store.rstrip('/')}/{self.name}"


class ClosedPlace(msgspec.Struct, frozen=True):
    """A store, or the directory of a workspace in one, that could not be read."""

    store: str
    name: str
    """Of the workspace; empty for the store itself."""
    reason: str

    @property
    def path(self) -> str:
        """As the profile writes the store."""
        store = self.store.rstrip("/")
        return f"{store}/{self.name}" if self.name else store


class Traces(msgspec.Struct, frozen=True):
    """Everything that was found."""

    agents: tuple[str, ...] = ()
    # What is in our directory of the account's home.
    entries: tuple[str, ...] = ()
    workspaces: tuple[WorkspaceTrace, ...] = ()
    # Whether commands of the account remember something, in its directory for state.
    has_state: bool = False
    # Whether unison keeps something in the account, and whether `sync` ran it there.
    has_unison: bool = False
    ran_sync: bool = False
    closed: tuple[ClosedPlace, ...] = ()
    # Stores, as profiles write them, in which there is more than these workspaces.
    stores_with_more: tuple[str, ...] = ()

    def could_not_look(self, store: str, workspace: str) -> bool:
        """Whether nobody knows what is left of this workspace."""
        place = store.rstrip("/")
        return any(
            one.store.rstrip("/") == place and one.name in {"", workspace} for one in self.closed
        )


class _Copy(msgspec.Struct, frozen=True):
    """What the store notes of a node: where its copy is, and where there were copies before."""

    node: str
    workspace_path: str
    goes_with_job: bool = False
    earlier_paths: list[str] = []


class _Note(msgspec.Struct, frozen=True):
    """The account's note of a store that it used: `STORE/WORKSPACE`."""

    path: str


def look_for_traces(transport: Transport, stores: Sequence[str]) -> Traces:
    """In these stores, as profiles write them, and in those that the account has a note of."""
    lines = _asked(transport, stores)
    found = _workspaces(lines, stores)
    closed = _closed(lines, stores)
    if noted := list(dict.fromkeys(_noted_stores(lines))):
        # One store, written in two ways, is told as the profile writes it.
        further = _asked(transport, noted)
        found = {**_workspaces(further, noted), **found}
        closed = {**_closed(further, noted), **closed}
    return Traces(
        agents=tuple(fields[0] for kind, *fields in lines if kind == "agent"),
        entries=tuple(fields[0] for kind, *fields in lines if kind == "entry"),
        workspaces=tuple(sorted(_nested(found), key=lambda trace: trace.path)),
        has_state=any(kind == "state" for kind, *_ in lines),
        has_unison=any(kind == "unison" for kind, *_ in lines),
        ran_sync=["unison", "scratchflow"] in lines,
        closed=tuple(sorted(closed.values(), key=lambda place: place.path)),
        stores_with_more=tuple(dict.fromkeys(_with_more(lines, stores))),
    )


def _asked(transport: Transport, stores: Sequence[str]) -> list[list[str]]:
    argv = ["sh", "-s", "--", *stores]
    done = transport.run(argv, stdin=script("traces.sh"), timeout_s=_TIMEOUT_S)
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    ours = [line.partition(_MARK)[2].split("\t") for line in lines if _MARK in line]
    return [fields for fields in ours if len(fields) > 1]


def _workspaces(lines: Sequence[Sequence[str]], stores: Sequence[str]) -> dict[str, WorkspaceTrace]:
    """By their real paths."""
    found = {}
    for kind, *fields in lines:
        if kind != "workspace" or len(fields) != 6:
            continue
        number, name, count, nodes, jobs, real = fields
        is_counted = number.isdigit() and count.isdigit() and jobs.isdigit()
        if _is_plain(name) and is_counted and int(number) < len(stores):
            known = tuple(node for node in nodes.split() if re.fullmatch(NAME_PATTERN, node))
            copies = tuple(_copies(lines, real))
            store = stores[int(number)]
            found[real] = WorkspaceTrace(store, name, int(count), known, int(jobs), copies)
    return found


def _nested(found: Mapping[str, WorkspaceTrace]) -> Iterator[WorkspaceTrace]:
    """Each with those that lie in it; `found` is by real paths."""
    for real, trace in found.items():
        above = f"{real}/"
        within = sorted(one.removeprefix(above) for one in found if one.startswith(above))
        yield msgspec.structs.replace(trace, within=tuple(within))


def _is_plain(name: str) -> bool:
    """Whether a command may name the directory of a workspace: a shell reads nothing else in it."""
    return name.isprintable() and not name.startswith("~") and not {"$", "\\"} & set(name)


def _closed(lines: Sequence[Sequence[str]], stores: Sequence[str]) -> dict[str, ClosedPlace]:
    """What could not be read, by real paths."""
    found = {}
    for kind, *fields in lines:
        if kind != "closed" or len(fields) != 4:
            continue
        number, name, reason, real = fields
        if number.isdigit() and int(number) < len(stores) and _is_plain(name):
            found[real] = ClosedPlace(stores[int(number)], name, reason)
    return found


def _with_more(lines: Sequence[Sequence[str]], stores: Sequence[str]) -> Iterator[str]:
    for kind, *fields in lines:
        is_passed_over = kind == "workspace" and (len(fields) != 6 or not _is_plain(fields[1]))
        is_more = kind == "more" or is_passed_over
        if is_more and fields[0].isdigit() and int(fields[0]) < len(stores):
            yield stores[int(fields[0])]


def _copies(lines: Sequence[Sequence[str]], real: str) -> Iterator[tuple[str, str]]:
    """What the nodes' records of a workspace say. A path that a shell might read otherwise is passed over."""
    for kind, *fields in lines:
        if kind != "copy" or fields[0] != real:
            continue
        try:
            copy = msgspec.json.decode("".join(fields[1:]), type=_Copy)
        except msgspec.DecodeError:
            continue
        if re.fullmatch(NAME_PATTERN, copy.node):
            last = [] if copy.goes_with_job else [copy.workspace_path]
            for path in dict.fromkeys([*last, *copy.earlier_paths]):
                if path.startswith("/") and not {"$", "\\", "\n"} & set(path):
                    yield copy.node, path


def _noted_stores(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    for kind, *fields in lines:
        try:
            path = msgspec.json.decode(fields[0], type=_Note).path if kind == "note" else ""
        except msgspec.DecodeError:
            continue
        # A path in which a shell would fill something in is passed over: nothing is guessed.
        if path.startswith("/") and not {"$", "\\"} & set(path):
            yield path.rpartition("/")[0] or "/"
