"""Work on a stream in parallel, in order, with bounded memory; and progress lines."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")

CHUNK = 32  # items


def ordered(work: Callable[[Item], Done], items: Iterable[Item], workers: int) -> Iterator[Done]:
    """`map(work, items)` on threads: results in the order of the items, at most two chunks per worker in memory.

    Pillow releases Python's lock while it decodes and resizes, so threads run in parallel without copying images
    between processes.
    """
    items = iter(items)
    if workers == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[list[Done]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            while chunk := list(islice(items, CHUNK)):
                waiting.append(pool.submit(lambda some: [work(item) for item in some], chunk))
                if len(waiting) >= 2 * workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class ProgressLine:
    """Reports a count at most every few seconds: `packing mnist: 12000 of 70000, 9000/s, 6 s left`."""

    def __init__(self, what: str, total: int | None, report: Callable[[str], None], every: float = 5.0) -> None:
        self.what, self.total, self.report, self.every = what, total, report, every
        self.started = self.said = time.monotonic()

    def __call__(self, count: int) -> None:
        now = time.monotonic()
        if now - self.said < self.every:
            return
        self.said = now
        speed = count / max(now - self.started, 1e-9)
        line = f"{self.what}: {count}"
        if self.total:
            line += f" of {self.total}, {speed:.0f}/s, {max(self.total - count, 0) / max(speed, 1e-9):.0f} s left"
        self.report(line)
