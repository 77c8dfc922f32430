"""Things that wait for others, done at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

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
