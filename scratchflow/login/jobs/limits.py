"""Whether a job that is about to be submitted can ever start: Slurm would take it, and let it wait for ever."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from scratchflow.cluster.slurm.batch.exceptions import may_be_changed, may_exceed_time
from scratchflow.cluster.slurm.batch.script import MARK, resource_words, resources_in, words_of
from scratchflow.login.host import LoginHost
from scratchflow.login.refusal import known_cluster
from scratchflow.login.request_limits import Cluster, Excess, excesses, in_words, next_step
from scratchflow.model.errors.jobs import JobImpossible
from scratchflow.model.job import JobRecord
from scratchflow.model.profile import SlurmOptions
from scratchflow.model.text import printable

_FLAGS = {"cpus_per_task": "cpus"}
_TIME = "slurm.time"
_OTHERWISE = {"--clusters", "--reservation", "--overcommit", "-O"}


def require_startable(
    login: LoginHost, record: JobRecord, lines: Sequence[str], given: Collection[str]
) -> None:
    """JobImpossible when it asks for more than the partition allows or a node has; `given` are the keys that were typed.

    A QOS may allow more than its partition: with one, Slurm alone decides. So it does while it does not answer, and
    wherever the site may make an exception.
    """
    options = _asked_for(record, lines)
    if options is None or options.qos or _asks_otherwise(record, lines):
        return
    cluster = known_cluster(login)
    found = _certain(login, cluster, excesses(options, "", cluster))
    if not found:
        return
    values = msgspec.to_builtins(options)
    typed = _as_typed(record, lines, given)
    raise JobImpossible(
        reason=in_words(found, typed, lambda key: values[key.partition(".")[2]]),
        next_step=next_step(found, typed, login.settings.name),
    )


def _as_typed(record: JobRecord, lines: Sequence[str], given: Collection[str]) -> dict[str, str]:
    """What sets each key that is not the profile's, as it was typed: a line of the script, a flag, or an option for `sbatch`."""
    typed = {key: f"{MARK} {word}" for key, word in resource_words(words_of(lines)).items()}
    typed |= {key: f"--{_FLAGS.get(key, key)} {record.slurm[key]}" for key in given}
    for key in resource_words(record.slurm.get("extra", ())):
        typed.pop(key, None)  # the profile's own words come after these, and win
    typed |= {key: f"--sbatch={word}" for key, word in resource_words(record.sbatch).items()}
    return {f"slurm.{key}": printable(word) for key, word in typed.items()}


def _certain(login: LoginHost, cluster: Cluster, found: list[Excess]) -> list[Excess]:
    """Those that nothing at this site can allow. It is asked only about a job that seems to be too much."""
    if not found or may_be_changed(login.slurm):
        return []
    if any(one.key == _TIME for one in found) and may_exceed_time(login.slurm):
        found = [one for one in found if one.key != _TIME]
    known = {node.name for node in cluster.nodes}
    if not all(known.issuperset(one.nodes) for one in cluster.partitions):
        # Cloud nodes that are off: partitions name them, and nobody says what they have.
        found = [one for one in found if one.key == _TIME]
    return found


def _asks_otherwise(record: JobRecord, lines: Sequence[str]) -> bool:
    """Whether an option is about another cluster, nodes of a reservation, or more tasks than processors."""
    words = [*words_of(lines), *record.slurm.get("extra", ()), *record.sbatch]
    return any(word.partition("=")[0] in _OTHERWISE or word[:2] == "-M" for word in words)


def _asked_for(record: JobRecord, lines: Sequence[str]) -> SlurmOptions | None:
    """The record's resources with those that a script and further options of `sbatch` set; None when they cannot be read."""
    table: dict[str, Any] = dict(record.slurm)
    script = resources_in(words_of(lines))
    # What the record has itself was typed, or is the profile's where the script says nothing.
    own = {key: value for key, value in script.items() if not table.get(key)}
    own |= resources_in([*table.get("extra", ()), *record.sbatch])
    for key, value in own.items():
        is_number = isinstance(table.get(key), int) or key in {"gpus", "cpus_per_task"}
        if is_number and not value.isdecimal():
            return None
        table[key] = int(value) if is_number else value
    try:
        return msgspec.convert(table, SlurmOptions)
    except msgspec.ValidationError:
        return None
