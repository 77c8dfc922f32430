"""The steps of a walk, drawn from a seed alone, so that the same seed gives the same steps on any cluster."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.oracle.changes import HABITS, NAMES, SIZES, Change

# Modes have steps of their own, and a mapping does not outlive the process that changes files here.
_HABITS = tuple(habit for habit in HABITS if habit not in {"chmod", "map"})
_WEIGHTS = {
    "change": 26,
    "backup": 10,
    "restore": 9,
    "up": 5,
    "hop": 7,
    "clear": 7,
    "autobackup": 5,
    "wait_for_autobackup": 6,
    "ignore": 3,
    "also_root": 3,
    "make_unreadable": 5,
    "mend": 4,
    "wipe": 3,
    "scancel": 4,
    "crash_node": 2,
    "without_slurmctld": 2,
    "crash_login": 1,
    "kill": 10,
    "disturb": 6,
}
VERBS = ("backup", "restore", "hop", "clear", "up")


class Step(NamedTuple):
    """One step: what is done, and numbers that choose how. A number chooses among what is there then."""

    do: str
    one: int
    other: int
    moment: float  # from 0 to 1: when a verb is met
    changes: tuple[Change, ...] = ()


# Files of one size and one mtime, in the workspace and in directories of it.
_BEGIN = Step(
    "change",
    one=0,
    other=1,
    moment=0.0,
    changes=(
        Change("make_directory", name=b"a"),
        Change("make_directory", 1, name=b"b"),
        *(
            Change("unpack", 5 * number, number, fill=65 + 5 * number, size=4096)
            for number in range(3)
        ),
    ),
)


def steps(seed: str, count: int) -> list[Step]:
    """The same for the same seed; more steps begin with the fewer ones."""
    chance = random.Random(seed)  # noqa: S311 - the same in every run
    return [_BEGIN, *(_step(chance) for _ in range(count - 1))]


def _step(chance: random.Random) -> Step:
    do = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    changes = tuple(_change(chance) for _ in range(chance.randint(1, 8)))
    one, other = chance.randrange(1000), chance.randrange(1000)
    return Step(do, one, other, chance.random(), changes if do == "change" else ())


def _change(chance: random.Random) -> Change:
    return Change(
        do=chance.choice(_HABITS),
        one=chance.randrange(40),
        other=chance.randrange(40),
        name=chance.choice(NAMES),
        fill=chance.randint(1, 250),
        size=chance.choice(SIZES),
    )
