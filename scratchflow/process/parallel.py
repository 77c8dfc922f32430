"""Things that wait for others, done at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from scratchflow.model.errors.base import ScratchflowError

T = TypeVar("T")


def as_done(jobs: Mapping[str, Callable[[], T]]) -> Iterator[tuple[str, T]]:
    """The name and the result of each, as soon as it is there; raises the first error that is met.

    Given up on, it waits for none of them.
    """
    from concurrent.futures import ThreadPoolExecutor, as_completed

    pool = ThreadPoolExecutor(max_workers=max(1, len(jobs)))
    try:
        names = {pool.submit(job): name for name, job in jobs.items()}
        for future in as_completed(names):
            yield names[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class EachInThread(Generic[T]):
    """The same for each of these names, all at once; what fails for one stops no other.

    Interrupted, the process ends, and they end with it.
    """

    def __init__(self, names: Sequence[str], do: Callable[[str], T]) -> None:
        self._names, self._do = names, do
        self._done: dict[str, T] = {}
        self._failed: dict[str, ScratchflowError] = {}
        self._bugs: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(name,), name=f"each-{name}", daemon=True)
            for name in names
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """Returns when all are through."""
        for thread in self._threads:
            thread.join()
        if self._bugs:
            raise self._bugs[0]

    @property
    def done(self) -> dict[str, T]:
        """What worked, by name, in their order."""
        return {name: self._done[name] for name in self._names if name in self._done}

    @property
    def failed(self) -> dict[str, ScratchflowError]:
        """What did not."""
        return {name: self._failed[name] for name in self._names if name in self._failed}

    def _run(self, name: str) -> None:
        try:
            self._done[name] = self._do(name)
        except ScratchflowError as error:
            self._failed[name] = error
        except BaseException as bug:  # noqa: BLE001 - raised again where somebody reports it
            self._bugs.append(bug)


class Meanwhile(Generic[T]):
    """What `find` returns; it runs in a thread of its own from now on, while the caller does something else.

    Only for what changes nothing: whoever never asks for the result leaves it to end by itself.
    """

    def __init__(self, find: Callable[[], T], name: str) -> None:
        self._find = find
        self._found: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # no more threads to be had, just now
            self._run()

    def result(self) -> T:
        """The result, once it is there; raises the error if there was one."""
        if self._thread.ident is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found[0]

    def _run(self) -> None:
        try:
            self._found.append(self._find())
        except BaseException as error:  # noqa: BLE001 - raised where the result is wanted
            self._error = error
