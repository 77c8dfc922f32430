"""One question to the clusters of all profiles at once; one that does not answer holds up nobody."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar, cast

import msgspec

from scratchflow.config.settings import LOCAL, Asked, file_profiles, load_settings
from scratchflow.dispatch.cluster import Caller, at_workspace
from scratchflow.dispatch.every_node import naming_node
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.ssh import ProfileSilent
from scratchflow.model.events import Emit, Event, Log, Progress, Warned
from scratchflow.model.requests import NOTHING
from scratchflow.model.results.base import ProfileFailure, Result
from scratchflow.model.results.snapshots import SnapshotsListed, SnapshotsOfAll, SnapshotsOfProfile
from scratchflow.process.child import Children

# How long all that are given up on may take to remove their files.
TIDY_S = 2.0
# A login through a jump host and a slow profile there; whoever wants to wait longer asks that one alone.
# With the start of the program and the tidying it is 30 s, which `--help` promises.
ANSWER_S = 26.0
R = TypeVar("R", bound=Result)
Ask = Callable[[Caller, Emit], R]


class Answers(msgspec.Struct, Generic[R], frozen=True):
    """What each profile answered, and what went wrong with the others, in the order of the file."""

    answers: dict[str, R]
    failed: list[ProfileFailure]
    logins: dict[str, str]


def on_every_profile(
    caller: Caller, emit: Emit, ask: Ask[R], *, command: str, wait_s: float = ANSWER_S
) -> Answers[R]:
    """Asks all of them, each in a thread of its own, and waits until `wait_s` have passed at most.

    Nobody is asked anything at the terminal: two questions would stand there at once. A profile
    that answers too late says nothing any more, and its ssh is ended.
    """
    logins = _logins(caller)
    said = _Said(emit)
    came: queue.SimpleQueue[tuple[str, R | BaseException]] = queue.SimpleQueue()
    threads = [
        _Asking(name, partial(ask, _asking_for(caller, name), said.by(name)), came)
        for name in logins
    ]
    try:
        found = _collect(list(logins), came, said, wait_s)
    finally:
        said.close()
        _give_up(threads)
    for name in logins.keys() - found.keys():
        found[name] = ProfileSilent(profile=name, seconds=f"{wait_s:g}", command=command)
    errors = [(name, one) for name in logins if isinstance(one := found[name], ScratchflowError)]
    return Answers(
        answers={
            name: cast("R", found[name]) for name in logins if isinstance(found[name], Result)
        },
        failed=[_failure(name, logins[name], error) for name, error in errors],
        logins=logins,
    )


def snapshots_of_all(caller: Caller, emit: Emit) -> SnapshotsOfAll:
    """`snapshots list` of every profile."""

    def ask(alone: Caller, tell: Emit) -> SnapshotsListed:
        return cast("SnapshotsListed", at_workspace("snapshots list", NOTHING, alone, tell))

    asked = on_every_profile(caller, emit, ask, command="snapshots list")
    return SnapshotsOfAll(
        profiles=[
            SnapshotsOfProfile(
                profile=name,
                login=asked.logins[name],
                snapshots=listed.snapshots,
                now=listed.now,
                store_bytes=listed.store_bytes,
            )
            for name, listed in asked.answers.items()
        ],
        failed=asked.failed,
    )


def _logins(caller: Caller) -> dict[str, str]:
    """The profiles of the file with their login hosts; without any, this machine alone."""
    asked, environment = caller.asked, caller.environment
    names = list(file_profiles(asked, environment)) or [LOCAL]
    return {
        name: load_settings(Asked(config=asked.config, profile=name), environment).profile.login
        for name in names
    }


def _asking_for(caller: Caller, name: str) -> Caller:
    asked = msgspec.structs.replace(caller.asked, profile=name)
    return msgspec.structs.replace(caller, asked=asked, may_ask=False)


class _Asking(threading.Thread, Generic[R]):
    """Asks one of them, and puts into the queue what came of it; can be given up on."""

    def __init__(
        self,
        name: str,
        ask: Callable[[], R],
        came: queue.SimpleQueue[tuple[str, R | BaseException]],
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._ask, self._came, self._children = ask, came, Children()
        self.start()

    def run(self) -> None:
        try:
            with self._children.of_this_thread():
                self._came.put((self.name, self._ask()))
        except BaseException as error:  # noqa: BLE001 - raised again where somebody reports it
            self._came.put((self.name, error))

    def give_up(self) -> None:
        """Ends what it still waits for; nothing when it is through."""
        if self.is_alive():
            self._children.end()

    def kill(self) -> None:
        """Kills what did not end by then."""
        if self.is_alive():
            self._children.kill()


def _give_up(threads: Sequence[_Asking[R]]) -> None:
    """All at once: a process that does not end by itself takes its time, and one after the other they would add up."""
    end_s = time.monotonic() + TIDY_S
    ending = [threading.Thread(target=one.give_up, daemon=True) for one in threads]
    for one in ending:
        one.start()
    for one in (*ending, *threads):
        one.join(max(0.0, end_s - time.monotonic()))
    for thread in threads:
        thread.kill()


def _collect(
    names: Sequence[str],
    came: queue.SimpleQueue[tuple[str, R | BaseException]],
    said: _Said,
    wait_s: float,
) -> dict[str, R | ScratchflowError]:
    """What came in time; raises what is no error of a cluster but a mistake of ours."""
    end_s = time.monotonic() + wait_s
    found: dict[str, R | ScratchflowError] = {}
    while waiting := [name for name in names if name not in found]:
        said.tell(Progress(phase=f"asking {', '.join(waiting)}"))
        try:
            name, answer = came.get(timeout=max(0.0, end_s - time.monotonic()))
        except queue.Empty:
            break
        if isinstance(answer, BaseException) and not isinstance(answer, ScratchflowError):
            raise answer
        found[name] = answer
    return found


def _failure(name: str, login: str, error: ScratchflowError) -> ProfileFailure:
    return ProfileFailure(
        profile=name,
        login=login,
        code=error.code,
        message=str(error),
        hint=error.shown_hint,
        exit_code=error.exit_code,
    )


class _Said:
    """What the threads say, one at a time, with the profile's name; nothing after the end."""

    def __init__(self, emit: Emit) -> None:
        self._emit, self._lock, self._is_open = emit, threading.Lock(), True

    def tell(self, event: Event) -> None:
        with self._lock:
            if self._is_open:
                self._emit(event)

    def by(self, name: str) -> Emit:
        named = naming_node(name, self.tell)

        def tell(event: Event) -> None:
            if isinstance(event, (Log, Warned)):
                named(event)

        return tell

    def close(self) -> None:
        with self._lock:
            self._is_open = False
