"""The pages of many studies, made in processes beside this one: nearly all of a report's time is drawing figures."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from dml.files import sockets_fit
from dml.report.assembly import study_page
from dml.report.figures import style
from dml.report.page.pages import Page
from dml.report.results import Results

AT_ONCE = 8  # processes at most: each takes 0.8 GB
MANY = 6  # studies; for fewer, starting processes (3 s) takes longer than it saves
LISTENER = 32  # bytes of `/pymp-abcdefgh/listener-abcdefgh`
START_METHOD = "forkserver" if sys.platform == "linux" and sockets_fit(tempfile.gettempdir(), LISTENER) else "spawn"
"""Not a fork of this process, which would copy the threads' locks of the numeric libraries. A server imports once."""


@contextmanager
def workers(studies: int) -> Iterator[Executor | None]:
    """Processes that draw the pages of so many studies, as many as there are processors; None if they would not pay.

    They import what they need while the caller reads results.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if studies < MANY or processors == 1:
        yield None
        return
    most = min(processors, studies, AT_ONCE)
    context: Any = get_context(START_METHOD)
    if START_METHOD == "forkserver":
        context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(most, context) as pool:
        for _ in range(most):
            pool.submit(_started)
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)  # those that nobody has begun; the others end first
            raise


def study_pages(pool: Executor | None, studies: Sequence[Results], root: Path) -> list[Callable[[], Page]]:
    """For each study, a call that returns its page, with the page's files saved below `root`.

    Those of a pool are made while the caller does something else. An error in a page is raised by its call.
    """
    if pool is None:
        return [partial(_page, results, root) for results in studies]
    longest = sorted(studies, key=lambda results: -len(results.cells))
    waiting = {results.study.name: pool.submit(_page, results, root) for results in longest}
    return [waiting[results.study.name].result for results in studies]


def _started() -> None:
    """A worker that runs this has imported this file."""


def _page(results: Results, root: Path) -> Page:
    with prepared():
        return study_page(results, root)


@contextmanager
def prepared() -> Iterator[None]:
    """Figures have the report's style, and arrays, which are small, one thread: others would mostly wait for it."""
    with style.applied(), threadpool_limits(1):
        yield
