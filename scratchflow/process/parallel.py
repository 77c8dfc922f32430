"""Things that wait for others, done at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

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
